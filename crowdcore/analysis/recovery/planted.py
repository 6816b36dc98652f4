"""Label counts of a crowd by true class: is the true class still the most frequent label?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import resolve_reference
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class Planted:
    """A crowd judged by gold.

    Args:
        confusion: (C, C) share of each label among all labels given to tasks of a true class; NaN for a class that
            nobody labelled.
        right: share of the labels that name the true class.
        majority: share of the labelled tasks whose majority vote is right (ties to the lowest class).
        misleading: numbers of the classes whose tasks were given another label most often.
        n_annotations: annotations of tasks with gold.
    """

    confusion: FloatArray
    right: float
    majority: float
    misleading: IntArray
    n_annotations: int
    classes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence: whether labels alone identify the classes."""
        if not len(self.misleading):
            return "In every class the true class is the most frequent label, so labels alone identify the classes."
        swapped = [f"{self.classes[a]} is mostly labelled {self.classes[b]}" for a, b in self._taken()]
        listed = ", ".join(swapped[:3]) + (f" and {len(swapped) - 3} more" if len(swapped) > 3 else "")
        where = f"{len(swapped)} of {len(self.classes)} classes"
        return (
            f"In {where} another label is more frequent than the true one: {listed}. "
            "Labels alone cannot identify the classes; gold on the validation split can."
        )

    def _taken(self) -> list[tuple[int, int]]:
        return [(int(a), int(np.nanargmax(self.confusion[a]))) for a in self.misleading]

    def frame(self) -> pd.DataFrame:
        """One row per class: share of right labels, the most frequent label and its share."""
        known = ~np.isnan(self.confusion).any(1)
        most = np.where(known, np.nan_to_num(self.confusion).argmax(1), 0)
        names = np.array(self.classes, object)
        return pd.DataFrame(
            {
                "class": names,
                "share right": np.diagonal(self.confusion),
                "most frequent label": np.where(known, names[most], "–"),
                "its share": self.confusion[np.arange(len(names)), most],
            }
        )


def planted(dataset: CrowdDataset) -> Planted:
    """Count a crowd's labels by true class.

    Raises:
        DataError: no annotated task has gold.
    """
    true = dataset.gold[dataset.task]
    known = true >= 0
    if not known.any():
        raise DataError(f"{dataset.name} has no annotated task with gold", "Its mistakes cannot be counted.")
    n = dataset.n_classes
    counts = np.bincount(true[known] * n + dataset.label[known], minlength=n * n).reshape(n, n).astype(np.float64)
    total = counts.sum(1, keepdims=True)
    confusion = np.divide(counts, total, out=np.full((n, n), np.nan), where=total > 0)
    judged = dataset.annotated & (dataset.gold >= 0)
    vote = resolve_reference(dataset, "majority-vote").labels
    misled = (np.nan_to_num(confusion).max(1) > np.nan_to_num(np.diagonal(confusion))) & (total[:, 0] > 0)
    return Planted(
        confusion,
        float(np.trace(counts) / counts.sum()),
        float((vote[judged] == dataset.gold[judged]).mean()),
        np.flatnonzero(misled),
        int(known.sum()),
        dataset.classes,
    )
