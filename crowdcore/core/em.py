"""One pass of EM for workers that are confusion matrices: posterior, expected counts, log-likelihood.

Dawid & Skene's E-step is two sparse products, ``log q = A log π + log ρ`` and ``counts = Aᵀ q``. Large inputs run
both in one compiled loop that multiplies probabilities where a bound shows that nothing can underflow (which saves
the exponentials), and adds logarithms elsewhere. `MemoryEngine` and `TorchEngine` keep annotations and posterior.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import scipy.sparse

from crowdcore.core.compiled import compiled, is_large, n_ranges, run_ranges
from crowdcore.core.counts import cell_counts
from crowdcore.core.errors import SettingError, need_extra
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import torch

_LOG_SMALLEST = np.log(1e-180)  # products of probabilities stay above this, and so do their sums


class Sums(NamedTuple):
    """Input of the M-step: sums over tasks, so those of partitions add up.

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
        """(n_tasks,) mask of the tasks that have an annotation or a known class."""
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
    if is_large(table.n_annotations * table.n_classes):
        return _compiled_step(table, log_confusion, log_prior, posterior, hard)
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
    table: LabelTable, log_confusion: FloatArray, log_prior: FloatArray, posterior: FloatArray, hard: bool
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
        return _em_range(
            *(first, last, table.task_start, table.cell, table.known, hard),
            *(factor, log_factor, prior, log_prior, longest),
            *(posterior, counts[part], classes[part]),
        )

    likelihood = sum(run_ranges(table.n_tasks, parts, run))
    total = counts.sum(0)
    return Sums(total, classes.sum(0), likelihood + float(total.sum(1) @ top))


def _longest_product(log_factor: FloatArray, log_prior: FloatArray) -> int:
    """Number of factors whose product with a prior is certainly above the smallest allowed one."""
    smallest = log_factor[np.isfinite(log_factor)].min(initial=-1e-9)
    room = _LOG_SMALLEST - log_prior[np.isfinite(log_prior)].min()
    return int(max(room / smallest, 0))


@compiled
def _em_range(
    first: int,
    last: int,
    task_start: IntArray,
    cell: IntArray,
    known: IntArray,
    hard: bool,
    factor: FloatArray,
    log_factor: FloatArray,
    prior: FloatArray,
    log_prior: FloatArray,
    longest: int,
    posterior: FloatArray,
    counts: FloatArray,
    classes: FloatArray,
) -> float:
    """One EM pass over the tasks ``first:last``; see `em_step`.

    Tasks with at most ``longest`` labels multiply rows of ``factor``, which cannot underflow then; longer ones add
    rows of ``log_factor``. The log-likelihood is the logarithm of a running product, taken when it gets small.

    Returns:
        The log-likelihood of these tasks, relative to the scale of ``factor``'s rows.
    """
    n_classes = len(prior)
    q = np.empty(n_classes)
    mine = np.zeros(n_classes)
    likelihood, running = 0.0, 1.0
    for i in range(first, last):
        begin, end = task_start[i], task_start[i + 1]
        clamp = known[i]
        if begin == end and clamp < 0:
            for c in range(n_classes):
                posterior[i, c] = 0.0
            continue
        if end - begin <= longest:
            for c in range(n_classes):
                q[c] = prior[c]
            j = begin
            while j + 4 <= end:  # four rows at a time keep the running product in registers
                w, x, y, z = cell[j], cell[j + 1], cell[j + 2], cell[j + 3]
                for c in range(n_classes):
                    q[c] *= factor[w, c] * factor[x, c] * (factor[y, c] * factor[z, c])
                j += 4
            while j < end:
                x = cell[j]
                for c in range(n_classes):
                    q[c] *= factor[x, c]
                j += 1
        else:
            for c in range(n_classes):
                q[c] = log_prior[c]
            for j in range(begin, end):
                x = cell[j]
                for c in range(n_classes):
                    q[c] += log_factor[x, c]
            top = q.max() if clamp < 0 else q[clamp]
            likelihood += top
            for c in range(n_classes):
                q[c] = math.exp(q[c] - top)
        if clamp >= 0 or hard:
            best = clamp if clamp >= 0 else q.argmax()
            total = q[best]
            for c in range(n_classes):
                q[c] = 0.0
            q[best] = 1.0
        else:
            total = 0.0
            for c in range(n_classes):
                total += q[c]
            scale = 1.0 / total
            for c in range(n_classes):
                q[c] *= scale
        running *= total
        if running < 1e-100 or running > 1e100:
            likelihood += math.log(running)
            running = 1.0
        for c in range(n_classes):
            posterior[i, c] = q[c]
            mine[c] += q[c]
        for j in range(begin, end):
            x = cell[j]
            for c in range(n_classes):
                counts[x, c] += q[c]
    for c in range(n_classes):  # assigning the array takes two seconds more to compile
        classes[c] = mine[c]
    return likelihood + math.log(running)


