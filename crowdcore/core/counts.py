"""Votes, confusion counts and posteriors over sorted index arrays.

All take ``task`` (ascending), ``worker``, ``label``: (A,) int32. Small inputs run in NumPy and SciPy, large ones in
compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse
from scipy.special import ndtri

from crowdcore.core.compiled import compiled, is_large, n_ranges, run_ranges
from crowdcore.core.types import AnyArray, FloatArray, IntArray

Cells: TypeAlias = Callable[[slice], IntArray]
"""Function returning the cells (m,) int32 of a slice of the annotations."""

Ties: TypeAlias = Literal["share", "lowest"]

TASKS = 1 << 16
"""Tasks whose annotations are counted at once."""

ROUNDING = 1e-9
"""Relative difference up to which votes are equal: sums of the same weights in another order still tie."""


def vote_counts(task: IntArray, label: IntArray, n_tasks: int, n_classes: int) -> FloatArray:
    """(n_tasks, n_classes) float64, how often each task got each label."""
    if is_large(len(task) * n_classes):
        votes = np.zeros((n_tasks, n_classes))
        _add_votes(task, label, votes)
        return votes
    cell = task.astype(np.int64) * n_classes + label
    return np.bincount(cell, minlength=n_tasks * n_classes).reshape(n_tasks, n_classes).astype(np.float64)


def vote_shares(votes: FloatArray, fallback: FloatArray | None = None) -> FloatArray:
    """Rows of ``votes`` (n_tasks, C) divided by their sum; rows without weight take ``fallback`` (or stay 0)."""
    total = votes.sum(1, keepdims=True)
    shares = votes / np.where(total > 0, total, 1)
    if fallback is not None:
        empty = total[:, 0] <= 0
        shares[empty] = vote_shares(fallback[empty])
    return shares


def winners(votes: FloatArray, ties: Ties) -> FloatArray:
    """(n_tasks, C) one unit per task on its most voted class; tied classes share it, or the lowest takes it."""
    if ties == "lowest":
        won = np.zeros_like(votes)
        won[np.arange(len(votes)), votes.argmax(1)] = 1.0
        return won
    top = votes.max(1, keepdims=True)
    won = (votes >= top - ROUNDING * np.abs(top)).astype(np.float64)
    return np.asarray(won / won.sum(1, keepdims=True))


def clamp(posterior: FloatArray, known: IntArray | None) -> None:
    """Put all mass of the rows (n_tasks, C) of known tasks on their class, in place; -1 in ``known`` is unknown."""
    if known is not None:
        tasks = np.flatnonzero(known >= 0)
        posterior[tasks] = 0.0
        posterior[tasks, known[tasks]] = 1.0


def most_probable(posterior: FloatArray) -> IntArray:
    """(n_tasks,) int32 class of the largest entry of each row of ``posterior`` (n_tasks, C), ties to the lowest."""
    if is_large(posterior.size):
        labels = np.empty(len(posterior), np.int32)
        ranges = n_ranges(posterior.size, 1)
        run_ranges(len(posterior), ranges, lambda _, first, last: _fill_argmax(first, last, posterior, labels))
        return labels
    return np.asarray(posterior.argmax(1), np.int32)


def softmax_rows(scores: FloatArray) -> FloatArray:
    """Turn rows of log scores (n, C) into probabilities, in place; returns the log-sum-exp of each row, (n,)."""
    top = scores.max(1, keepdims=True)
    np.exp(np.subtract(scores, top, out=scores), out=scores)
    total = scores.sum(1, keepdims=True)
    scores /= total
    out: FloatArray = (top + np.log(total))[:, 0]
    return out


def divide(part: AnyArray, whole: AnyArray) -> FloatArray:
    """``part / whole`` in the shape of ``part``, NaN where ``whole`` is not above 0."""
    out: FloatArray = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
    return out


def row_shares(counts: FloatArray) -> FloatArray:
    """(..., C, C) counts -> shares of their row; NaN rows where there is nothing to share."""
    return divide(counts, counts.sum(-1, keepdims=True))


def wilson_interval(share: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval (1927) of a share of n; NaN where n is 0."""
    z2 = float(ndtri((1 + level) / 2)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (share + z2 / (2 * n)) / (1 + z2 / n)
        reach = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.clip(middle - reach, 0, 1), np.clip(middle + reach, 0, 1)


def confusion_counts(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_workers: int, n_classes: int
) -> FloatArray:
    """(n_workers, C, C) float64 counts, row = ``truth[task]`` (tasks with -1 are left out), column = given."""
    if is_large(len(task) * n_classes):
        counts = np.zeros((n_workers, n_classes, n_classes))
        _add_confusions(task, worker, label, truth, counts)
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


def cells(worker: IntArray, label: IntArray, n_classes: int) -> Cells:
    """Function of a slice returning its ``worker * C + label`` (int32); all at once would be as large as the labels."""

    def of_slice(at: slice) -> IntArray:
        cell = worker[at].astype(np.int32)  # whatever the type of the workers
        cell *= np.int32(n_classes)
        cell += label[at]
        return cell

    return of_slice


def cell_counts(task_start: IntArray, cell: IntArray | Cells, posterior: FloatArray, n_cells: int) -> FloatArray:
    """Sum the posterior of each annotation's task into the annotation's cell.

    Args:
        task_start: (n_tasks + 1,) int64, task i's annotations are ``task_start[i]:task_start[i + 1]``.
        cell: (A,) int32 row of the counts, e.g. ``worker * C + label``, or a function returning it (`cells`).
        posterior: (n_tasks, C) float64; NaN rows add nothing.
        n_cells: number of cells.

    Returns:
        (n_cells, C) float64.
    """
    n_tasks, n_classes = posterior.shape
    begin, end = int(task_start[0]), int(task_start[-1])
    cells_of = cell if callable(cell) else cell.__getitem__
    if is_large((end - begin) * n_classes):
        parts = n_ranges(end - begin, n_cells * n_classes)
        private = np.zeros((parts, n_cells, n_classes))

        def run(part: int, first: int, last: int) -> None:
            for at in range(first, last, TASKS):  # the sums and their order do not depend on the block size
                block = slice(at, min(at + TASKS, last))
                edge = task_start[at : block.stop + 1]
                own = cells_of(slice(int(edge[0]), int(edge[-1])))
                _add_cells(edge - edge[0], own, posterior[block], private[part])

        run_ranges(n_tasks, parts, run)
        return np.asarray(private.sum(0))
    own = cells_of(slice(begin, end))
    matrix = scipy.sparse.csr_array((np.ones(len(own)), own, task_start), shape=(n_tasks, n_cells))
    return np.asarray(matrix.T @ np.nan_to_num(posterior))


@compiled
def _add_votes(task: IntArray, label: IntArray, counts: FloatArray) -> None:
    """Add the annotations to ``counts`` (n_tasks, C)."""
    for j in range(len(task)):
        counts[task[j], label[j]] += 1.0


@compiled
def _fill_argmax(first: int, last: int, posterior: FloatArray, labels: IntArray) -> None:
    """Write the first largest column of each row in ``first:last``."""
    for i in range(first, last):
        best = 0
        for c in range(1, posterior.shape[1]):
            if posterior[i, c] > posterior[i, best]:
                best = c
        labels[i] = best


@compiled
def _add_confusions(task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, counts: FloatArray) -> None:
    """Add the annotations of tasks with a true class to ``counts`` (n_workers, true, given)."""
    for j in range(len(task)):
        true = truth[task[j]]
        if true >= 0:
            counts[worker[j], true, label[j]] += 1.0


@compiled
def _add_cells(task_start: IntArray, cell: IntArray, posterior: FloatArray, counts: FloatArray) -> None:
    """Add the posterior of each task to its annotations' rows of ``counts``; NaN adds nothing."""
    n_classes = posterior.shape[1]
    for i in range(len(posterior)):
        if not math.isnan(posterior[i, 0]):
            for j in range(task_start[i], task_start[i + 1]):
                x = cell[j]
                for c in range(n_classes):
                    counts[x, c] += posterior[i, c]
