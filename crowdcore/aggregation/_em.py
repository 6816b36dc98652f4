"""Bases of the EM aggregators: the loop with its stopping rule, sums over tasks, and the Dawid–Skene family."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from crowdcore.aggregation.base import AggregationResult, Aggregator, collapsed
from crowdcore.core.counts import clamp, vote_counts
from crowdcore.core.em import LabelTable, MemoryEngine, Sums, TorchEngine, find_device
from crowdcore.core.memory import need_room
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_BLOCK = 1 << 16  # tasks whose votes become shares at once
_BEHIND = 1e-3  # nats per annotation by which a restart may be behind the best
_DIFFERENT = 0.05  # share of the tasks on which it may differ

FLOOR = 1e-10
"""Counts and shares that would be zero without smoothing are raised to this, so that logarithms stay finite."""

ENOUGH = 5.0
"""Labels per estimated row of a confusion below which a result has a warning."""

NO_EVIDENCE = 1e-6
"""A row of expected counts below a millionth of an annotation is no evidence on the worker."""


class Trace(NamedTuple):
    """Convergence of an EM run, with fields of `AggregationResult`: ``self.result(..., **trace._asdict())``."""

    log_likelihood: FloatArray
    converged: bool
    stopped: str


class EMAggregator(Aggregator):
    """Base of the aggregators that iterate until the objective gains too little."""

    tolerance: float = setting(
        1e-6, "Tolerance (objective per label)", "Stop when the objective gains less than this per annotation.", ge=0
    )
    max_iterations: int = setting(100, "Iterations at most", "Maximum number of iterations.", ge=1)

    def iterate(self, step: Callable[[], float], n_annotations: int, patience: int = 1) -> Trace:
        """Call ``step`` until its value (a sum over annotations) stops growing.

        Args:
            step: one E-step and M-step on the caller's state; returns the objective before its M-step.
            n_annotations: divisor of a gain.
            patience: iterations in which the gain over the highest value before is too small.
        """
        values = [step()]
        converged = False
        while not converged and len(values) < self.max_iterations:
            values.append(step())
            if len(values) > patience:
                gain = max(values[-patience:]) - max(values[:-patience])
                converged = gain < self.tolerance * n_annotations
        stopped = (
            f"gain below {self.tolerance:g} per annotation after {len(values)} iterations"
            if converged
            else f"cap of {self.max_iterations} iterations reached"
        )
        return Trace(np.array(values), converged, stopped)


def start_posterior(
    dataset: CrowdDataset, known: IntArray | None = None, start: AggregationResult | None = None
) -> FloatArray:
    """Posterior that EM starts from: ``start``'s where it has one, else vote shares; known tasks are clamped.

    Returns:
        (n_tasks, C) float64, rows sum to 1; all zero (no weight in any sum) for tasks without evidence.
    """
    posterior = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
    n = np.maximum(dataset.labels_per_task, 1)
    for at in range(0, len(n), _BLOCK):
        posterior[at : at + _BLOCK] /= n[at : at + _BLOCK, None]
    if start is not None:
        started = ~np.isnan(start.posterior[:, 0]) & dataset.annotated
        posterior[started] = start.posterior[started]
    clamp(posterior, known)
    return posterior


def label_table(dataset: CrowdDataset, known: IntArray | None) -> LabelTable:
    """Annotations in the layout of `em_step`."""
    worker, label = dataset.worker, dataset.label
    return LabelTable.of(dataset.task_start, worker, label, dataset.n_workers, dataset.n_classes, known)


class Fitted(NamedTuple):
    """End of a run: the last parameters, their sums, and the convergence."""

    parameters: Any
    sums: Sums
    trace: Trace


class Engine(Protocol):
    """Annotations in memory, on a GPU, or in a folder of partitions."""

    @property
    def n_annotations(self) -> int:
        """Annotations of all tasks."""

    def start(self) -> Sums:
        """Sums under the initial posterior."""

    def step(self, parameters: Any) -> Sums:
        """Sums after an E-step under ``parameters``."""


class SumsEM(EMAggregator):
    """An EM aggregator whose E-step reads workers as confusion matrices, and whose M-step needs sums over tasks only.

    So it runs in memory, on a GPU and over partitions. Parameters are a NamedTuple with ``logs()`` and
    ``log_prior_density`` (0 without a prior). EM starts at vote shares or an earlier result. ``restarts`` further runs
    start from these mixed half and half with random shares; of the runs that have not collapsed, the one with the best
    objective is kept. The objective, recorded as ``log_likelihood``, is the log-likelihood plus the log density of the
    parameters under their priors (up to a constant): the quantity that EM never lowers, and the log-likelihood itself
    without smoothing.
    """

    hard: ClassVar[bool] = False
    """True if the E-step puts all mass on the most probable class."""

    restarts_in_run: ClassVar[bool] = False
    """True if `run` makes the restarts itself, which needs no posterior to start from."""

    restarts: int = setting(
        0, "Random restarts", "Further runs from randomised starts; the best is kept.", ge=0, le=1000
    )
    seed: int = setting(0, "Seed", "Seed of the randomised starts.", ge=0)

    @abstractmethod
    def m_step(self, sums: Sums, n_workers: int, before: Any = None) -> Any:
        """Parameters that maximise the expected objective, or raise it beside the parameters ``before``."""

    @abstractmethod
    def parts(self, parameters: Any, sums: Sums) -> dict[str, Any]:
        """Fields of `AggregationResult` from parameters and sums."""

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warnings about the data."""
        return ()

    def run(self, engine: Engine, n_workers: int, named: bool = False) -> Fitted:
        """Iterate on an engine until the stopping rule.

        Args:
            engine: where the annotations are.
            n_workers: R.
            named: known tasks or an earlier result fix the names of the classes, for models that look for them.
        """
        return self.iterate_from(engine, n_workers, engine.start(), self.m_step)

    def iterate_from(self, engine: Engine, n_workers: int, sums: Sums, m_step: Callable[..., Any]) -> Fitted:
        """Iterate from given sums, with this or another M-step."""
        parameters: Any = None

        def step() -> float:
            nonlocal sums, parameters
            parameters = m_step(sums, n_workers, parameters)
            sums = engine.step(parameters)
            return float(sums.log_likelihood + parameters.log_prior_density)

        trace = self.iterate(step, engine.n_annotations)
        return Fitted(m_step(sums, n_workers, parameters), sums, trace)

    def engine(self, table: LabelTable, posterior: FloatArray) -> MemoryEngine | TorchEngine:
        """Engine for annotations in memory."""
        return MemoryEngine(table, posterior, self.hard)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        need_room(dataset.name, dataset.n_tasks, dataset.n_classes, dataset.n_workers)
        table = label_table(dataset, known)
        best: tuple[Fitted, FloatArray] | None = None
        reached = False, -np.inf  # on the votes' side, objective
        ends: list[tuple[float, IntArray]] = []
        for posterior in self._starts(start_posterior(dataset, known, start), known):
            engine = self.engine(table, posterior)
            fitted = self.run(engine, dataset.n_workers)
            value = float(fitted.trace.log_likelihood[-1])
            end = not (self.restarts and collapsed(dataset, engine.posterior, known)), value
            if best is None or end > reached:
                best, reached = (fitted, engine.posterior), end
            if self.restarts:
                ends.append((value / dataset.n_annotations, engine.posterior.argmax(1)))
        assert best is not None
        fitted, posterior = best
        parts = self.parts(fitted.parameters, fitted.sums) | fitted.trace._asdict()
        return self.result(dataset, posterior, known=known, notes=(*disagreement(ends), *self.notes(dataset)), **parts)

    def _starts(self, votes: FloatArray, known: IntArray | None) -> Iterator[FloatArray]:
        original = votes.copy() if self.restarts else votes  # a run overwrites its start
        yield votes
        rng = np.random.default_rng(self.seed)
        for _ in range(self.restarts):
            mixed = rng.dirichlet(np.ones(original.shape[1]), len(original))
            mixed += original
            mixed *= original.sum(1, keepdims=True) / 2  # rows without evidence stay 0
            clamp(mixed, known)
            yield mixed