class Parameters(Protocol):
    """Parameters of workers that are confusion matrices, or can be written as such."""

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) log confusion in the layout of `Sums.counts`, and (C,) log prior."""


class MemoryEngine:
    """Annotations and posterior in memory, on the CPU.

    Args:
        table: the annotations.
        posterior: (n_tasks, C) where EM starts, overwritten by each step.
        hard: as in `em_step`.
    """

    def __init__(self, table: LabelTable, posterior: FloatArray, hard: bool) -> None:
        self.table, self.posterior, self.hard = table, posterior, hard
        self.n_annotations = table.n_annotations

    def start(self) -> Sums:
        """Sums under the given posterior."""
        return expected_sums(self.table, self.posterior)

    def step(self, parameters: Parameters) -> Sums:
        """Sums after an E-step."""
        return em_step(self.table, *parameters.logs(), self.posterior, self.hard)


class TorchEngine:
    """Annotations and posterior on a torch device: `em_step` as two sparse products, float64.

    Args:
        table: the annotations.
        posterior: (n_tasks, C) where EM starts.
        hard: as in `em_step`.
        device: a torch device, e.g. ``"cuda"``.
    """

    def __init__(self, table: LabelTable, posterior: FloatArray, hard: bool, device: str) -> None:
        import torch

        self.hard, self.n_annotations, self.device = hard, table.n_annotations, torch.device(device)
        cell = self._to_tensor(table.cell).long()
        task = torch.repeat_interleave(
            torch.arange(table.n_tasks, device=self.device), self._to_tensor(np.diff(table.task_start))
        )
        self.by_task = self._sparse(task, cell, (table.n_tasks, table.n_cells))
        self.by_cell = self._sparse(cell, task, (table.n_cells, table.n_tasks))
        self.known = self._to_tensor(np.flatnonzero(table.known >= 0))
        self.known_class = self._to_tensor(table.known).long()[self.known]
        self.evident = self._to_tensor(table.evident)
        self.q = self._to_tensor(posterior)

    def _to_tensor(self, array: AnyArray) -> torch.Tensor:
        import torch

        return torch.tensor(array, device=self.device)

    def _sparse(self, row: torch.Tensor, column: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
        """CSR matrix with the number of times that each (row, column) occurs."""
        import torch

        key, times = torch.unique(row * shape[1] + column, return_counts=True)
        start = torch.zeros(shape[0] + 1, dtype=torch.int64, device=self.device)
        start[1:] = torch.bincount(key // shape[1], minlength=shape[0]).cumsum(0)
        with warnings.catch_warnings(), torch.sparse.check_sparse_tensor_invariants():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(start.int(), (key % shape[1]).int(), times.double(), shape)

    @property
    def posterior(self) -> FloatArray:
        """(n_tasks, C) float64, copied from the device."""
        return np.asarray(self.q.cpu().numpy())

    def start(self) -> Sums:
        """Sums under the given posterior."""
        return self._sums(float("nan"))

    def step(self, parameters: Parameters) -> Sums:
        """Sums after an E-step."""
        import torch

        log_confusion, log_prior = map(self._to_tensor, parameters.logs())
        joint = self.by_task @ log_confusion
        joint += log_prior
        of_known = joint[self.known, self.known_class]
        top, best = joint.max(1)
        if self.hard:
            likelihood = top
            self.q = torch.zeros_like(joint).scatter_(1, best[:, None], 1.0)
        else:
            likelihood = torch.logsumexp(joint, 1)
            self.q = joint.sub_(likelihood[:, None]).exp_()
        likelihood[self.known] = of_known
        self.q[self.known] = 0.0
        self.q[self.known, self.known_class] = 1.0
        self.q *= self.evident[:, None]
        return self._sums(float(likelihood[self.evident].sum()))

    def _sums(self, log_likelihood: float) -> Sums:
        counts, classes = self.by_cell @ self.q, self.q.sum(0)
        return Sums(counts.cpu().numpy(), classes.cpu().numpy(), log_likelihood)


def find_device(device: Literal["cuda", "auto"]) -> str | None:
    """Return ``"cuda"`` if there is a GPU; without one return None for ``"auto"`` and refuse ``"cuda"``."""
    if find_spec("torch") is None:
        if device == "auto":
            return None
        raise need_extra("device='cuda'", "torch")
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return None
    raise SettingError("device", "be an available device", device, "torch sees no GPU; use 'cpu' or 'auto'.")
