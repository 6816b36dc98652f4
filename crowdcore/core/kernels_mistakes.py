"""Counts of (true class, given label, worker), without a dense tasks × workers table.

Small inputs run in NumPy, large ones in compiled loops (`kernels_mistakes_numba`), which are imported only then.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

_LARGE = 2_000_000  # annotations from which loading the compiled loops (once: compiling them) pays


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


def _compiled(n_annotations: int) -> Any | None:
    """The module of compiled loops if there are enough annotations and Numba is installed."""
    if n_annotations < _LARGE:
        return None
    try:
        return import_module("crowdcore.core.kernels_mistakes_numba")
    except ImportError:
        return None


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

    Args:
        task: (A,) int32, ascending.
        worker: (A,) int32.
        label: (A,) int32.
        truth: (n_tasks,) int32 true class, -1 = unknown (such tasks are left out).
        n_workers: R.
        n_classes: C.
    """
    table = n_workers * n_classes**2
    if table <= len(task) and (loops := _compiled(len(task))):
        sums = _sum_over_tasks(task, table, loops.triples_range, worker, label, truth, n_workers, n_classes)
        return _of_tables(*sums)
    true = truth[task]
    seen = true >= 0
    if not seen.all():
        task, worker, label, true = task[seen], worker[seen], label[seen], true[seen]
    cell = true.astype(np.int64) * n_classes + label
    once = np.unique(task.astype(np.int64) * n_classes + label, return_index=True)[1]
    cells, tasks = np.unique(cell[once], return_counts=True)
    distinct, times = np.unique(cell * n_workers + worker, return_counts=True)
    return MistakeTriples(*np.divmod(distinct, n_workers), times, cells, tasks)


def _of_tables(table: IntArray, tasks: IntArray) -> MistakeTriples:
    """Triples of the (R, C * C) table of counts and the (C * C,) numbers of tasks."""
    cell, worker = np.nonzero(table.T)
    cells = np.flatnonzero(tasks)
    return MistakeTriples(cell, worker, table[worker, cell].astype(np.int64), cells, tasks[cells])


def soft_mistakes(
    task: IntArray, worker: IntArray, label: IntArray, posterior: FloatArray, n_workers: int
) -> SoftMistakes:
    """The same with a posterior q, in O(A C) time.

    A label that the worker gave twice to one task is one piece of evidence, not two: it counts once.

    Args:
        task: (A,) int32, ascending.
        worker: (A,) int32.
        label: (A,) int32.
        posterior: (n_tasks, C); tasks with NaN are left out.
        n_workers: R.
    """
    n = posterior.shape[1]
    table = n_workers * n**2
    if table <= len(task) and (loops := _compiled(len(task))):
        spared, tasks, annotations = _sum_over_tasks(
            task, table, loops.soft_range, worker, label, np.ascontiguousarray(posterior), n_workers
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
        some = np.flatnonzero(chance > 0)
        some = some[np.argsort(groups[1, some], kind="stable")]
        cells.append(a * n + groups[1, some])
        workers.append(groups[0, some])
        chances.append(chance[some])
    return SoftMistakes(np.concatenate(cells), np.concatenate(workers), np.concatenate(chances), tasks, annotations)


class CarriedSums(NamedTuple):
    """Sums over the tasks i of what each carries of a cell, c_i, and over its labels of known truth, n_i.

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
    """Share each triple's score among its annotations, and sum by tasks; O(A) memory.

    Args:
        task, worker, label, truth, n_workers, n_classes: as in `mistake_triples`.
        triples: of these.
        score: (K,) of each triple; 0 for correct labels.
    """
    share = score / triples.times
    n_cells = n_classes**2
    if n_workers * n_cells <= len(task) and (loops := _compiled(len(task))):
        table = np.zeros((n_workers, n_cells))
        table[triples.worker, triples.cell] = share
        by_cell, by_class = _sum_over_tasks(
            task, 4 * n_cells, loops.carried_range, worker, label, truth, table, n_classes
        )
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
    """(n,) float64 sums of the values at each place; also of none."""
    return np.asarray(np.bincount(at, values, n), np.float64)


def repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) which annotations repeat an earlier one by the same worker on the same task."""
    if loops := _compiled(len(task)):
        return np.asarray(loops.mark_repeats(task, worker, n_workers))
    first = np.unique(task.astype(np.int64) * n_workers + worker, return_index=True)[1]
    repeated = np.ones(len(task), bool)
    repeated[first] = False
    return repeated
