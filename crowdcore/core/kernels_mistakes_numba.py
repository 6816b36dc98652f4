"""The compiled loop behind `kernels_mistakes`."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import IntArray

__all__ = ["count_triples"]


@numba.njit(nogil=True, cache=True, boundscheck=False)
def count_triples(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_workers: int, n_classes: int
) -> tuple[IntArray, IntArray]:
    """(C * C, R) int32 annotations of each (true, given, worker), and (C * C,) int64 distinct tasks of each cell."""
    table = np.zeros((n_classes * n_classes, n_workers), np.int32)
    tasks = np.zeros(n_classes * n_classes, np.int64)
    last = np.full(n_classes, -1, np.int64)  # the last task that got each label: tasks are sorted
    for j in range(len(task)):
        i = task[j]
        true = truth[i]
        if true >= 0:
            given = label[j]
            cell = true * n_classes + given
            table[cell, worker[j]] += 1
            if last[given] != i:
                last[given] = i
                tasks[cell] += 1
    return table, tasks
