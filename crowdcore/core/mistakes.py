"""Counts of (true class, given label, worker), without a dense tasks × workers table.

Small inputs run in NumPy, large ones in compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from crowdcore.core.compiled import compiled, n_ranges, run_ranges
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

_LARGE = 2_000_000  # annotations from which a compiled loop repays loading Numba


class MistakeTriples(NamedTuple):
    """The distinct (true class, given label, worker) triples, ascending in that order.

    Attributes:
        cell: (K,) int64, ``true * C + given``; correct labels are cells too.
        worker: (K,) int64.
        times: (K,) int64 annotations behind the triple.
        cells: (U,) int64 the distinct cells, ascending.
        tasks: (U,) int64 distinct tasks behind each of them.
    """

    cell: IntArray
    worker: IntArray
    times: IntArray
    cells: IntArray
    tasks: IntArray


class SoftMistakes(NamedTuple):
    """Sparse (true class, given label, worker) triples with the chance that they happened, ascending in that order.

    Attributes:
        cell: (K,) int64, ``true * C + given``.
        worker: (K,) int64.
        chance: (K,) probability that the worker gave the label to at least one task of the class,
            ``1 - prod over tasks that got the label of (1 - q_i(true))``.
        tasks: (C, C) expected number of tasks behind each cell.
        annotations: (C, C) expected number of annotations.
    """

    cell: IntArray
    worker: IntArray
    chance: FloatArray
    tasks: FloatArray
    annotations: FloatArray


def _sum_over_tasks(
    task: IntArray, accumulator: int, loop: Callable[..., tuple[AnyArray, ...]], *arguments: Any
) -> list[AnyArray]:
    """Run ``loop(first, last, task, *arguments)`` over ranges of annotations that split no task; add the results."""

    def part(_: int, first: int, last: int) -> tuple[AnyArray, ...]:
        first, last = (0 if j == 0 else int(np.searchsorted(task, task[j - 1], "right")) for j in (first, last))
        return loop(first, last, task, *arguments)

    parts = run_ranges(len(task), n_ranges(len(task), accumulator), part)
    return [np.sum(same, axis=0) for same in zip(*parts, strict=True)]


def mistake_triples(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_workers: int, n_classes: int
) -> MistakeTriples:
    """Count the distinct triples in O(A + R C^2) time (O(A log A) if small, or with R C^2 > A) and O(A) memory.

    ``task`` (A,) ascends; tasks whose ``truth`` (n_tasks,) is -1 are left out.
    """
    table = n_workers * n_classes**2
    if table <= len(task) and len(task) >= _LARGE:
        sums = _sum_over_tasks(task, table, _triples_range, worker, label, truth, n_workers, n_classes)
        return _triples_of_tables(*sums)
    true = truth[task]
    seen = true >= 0
    if not seen.all():
        task, worker, label, true = task[seen], worker[seen], label[seen], true[seen]
    cell = true.astype(np.int64) * n_classes + label
    once = np.unique(task.astype(np.int64) * n_classes + label, return_index=True)[1]
    cells, tasks = np.unique(cell[once], return_counts=True)
    distinct, times = np.unique(cell * n_workers + worker, return_counts=True)
    return MistakeTriples(*np.divmod(distinct, n_workers), times, cells, tasks)


def _triples_of_tables(table: IntArray, tasks: IntArray) -> MistakeTriples:
    """Triples of the (R, C * C) table of counts and the (C * C,) numbers of tasks."""
    cell, worker = np.nonzero(table.T)
    cells = np.flatnonzero(tasks)
    return MistakeTriples(cell, worker, table[worker, cell].astype(np.int64), cells, tasks[cells])


def soft_mistakes(
    task: IntArray, worker: IntArray, label: IntArray, posterior: FloatArray, n_workers: int
) -> SoftMistakes:
    """Expected counts of the triples under a posterior q (n_tasks, C), in O(A C) time; tasks with NaN are left out.

    A label that the worker gave twice to one task is one piece of evidence, not two: it counts once.
    """
    n = posterior.shape[1]
    table = n_workers * n**2
    if table <= len(task) and len(task) >= _LARGE:
        spared, tasks, annotations = _sum_over_tasks(
            task, table, _soft_range, worker, label, np.ascontiguousarray(posterior), n_workers
        )
        chance = -np.expm1(spared).transpose(2, 1, 0)
        true, given, of_worker = np.nonzero(chance > 0)
        return SoftMistakes(true * n + given, of_worker, chance[true, given, of_worker], tasks.T, annotations.T)
    known = ~np.isnan(posterior[:, 0])[task]
    task, worker, label = task[known], worker[known], label[known]
    group = worker.astype(np.int64) * n + label
    once = np.unique(group + task.astype(np.int64) * (n * n_workers), return_index=True)[1]
    groups, of_group = np.unique(group[once], return_inverse=True)
    groups = np.stack(np.divmod(groups, n))
    per_task = np.unique(task.astype(np.int64) * n + label, return_index=True)[1]
    cells, workers, chances = [], [], []
    tasks, annotations = np.empty((n, n)), np.empty((n, n))
    for a in range(n):
        q = posterior[:, a]
        annotations[a] = np.bincount(label, weights=q[task], minlength=n)
        tasks[a] = np.bincount(label[per_task], weights=q[task[per_task]], minlength=n)
        with np.errstate(divide="ignore"):
            spared = np.log1p(-np.minimum(q, 1.0))[task[once]]
        chance = -np.expm1(np.bincount(of_group, weights=spared, minlength=groups.shape[1]))
        rows = np.flatnonzero(chance > 0)
        rows = rows[np.argsort(groups[1, rows], kind="stable")]
        cells.append(a * n + groups[1, rows])
        workers.append(groups[0, rows])
        chances.append(chance[rows])
    return SoftMistakes(np.concatenate(cells), np.concatenate(workers), np.concatenate(chances), tasks, annotations)


class CarriedSums(NamedTuple):
    """Sums over tasks i of c_i, the part of a cell's score that the task carries, and of n_i, its number of labels.

    Attributes:
        total: (C * C,) Σ c_i by cell ``true * C + given``.
        squares: (C * C,) Σ c_i².
        weighted: (C * C,) Σ n_i c_i.
        parts: (C * C,) Σ s² over annotations, where c_i is the sum of its annotations' s.
        labels: (C,) Σ n_i by true class.
        labels_squared: (C,) Σ n_i².
    """

    total: FloatArray
    squares: FloatArray
    weighted: FloatArray
    parts: FloatArray
    labels: FloatArray
    labels_squared: FloatArray


def carried_sums(
    task: IntArray,
    worker: IntArray,
    label: IntArray,
    truth: IntArray,
    triples: MistakeTriples,
    score: FloatArray,
    n_workers: int,
    n_classes: int,
) -> CarriedSums:
    """Share each triple's ``score`` (K,), 0 for correct labels, among its annotations, summed by tasks; O(A) memory."""
    share = score / triples.times
    n_cells = n_classes**2
    if n_workers * n_cells <= len(task) and len(task) >= _LARGE:
        table = np.zeros((n_workers, n_cells))
        table[triples.worker, triples.cell] = share
        by_cell, by_class = _sum_over_tasks(task, 4 * n_cells, _carried_range, worker, label, truth, table, n_classes)
        return CarriedSums(*by_cell, *by_class)
    per_task = np.bincount(task, minlength=len(truth)).astype(np.float64)
    known = truth >= 0
    wrong = np.flatnonzero((truth[task] >= 0) & (truth[task] != label))
    task, worker, label = task[wrong], worker[wrong], label[wrong]
    cell = truth[task].astype(np.int64) * n_classes + label
    part = share[np.searchsorted(triples.cell * n_workers + triples.worker, cell * n_workers + worker)]
    pair, at = np.unique(task.astype(np.int64) * n_classes + label, return_inverse=True)
    carried = _sums(at, part, len(pair))
    of, given = np.divmod(pair, n_classes)
    cell_of = truth[of].astype(np.int64) * n_classes + given
    return CarriedSums(
        _sums(cell_of, carried, n_cells),
        _sums(cell_of, carried**2, n_cells),
        _sums(cell_of, per_task[of] * carried, n_cells),
        _sums(cell, part**2, n_cells),
        *(_sums(truth[known], per_task[known] ** k, n_classes) for k in (1, 2)),
    )


def _sums(at: IntArray, values: FloatArray, n: int) -> FloatArray:
    """(n,) float64 sums of the values at each index, also without any value."""
    return np.asarray(np.bincount(at, values, n), np.float64)


def repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) mask of the annotations that repeat an earlier one by the same worker on the same task."""
    if len(task) >= _LARGE:
        return _mark_repeats(task, worker, n_workers)
    first = np.unique(task.astype(np.int64) * n_workers + worker, return_index=True)[1]
    repeated = np.ones(len(task), bool)
    repeated[first] = False
    return repeated


@compiled
def _triples_range(
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


@compiled
def _carried_range(
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


@compiled
def _soft_range(
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
    mine = np.full(n_workers * n_classes, -1, np.int64)  # the last task that got it from each worker
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


@compiled
def _mark_repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) mask of the annotations whose worker already labelled the task."""
    last = np.full(n_workers, -1, np.int64)  # the last task of each worker: tasks are sorted
    repeated = np.zeros(len(task), np.bool_)
    for j in range(len(task)):
        repeated[j] = last[worker[j]] == task[j]
        last[worker[j]] = task[j]
    return repeated