class ConfusionParameters(NamedTuple):
    """Parameters of the Dawid–Skene family.

    Attributes:
        confusion: (n_workers, given, true) probabilities that sum to 1 over ``given``.
        prior: (C,) class shares.
        log_prior_density: of these under their Dirichlet priors, without constants; 0 without smoothing.
    """

    confusion: FloatArray
    prior: FloatArray
    log_prior_density: float

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) log confusion in the layout of `Sums.counts`, and (C,) log prior."""
        n_classes = len(self.prior)
        with np.errstate(divide="ignore"):  # labels that a worker never gave
            return np.log(self.confusion).reshape(-1, n_classes), np.log(self.prior)


class ConfusionEM(SumsEM):
    """The Dawid–Skene family; members differ in their M-step, by default Dawid & Skene's."""

    smoothing: float = setting(
        0.01,
        "Smoothing of confusions (labels)",
        "Dirichlet smoothing α, added to each expected count; 0 is maximum likelihood.",
        ge=0,
    )
    prior_smoothing: float = setting(
        0.0, "Smoothing of class shares (tasks)", "Added to the expected number of tasks of each class.", ge=0
    )
    device: Literal["cpu", "cuda", "auto"] = setting(
        "cpu", "Device", "Where EM runs: cuda needs torch, auto uses a GPU if there is one."
    )

    def m_step(self, sums: Sums, n_workers: int, before: Any = None) -> Any:
        """``π^r[c, l] ∝ α + counts``; with α = 0, counts of labels that the worker gave are kept above `FLOOR`."""
        prior, density = class_shares(sums, self.prior_smoothing)
        counts = sums.counts.reshape(n_workers, len(prior), len(prior))
        if self.smoothing:
            smoothed = counts + self.smoothing
        else:
            smoothed = np.where(counts.any(2, keepdims=True), np.maximum(counts, FLOOR), 0.0)
        confusion = smoothed / np.maximum(smoothed.sum(1, keepdims=True), FLOOR)
        if self.smoothing:
            density += self.smoothing * float(np.log(confusion).sum())
        return ConfusionParameters(confusion, prior, density)

    def parts(self, parameters: ConfusionParameters, sums: Sums) -> dict[str, Any]:
        """Confusion (rows whose expected counts are next to nothing are NaN), counts and prior."""
        confusion = parameters.confusion.transpose(0, 2, 1).copy()
        counts = sums.by_class(len(confusion))
        confusion[counts.sum(2) < NO_EVIDENCE] = np.nan
        return {"confusion": confusion, "counts": counts, "prior": parameters.prior}

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warn if most workers' confusions rest on few labels."""
        return too_few_labels(dataset, ENOUGH, dataset.n_classes)

    def engine(self, table: LabelTable, posterior: FloatArray) -> MemoryEngine | TorchEngine:
        """Memory, or a GPU."""
        if self.device == "cpu":
            return super().engine(table, posterior)
        device = find_device(self.device)
        return TorchEngine(table, posterior, self.hard, device) if device else super().engine(table, posterior)


