"""Results after the fit: transferred to a dataset that has grown, and compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

T = TypeVar("T", bound=AnyArray)


def align(result: AggregationResult, before: CrowdDataset, after: CrowdDataset) -> AggregationResult:
    """Rearrange a result by ids, so that ``fit(after, start=align(result, before, after))`` continues from it.

    Tasks, workers and classes may have been added, removed (not classes) or reordered. Values of new tasks and
    workers are NaN (-1 for labels and groups); a new class has probability 0 in old rows. ω belongs
    to single annotations and is left out.

    Args:
        result: fitted to ``before``.
        before: the dataset that ``result`` was fitted to.
        after: the dataset to continue with.

    Raises:
        SettingError: ``result`` does not belong to ``before``, or ``after`` lacks one of its classes.
    """
    if result.posterior.shape != (before.n_tasks, before.n_classes):
        raise SettingError("before", "be the dataset that the result was fitted to", before.name)
    gone = [c for c in before.classes if c not in after.classes]
    if gone:
        raise SettingError("after", f"keep the classes {', '.join(before.classes)}", after.classes, "Add classes only.")
    task = before.task_ids.get_indexer(after.task_ids)
    worker = before.worker_ids.get_indexer(after.worker_ids)
    old = pd.Index(before.classes).get_indexer(pd.Index(after.classes))

    def rows(values: FloatArray | None, index: IntArray) -> FloatArray | None:
        return None if values is None else _take(values, index, np.nan)

    def square(values: FloatArray | None, new_row: float) -> FloatArray | None:
        """Rearrange the last two axes: ``new_row`` in rows of new classes, 0 in their columns."""
        return None if values is None else _take(_take(values, old, 0.0, -1), old, new_row, -2)

    confusion, counts = square(result.confusion, np.nan), square(result.counts, 0.0)
    new = pd.Index(after.classes).get_indexer(pd.Index(before.classes))

    def renamed(classes: IntArray) -> IntArray:
        """Old numbers of classes to new ones."""
        return np.where(classes >= 0, new[classes], -1).astype(np.int32)

    return replace(
        result,
        posterior=_take(_take(result.posterior, old, 0.0, 1), task, np.nan),
        labels=renamed(_take(result.labels, task, -1)),
        confusion=rows(confusion, worker),
        counts=None if counts is None else _take(counts, worker, 0.0),
        prior=None if result.prior is None else _take(result.prior, old, 0.0),
        common_confusion=square(result.common_confusion, np.nan),
        omega=None,
        worker_weight=rows(result.worker_weight, worker),
        difficulty=rows(result.difficulty, task),
        foil=None if result.foil is None else renamed(_take(result.foil, task, -1)),
        group=None if result.group is None else _take(result.group, worker, -1),
        task_ids=after.task_ids,
        classes=after.classes,
    )


def changed_labels(
    before: AggregationResult, after: AggregationResult, dataset: CrowdDataset | None = None
) -> pd.DataFrame:
    """Tasks whose label differs between two results on one dataset (`align` the earlier one first).

    Args:
        before, after: the results.
        dataset: not used, as results have the tasks' names.

    Returns:
        One row per task: ``task``, ``before``, ``after`` (class names, None = no label), and the probabilities
        ``confidence_before``, ``confidence_after`` of those labels.

    Raises:
        SettingError: the results do not cover the same tasks.
    """
    n = len(after.labels) if dataset is None else dataset.n_tasks
    if before.posterior.shape != after.posterior.shape or len(after.labels) != n:
        raise SettingError("before", f"cover the {n} tasks of ``after``", len(before.labels), "Align it first.")
    changed = before.labels != after.labels
    old, new = (r.frame()[changed].reset_index(drop=True) for r in (before, after))
    sure = {"confidence_before": old["probability"], "confidence_after": new["probability"]}
    return pd.DataFrame({"task": new["task"], "before": old["label"], "after": new["label"], **sure})


def _take(values: T, index: IntArray, missing: float, axis: int = 0) -> T:
    """``values`` at ``index`` along an axis, ``missing`` where the index is -1."""
    shape = list(values.shape)
    shape[axis] = 1
    padded = np.concatenate([values, np.full(shape, missing, values.dtype)], axis)
    return np.take(padded, index, axis)  # type: ignore[return-value]  # -1 is the padding
