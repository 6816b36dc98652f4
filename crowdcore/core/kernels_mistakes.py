"""Who gave which label to tasks of which true class, without a table of tasks by workers.

Small inputs run in NumPy, large ones in compiled loops (`kernels_mistakes_numba`), which are imported only then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import BoolArray, IntArray

__all__ = ["MistakeTriples", "mistake_triples", "repeats"]

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


def _compiled(n_annotations: int) -> Any | None:
    """The module of compiled loops if there are enough annotations and Numba is installed."""
    if n_annotations < _LARGE:
        return None
    try:
        return import_module("crowdcore.core.kernels_mistakes_numba")
    except ImportError:
        return None


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
    if n_workers * n_classes**2 <= len(task) and (loops := _compiled(len(task))):

        def count(_: int, first: int, last: int) -> tuple[IntArray, IntArray]:
            edges = [0 if j == 0 else int(np.searchsorted(task, task[j - 1], "right")) for j in (first, last)]
            return loops.triples_range(*edges, task, worker, label, truth, n_workers, n_classes)  # type: ignore[no-any-return]

        parts = run_ranges(len(task), n_ranges(len(task), n_workers * n_classes**2), count)
        return _of_tables(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))
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


def repeats(task: IntArray, worker: IntArray, n_workers: int) -> BoolArray:
    """(A,) which annotations repeat an earlier one by the same worker on the same task."""
    if loops := _compiled(len(task)):
        return np.asarray(loops.mark_repeats(task, worker, n_workers))
    first = np.unique(task.astype(np.int64) * n_workers + worker, return_index=True)[1]
    repeated = np.ones(len(task), bool)
    repeated[first] = False
    return repeated
