"""`Reference`: the labels that a statistic treats as the truth, with the name shown in figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

__all__ = ["Reference", "ReferenceLike", "available_references", "resolve_reference"]


@dataclass(frozen=True, eq=False)
class Reference:
    """Labels or probabilities treated as the truth.

    Args:
        name: ``"gold"``, an aggregator's name, ``"run:<id>"``; shown in every figure that rests on it.
        labels: (n_tasks,) int32 most probable class, -1 where the reference knows nothing.
        posterior: (n_tasks, C) rows sum to 1 (NaN where nothing is known), or None for a hard reference.
    """

    name: str
    labels: IntArray
    posterior: FloatArray | None = None

    @property
    def soft(self) -> bool:
        """Whether statistics take soft counts."""
        return self.posterior is not None

    @property
    def known(self) -> BoolArray:
        """(n_tasks,) tasks with a reference label."""
        return np.asarray(self.labels >= 0)


ReferenceLike: TypeAlias = str | Reference | AggregationResult


def available_references(dataset: CrowdDataset) -> list[str]:
    """Names that `resolve_reference` takes for this dataset; gold first where there is some."""
    return [*(["gold"] if dataset.has_gold else []), *aggregation.fitting(dataset)]


def resolve_reference(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> Reference:
    """Turn a name or a result into a `Reference`.

    Args:
        reference: ``"gold"``, an aggregator's name (fitted with its default settings), an aggregation result
            or a `Reference` (returned as it is).

    Raises:
        DataError: gold asked for, but no annotated task has any.
        SettingError: no such reference, or one of another shape.

    Examples:
        >>> import crowdcore as cc
        >>> cc.analysis.resolve_reference(cc.load_dataset("demo"), "dawid-skene").name
        'dawid-skene'
    """
    if isinstance(reference, AggregationResult):
        reference = Reference(reference.method, reference.labels, reference.posterior)
    if isinstance(reference, Reference):
        if len(reference.labels) != dataset.n_tasks:
            raise SettingError("reference", f"cover {dataset.n_tasks} tasks", len(reference.labels))
        return reference
    if reference == "gold":
        if not dataset.has_gold:
            raise DataError(
                f"{dataset.name} has no gold labels on annotated tasks",
                "Use another reference, such as 'majority-vote' or 'dawid-skene'.",
            )
        return Reference("gold", dataset.gold)
    return resolve_reference(dataset, aggregation.get(reference).fit(dataset))
