"""The compiled loops behind `kernels_mistakes`: serial, without the interpreter lock, over a range of annotations."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import BoolArray, IntArray

__all__ = ["mark_repeats", "triples_range"]

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)


@_compiled
def triples_range(
    first: int,
    last: int,
    task: IntArray,
    worker: IntArray,
    label: IntArray,
    truth: IntArray,
    n_workers: int,
    n_classes: int,
) -> tuple[IntArray, IntArray]:
    """(R, C * C) int32 annotations of each worker and (true, given), and (C * C,) int64 distinct tasks of each cell.

    Unsigned indices and no branch on the labels: nearly three times as fast as the plain loop.
    """
    size = np.uint64(n_classes)
    table = np.zeros((n_workers, n_classes * n_classes), np.int32)
    tasks = np.zeros(n_classes * n_classes, np.int64)
    latest = np.full(n_classes, -1, np.int64)  # the last task that got each label: tasks are sorted
    for j in range(first, last):
        i = task[j]
        true = truth[np.uint64(i)]
        if true >= 0:
            given = np.uint64(label[j])
            cell = np.uint64(true) * size + given
            table[np.uint64(worker[j]), cell] += np.int32(1)
            tasks[cell] += np.int64(latest[given] != i)
            latest[given] = i
    return table, tasks


@_compiled
def mark_repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) whether the worker already labelled the task."""
    last = np.full(n_workers, -1, np.int64)  # the last task of each worker: tasks are sorted
    repeated = np.zeros(len(task), np.bool_)
    for j in range(len(task)):
        repeated[j] = last[worker[j]] == task[j]
        last[worker[j]] = task[j]
    return repeated
