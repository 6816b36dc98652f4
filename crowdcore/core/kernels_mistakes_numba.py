"""The compiled loops behind `kernels_mistakes`: serial, without the interpreter lock, over a range of annotations."""

from __future__ import annotations

import math

import numba
import numpy as np

from crowdcore.core.types import BoolArray, FloatArray, IntArray

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
def carried_range(
    first: int,
    last: int,
    task: IntArray,
    worker: IntArray,
    label: IntArray,
    truth: IntArray,
    share: FloatArray,
    n_classes: int,
) -> tuple[FloatArray, FloatArray]:
    """(4, C * C) and (2, C) sums of `CarriedSums` over the annotations ``first:last``, ``share`` (R, C * C)."""
    by_cell, by_class = np.zeros((4, n_classes * n_classes)), np.zeros((2, n_classes))
    carried = np.zeros(n_classes)
    j = first
    while j < last:
        begin, i = j, task[j]
        while j < last and task[j] == i:
            j += 1
        true, n = truth[i], float(j - begin)
        if true < 0:
            continue
        by_class[0, true] += n
        by_class[1, true] += n * n
        for k in range(begin, j):
            if label[k] != true:
                part = share[worker[k], true * n_classes + label[k]]
                carried[label[k]] += part
                by_cell[3, true * n_classes + label[k]] += part * part
        for k in range(begin, j):
            given = label[k]
            if carried[given] > 0:
                cell, c = true * n_classes + given, carried[given]
                by_cell[0, cell] += c
                by_cell[1, cell] += c * c
                by_cell[2, cell] += n * c
                carried[given] = 0
    return by_cell, by_class


@_compiled
def soft_range(
    first: int, last: int, task: IntArray, worker: IntArray, label: IntArray, posterior: FloatArray, n_workers: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over the annotations ``first:last``; tasks whose posterior is NaN add nothing.

    Returns:
        (n_workers, given, true) sum of ``log(1 - q)`` over the tasks that got the label from the worker, each once;
        (given, true) sum of q over the tasks that got the label; (given, true) sum of q over annotations.
    """
    n_classes = posterior.shape[1]
    size = np.uint64(n_classes)
    spared = np.zeros((n_workers * n_classes, n_classes))
    tasks, annotations = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    latest = np.full(n_classes, -1, np.int64)  # the last task that got each label
    mine = np.full(n_workers * n_classes, -1, np.int64)  # ... that got it from each worker
    logs = np.zeros(n_classes)
    current = np.int64(-1)
    for j in range(first, last):
        i = np.int64(task[j])
        q = posterior[i]
        if math.isnan(q[0]):
            continue
        if i != current:
            current = i
            for c in range(n_classes):
                logs[c] = math.log1p(-q[c]) if q[c] < 1.0 else -math.inf
        given = np.uint64(label[j])
        row = np.uint64(worker[j]) * size + given
        for c in range(n_classes):
            annotations[given, c] += q[c]
        if latest[given] != i:
            latest[given] = i
            for c in range(n_classes):
                tasks[given, c] += q[c]
        if mine[row] != i:
            mine[row] = i
            for c in range(n_classes):
                spared[row, c] += logs[c]
    return spared.reshape(n_workers, n_classes, n_classes), tasks, annotations


@_compiled
def mark_repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) whether the worker already labelled the task."""
    last = np.full(n_workers, -1, np.int64)  # the last task of each worker: tasks are sorted
    repeated = np.zeros(len(task), np.bool_)
    for j in range(len(task)):
        repeated[j] = last[worker[j]] == task[j]
        last[worker[j]] = task[j]
    return repeated
