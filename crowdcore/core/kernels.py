"""The counting loops under every statistic and every EM step, over sorted index arrays.

All take ``task`` (ascending), ``worker``, ``label``: (A,) int32. Small inputs run in NumPy, large ones in a
compiled loop (`kernels_numba`), which is imported only then.
"""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["confusion_counts", "soft_confusion_counts", "vote_counts"]


def vote_counts(task: IntArray, label: IntArray, n_tasks: int, n_classes: int) -> FloatArray:
    """(n_tasks, n_classes) float64, how often each task got each label."""
    cell = task.astype(np.int64) * n_classes + label
    return np.bincount(cell, minlength=n_tasks * n_classes).reshape(n_tasks, n_classes).astype(np.float64)


def confusion_counts(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_workers: int, n_classes: int
) -> FloatArray:
    """(n_workers, C, C) float64 counts, row = ``truth[task]`` (tasks with -1 are left out), column = given."""
    true = truth[task]
    seen = true >= 0
    cell = (worker[seen].astype(np.int64) * n_classes + true[seen]) * n_classes + label[seen]
    counts = np.bincount(cell, minlength=n_workers * n_classes * n_classes)
    return counts.reshape(n_workers, n_classes, n_classes).astype(np.float64)


def soft_confusion_counts(
    task: IntArray, worker: IntArray, label: IntArray, posterior: FloatArray, n_workers: int
) -> FloatArray:
    """(n_workers, C, C) expected counts: each annotation adds ``posterior[task]`` to its column (NaN rows: none)."""
    n_classes = posterior.shape[1]
    seen = ~np.isnan(posterior[:, 0])[task]
    cell = worker[seen].astype(np.int64) * n_classes + label[seen]
    counts = np.stack(
        [np.bincount(cell, weights=posterior[task[seen], c], minlength=n_workers * n_classes) for c in range(n_classes)]
    )
    return counts.reshape(n_classes, n_workers, n_classes).transpose(1, 0, 2).copy()