def class_shares(sums: Sums, smoothing: float) -> tuple[FloatArray, float]:
    """ρ ∝ smoothing + expected number of tasks (C,), and its log density under the Dirichlet prior."""
    prior = np.maximum(sums.classes + smoothing, FLOOR * sums.classes.sum())
    prior /= prior.sum()
    return prior, smoothing * float(np.log(prior).sum()) if smoothing else 0.0


def disagreement(ends: Sequence[tuple[float, IntArray]]) -> tuple[str, ...]:
    """Warn if restarts with the best objective infer different labels; takes objectives per annotation, and labels."""
    if not ends:
        return ()
    best, labels = max(ends, key=lambda end: end[0])
    different = max(float((labels != other).mean()) for value, other in ends if value >= best - _BEHIND)
    if different <= _DIFFERENT:
        return ()
    return (
        f"Restarts disagree: a run with as good an objective labels {100 * different:.0f} % of the tasks differently. "
        "Give some true labels, or use auto.",
    )


def too_few_labels(dataset: CrowdDataset, needed: float, cells: int = 1) -> tuple[str, ...]:
    """Warn if half the annotating workers have fewer than ``needed`` labels per ``cells`` cells.

    Args:
        needed: labels that one estimated quantity should rest on.
        cells: number of such quantities per worker (C when each class has its own).
    """
    given = dataset.labels_per_worker[dataset.labels_per_worker > 0] / cells
    median = float(np.median(given))
    if median >= needed:
        return ()
    per = " per class" if cells > 1 else ""
    return (
        f"Few labels per worker: the median is {median:.3g}{per}. Below {needed:g}, a worker's estimate mostly "
        "reflects the prior.",
    )
