"""The consensus when some workers are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore import aggregation
from crowdcore.aggregation.base import Aggregator
from crowdcore.analysis.labels.votes import majority_of_others
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.core.errors import SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The consensus with and without some workers.

    Attributes:
        workers, n_annotations: (n_removed,) worker numbers that were left out, and how many annotations with them.
        before, after: (n_tasks,) consensus of everyone and of the rest, -1 where there is none.
        changed: tasks whose consensus is another class without them.
        unlabelled: tasks that lose their only labels.
        accuracy_before, accuracy_after: share of the consensus that equals the reference, over the tasks that have
            labels; NaN without reference.
        aggregator: how the consensus was made.
        reference: what was taken for the truth, empty if there was none.
        task_ids: (n_tasks,) names.
        worker_ids: (n_workers,) names.
    """

    workers: IntArray
    n_annotations: int
    before: IntArray
    after: IntArray
    changed: IntArray
    unlabelled: IntArray
    accuracy_before: float
    accuracy_after: float
    aggregator: str
    reference: str
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One line per task whose consensus changes or is lost: task, before, after (empty if lost)."""
        tasks = np.sort(np.concatenate([self.changed, self.unlabelled]))
        names = pd.Index([*self.classes, ""])  # the last one is -1
        return pd.DataFrame(
            {"task": self.task_ids[tasks], "before": names[self.before[tasks]], "after": names[self.after[tasks]]}
        )


def what_if(
    dataset: CrowdDataset,
    workers: Sequence[int] | Sequence[str] | IntArray,
    aggregator: str | Aggregator = "majority-vote",
    reference: ReferenceLike = "gold",
) -> WhatIf:
    """Aggregate with and without some workers.

    Args:
        workers: their numbers or ids.
        aggregator: a name (default settings) or an aggregator.
        reference: what accuracies are measured against; without any gold labels, "gold" gives NaN.

    Raises:
        SettingError: unknown workers, or nobody's labels would be left.
        DataError: another reference that cannot be had.

    Examples:
        >>> import crowdcore as cc
        >>> without = cc.analysis.what_if(cc.load_dataset("demo"), ["w24", "w35"])
        >>> len(without.changed), len(without.unlabelled)
        (11, 0)
    """
    gone = _numbers(dataset, workers)
    rest = dataset.without_workers(gone)
    if rest.n_annotations == 0:
        raise SettingError("workers", "leave some annotations", f"{len(gone)} workers", "Remove fewer workers.")
    method = aggregation.get(aggregator) if isinstance(aggregator, str) else aggregator
    before, after = method.fit(dataset).labels, method.fit(rest).labels
    truth, name = _truth(dataset, reference)
    return WhatIf(
        gone,
        dataset.n_annotations - rest.n_annotations,
        before,
        after,
        np.flatnonzero((before != after) & (after >= 0)),
        np.flatnonzero((before >= 0) & (after < 0)),
        _accuracy(before, truth),
        _accuracy(after, truth),
        method.name,
        name,
        dataset.task_ids,
        dataset.worker_ids,
        dataset.classes,
    )


@dataclass(frozen=True, eq=False)
class WithoutEach:
    """The majority vote without each worker alone, arrays aligned with the workers.

    Attributes:
        changed: (n_workers,) tasks whose majority vote is another class without the worker.
        unlabelled: (n_workers,) tasks that lose their only labels.
        accuracy_change: (n_workers,) accuracy of the majority vote without the worker minus with everyone, each over
            the tasks that have labels; NaN without reference.
        accuracy: the accuracy with everyone.
        reference: what was taken for the truth, empty if there was none.
        worker_ids: (n_workers,) names.
    """

    changed: IntArray
    unlabelled: IntArray
    accuracy_change: FloatArray
    accuracy: float
    reference: str
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One line per worker."""
        columns = {name: getattr(self, name) for name in ("changed", "unlabelled", "accuracy_change")}
        return pd.DataFrame({"worker": self.worker_ids, **columns})


def without_each(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> WithoutEach:
    """Leave out each worker in turn from the majority vote (ties to the lowest class), all at once.

    Args:
        reference: what accuracies are measured against; without any gold labels, "gold" gives NaN.

    Raises:
        DataError: another reference that cannot be had.
    """
    others = majority_of_others(dataset)
    truth, name = _truth(dataset, reference)
    before, after, n = others.majority[others.task], others.without, dataset.n_workers

    def per_worker(condition: BoolArray) -> IntArray:
        return np.bincount(others.worker[condition], minlength=n)

    lost = after < 0
    accuracy, change = np.nan, np.full(n, np.nan)
    if truth is not None:
        known = truth >= 0
        right, judged = known & (others.majority == truth), known & (others.majority >= 0)
        accuracy = _accuracy(others.majority, truth)
        here, true = known[others.task], truth[others.task]
        gain = per_worker(here & (after == true)) - per_worker(here & (before == true))
        left = judged.sum() - per_worker(here & lost)
        change = np.divide(right.sum() + gain, left, out=change, where=left > 0) - accuracy
    changed = per_worker((before != after) & ~lost)
    return WithoutEach(changed, per_worker(lost), change, accuracy, name, dataset.worker_ids)


def _numbers(dataset: CrowdDataset, workers: Sequence[int] | Sequence[str] | IntArray) -> IntArray:
    """Distinct worker numbers of numbers or ids."""
    given = np.asarray(workers)
    if given.dtype.kind in "iu":
        numbers, known = given, (given >= 0) & (given < dataset.n_workers)
    else:
        numbers = dataset.worker_ids.get_indexer(pd.Index(given))
        known = numbers >= 0
    if not known.all():
        raise SettingError("workers", f"be among the {dataset.n_workers} workers", given[~known][0].item())
    return np.unique(numbers.astype(np.int64))


def _truth(dataset: CrowdDataset, reference: ReferenceLike) -> tuple[IntArray | None, str]:
    if isinstance(reference, str) and reference == "gold" and not dataset.has_gold:
        return None, ""
    truth = resolve_reference(dataset, reference)
    return truth.labels, truth.name


def _accuracy(labels: IntArray, truth: IntArray | None) -> float:
    if truth is None:
        return float("nan")
    judged = (labels >= 0) & (truth >= 0)
    return float((labels == truth)[judged].mean()) if judged.any() else float("nan")
