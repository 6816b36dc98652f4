"""The counting loops under every statistic and every EM step, over sorted index arrays.

All take ``task`` (ascending), ``worker``, ``label``: (A,) int32. Small inputs run in NumPy and SciPy; large ones,
where Numba is installed, in compiled loops (`kernels_numba`), which are imported only then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

LARGE = 5_000_000
"""Annotations x classes from which the compiled loops pay for loading them (half a second, measured)."""

Cells: TypeAlias = Callable[[slice], IntArray]
"""What makes the cells (m,) int32 of some annotations, see `cells`."""

TASKS = 1 << 16
"""Tasks whose annotations are counted at once."""


@cache
def _loops() -> Any | None:
    try:
        return import_module("crowdcore.core.kernels_numba")
    except ImportError:  # no Numba, or one that refuses the NumPy that is here
        return None


def compiled(work: int) -> Any | None:
    """The module of compiled loops if ``work`` (annotations x classes) is worth loading it, else None."""
    return _loops() if work >= LARGE else None


def vote_counts(task: IntArray, label: IntArray, n_tasks: int, n_classes: int) -> FloatArray:
    """(n_tasks, n_classes) float64, how often each task got each label."""
    if loops := compiled(len(task) * n_classes):
        votes = np.zeros((n_tasks, n_classes))
        loops.votes(task, label, votes)
        return votes
    cell = task.astype(np.int64) * n_classes + label
    return np.bincount(cell, minlength=n_tasks * n_classes).reshape(n_tasks, n_classes).astype(np.float64)


def confusion_counts(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_workers: int, n_classes: int
) -> FloatArray:
    """(n_workers, C, C) float64 counts, row = ``truth[task]`` (tasks with -1 are left out), column = given."""
    if loops := compiled(len(task) * n_classes):
        counts = np.zeros((n_workers, n_classes, n_classes))
        loops.confusions(task, worker, label, truth, counts)
        return counts
    true = truth[task]
    seen = true >= 0
    cell = (worker[seen].astype(np.int64) * n_classes + true[seen]) * n_classes + label[seen]
    flat = np.bincount(cell, minlength=n_workers * n_classes * n_classes)
    return flat.reshape(n_workers, n_classes, n_classes).astype(np.float64)


def soft_confusion_counts(
    task: IntArray, worker: IntArray, label: IntArray, posterior: FloatArray, n_workers: int
) -> FloatArray:
    """(n_workers, C, C) expected counts: each annotation adds ``posterior[task]`` to its column (NaN rows: none)."""
    n_tasks, n_classes = posterior.shape
    task_start = np.searchsorted(task, np.arange(n_tasks + 1))
    counts = cell_counts(task_start, cells(worker, label, n_classes), posterior, n_workers * n_classes)
    return counts.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1).copy()


def most_probable(posterior: FloatArray) -> IntArray:
    """(n_tasks,) int32 class of the largest entry of each row of ``posterior`` (n_tasks, C), ties to the lowest."""
    if loops := compiled(posterior.size):
        labels = np.empty(len(posterior), np.int32)

        def run(_: int, first: int, last: int) -> None:
            loops.winners_range(first, last, posterior, labels)

        run_ranges(len(posterior), n_ranges(posterior.size, 1), run)
        return labels
    return np.asarray(posterior.argmax(1), np.int32)


def cells(worker: IntArray, label: IntArray, n_classes: int) -> Cells:
    """``worker * C + label`` of some annotations as they are asked for: of all it would take as much as the labels.

    Args:
        worker: (A,) worker, or whoever else has a table of his own.
        label: (A,) int32.
        n_classes: C.
    """

    def made(at: slice) -> IntArray:
        cell = worker[at].astype(np.int32)  # of this type whatever that of the workers is
        cell *= np.int32(n_classes)
        cell += label[at]
        return cell

    return made


def cell_counts(task_start: IntArray, cell: IntArray | Cells, posterior: FloatArray, n_cells: int) -> FloatArray:
    """Sum the posterior of each annotation's task into the annotation's cell.

    Args:
        task_start: (n_tasks + 1,) int64, task i's annotations are ``task_start[i]:task_start[i + 1]``.
        cell: (A,) int32 row of the counts, e.g. ``worker * C + label``, or what makes them (`cells`).
        posterior: (n_tasks, C) float64; NaN rows add nothing.
        n_cells: number of cells.

    Returns:
        (n_cells, C) float64.
    """
    n_tasks, n_classes = posterior.shape
    begin, end = int(task_start[0]), int(task_start[-1])
    some = cell if callable(cell) else cell.__getitem__
    if loops := compiled((end - begin) * n_classes):
        parts = n_ranges(end - begin, n_cells * n_classes)
        private = np.zeros((parts, n_cells, n_classes))

        def run(part: int, first: int, last: int) -> None:
            for at in range(first, last, TASKS):  # the same sums in the same order, however many are made at once
                own = slice(at, min(at + TASKS, last))
                edge = task_start[at : own.stop + 1]
                made = some(slice(int(edge[0]), int(edge[-1])))
                loops.cell_counts_range(0, len(edge) - 1, edge - edge[0], made, posterior[own], private[part])

        run_ranges(n_tasks, parts, run)
        return np.asarray(private.sum(0))
    made = some(slice(begin, end))
    matrix = scipy.sparse.csr_array((np.ones(len(made)), made, task_start), shape=(n_tasks, n_cells))
    return np.asarray(matrix.T @ np.nan_to_num(posterior))


def softmax_rows(scores: FloatArray) -> FloatArray:
    """Turn rows of log scores into probabilities, in place.

    Args:
        scores: (n, C) float64 log joint probabilities.

    Returns:
        (n,) log-sum-exp of each row: the log-likelihood of each task when ``scores`` are log joints.
    """
    top = scores.max(1, keepdims=True)
    np.exp(np.subtract(scores, top, out=scores), out=scores)
    total = scores.sum(1, keepdims=True)
    scores /= total
    out: FloatArray = (top + np.log(total))[:, 0]
    return out
