"""One pass of EM for workers that are confusion matrices: posterior, expected counts, log-likelihood.

Dawid & Skene's E-step is two sparse products, ``log q = A log π + log ρ`` and ``counts = Aᵀ q``. Large inputs run
both in one compiled loop that multiplies probabilities where a bound shows that nothing can underflow (which saves
the exponentials), and adds logarithms elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from crowdcore.core.kernels import cell_counts, compiled
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import BoolArray, FloatArray, IntArray

_LOG_SMALLEST = np.log(1e-180)  # products of probabilities stay above this, and so do their sums


class Sums(NamedTuple):
    """What the M-step needs: sums over tasks, so those of partitions add up.

    Attributes:
        counts: (n_workers * C, C) expected counts, row = worker * C + given label, column = true class.
        classes: (C,) expected number of tasks of each class.
        log_likelihood: of the parameters that the E-step used (of the completed data when hard).
    """

    counts: FloatArray
    classes: FloatArray
    log_likelihood: float

    def by_class(self, n_workers: int) -> FloatArray:
        """(n_workers, C, C) expected counts, row = true class, column = given label."""
        n_classes = len(self.classes)
        return np.ascontiguousarray(self.counts.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Annotations grouped by task, each reduced to the row of the parameter table that it reads.

    Args:
        task_start: (n_tasks + 1,) int64, task i's annotations are ``task_start[i]:task_start[i + 1]``.
        cell: (n_annotations,) int32, ``worker * C + label``.
        known: (n_tasks,) int32 class of clamped tasks, -1 elsewhere.
        n_workers: R.
        n_classes: C.
    """

    task_start: IntArray
    cell: IntArray
    known: IntArray
    n_workers: int
    n_classes: int

    @classmethod
    def of(
        cls,
        task_start: IntArray,
        worker: IntArray,
        label: IntArray,
        n_workers: int,
        n_classes: int,
        known: IntArray | None = None,
    ) -> LabelTable:
        """Build the table from aligned ``worker`` and ``label`` (n_annotations,) sorted by task."""
        cell = worker.astype(np.int32)
        cell *= np.int32(n_classes)
        cell += label
        clamped = np.full(len(task_start) - 1, -1, np.int32) if known is None else np.array(known, np.int32)
        return cls(np.ascontiguousarray(task_start, np.int64), cell, clamped, n_workers, n_classes)

    @property
    def n_tasks(self) -> int:
        """N."""
        return len(self.known)

    @property
    def n_annotations(self) -> int:
        """A."""
        return len(self.cell)

    @property
    def n_cells(self) -> int:
        """Rows of the parameter table, n_workers * C."""
        return self.n_workers * self.n_classes

    @cached_property
    def matrix(self) -> scipy.sparse.csr_array[Any]:
        """(n_tasks, n_cells) how often each task has each cell."""
        ones = np.ones(self.n_annotations)
        return scipy.sparse.csr_array((ones, self.cell, self.task_start), shape=(self.n_tasks, self.n_cells))

    @cached_property
    def evident(self) -> BoolArray:
        """(n_tasks,) which tasks have an annotation or a known class."""
        return np.asarray((np.diff(self.task_start) > 0) | (self.known >= 0))


def expected_sums(table: LabelTable, posterior: FloatArray) -> Sums:
    """The sums under a given posterior (n_tasks, C), rows without evidence all zero; no log-likelihood (NaN)."""
    counts = cell_counts(table.task_start, table.cell, posterior, table.n_cells)
    return Sums(counts, posterior.sum(0), np.nan)


def em_step(
    table: LabelTable, log_confusion: FloatArray, log_prior: FloatArray, posterior: FloatArray, hard: bool = False
) -> Sums:
    """E-step under the given parameters, and the sums that its M-step needs.

    ``q_i(c) ∝ ρ_c Π_r π^r[c, y_i^r]``; known tasks keep their class.

    Args:
        table: the annotations.
        log_confusion: (n_workers * C, C) log π in the layout of `Sums.counts`; rows of cells that occur must have
            a finite entry for every class that ``log_prior`` allows.
        log_prior: (C,) log ρ, -inf for a class that no task has.
        posterior: (n_tasks, C) float64, overwritten; zero rows for tasks without evidence.
        hard: put all mass on the most probable class (ties to the lowest).
    """
    if loops := compiled(table.n_annotations * table.n_classes):
        return _compiled_step(loops, table, log_confusion, log_prior, posterior, hard)
    return _sparse_step(table, log_confusion, log_prior, posterior, hard)


def _sparse_step(
    table: LabelTable, log_confusion: FloatArray, log_prior: FloatArray, posterior: FloatArray, hard: bool
) -> Sums:
    joint = table.matrix @ log_confusion
    joint += log_prior
    clamped = np.flatnonzero(table.known >= 0)
    of_known = joint[clamped, table.known[clamped]]
    top = joint.max(1)
    np.exp(joint - top[:, None], out=posterior)
    total = posterior.sum(1)
    likelihood = top if hard else top + np.log(total)
    likelihood[clamped] = of_known
    if hard:
        best = joint.argmax(1)
        posterior[:] = 0.0
        posterior[np.arange(table.n_tasks), best] = 1.0
    else:
        posterior /= total[:, None]
    posterior[clamped] = 0.0
    posterior[clamped, table.known[clamped]] = 1.0
    posterior[~table.evident] = 0.0
    return Sums(table.matrix.T @ posterior, posterior.sum(0), float(likelihood[table.evident].sum()))


def _compiled_step(
    loops: Any,
    table: LabelTable,
    log_confusion: FloatArray,
    log_prior: FloatArray,
    posterior: FloatArray,
    hard: bool,
) -> Sums:
    top = log_confusion.max(1)
    top[np.isneginf(top)] = 0.0  # cells that never occur
    log_factor = log_confusion - top[:, None]
    factor, prior = np.exp(log_factor), np.exp(log_prior)
    parts = n_ranges(table.n_annotations, factor.size)
    counts = np.zeros((parts, *factor.shape))
    classes = np.zeros((parts, len(prior)))
    longest = _longest_product(log_factor, log_prior)

    def run(part: int, first: int, last: int) -> float:
        return float(
            loops.em_range(
                *(first, last, table.task_start, table.cell, table.known, hard),
                *(factor, log_factor, prior, log_prior, longest),
                *(posterior, counts[part], classes[part]),
            )
        )

    likelihood = sum(run_ranges(table.n_tasks, parts, run))
    total = counts.sum(0)
    return Sums(total, classes.sum(0), likelihood + float(total.sum(1) @ top))


def _longest_product(log_factor: FloatArray, log_prior: FloatArray) -> int:
    """How many factors times a prior stay above the smallest allowed product, whichever they are."""
    smallest = log_factor[np.isfinite(log_factor)].min(initial=-1e-9)
    room = _LOG_SMALLEST - log_prior[np.isfinite(log_prior)].min()
    return int(max(room / smallest, 0))
