"""EM whose M-step needs sums over tasks only: the same model runs in memory, on a GPU and over partitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from pydantic import Field

from crowdcore.aggregation._em import EMAggregator, Trace, clamp, start_posterior
from crowdcore.aggregation._guards import disagreement
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.em import LabelTable
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


class Fitted(NamedTuple):
    """End of a run: the last parameters, their sums, and the convergence."""

    parameters: Any
    sums: Any
    trace: Trace


class Engine(Protocol):
    """Where the annotations are: in memory, on a GPU, in a folder of partitions."""

    @property
    def n_annotations(self) -> int:
        """Annotations of all tasks."""

    def start(self) -> Any:
        """The sums under the posterior that EM starts from."""

    def step(self, parameters: Any) -> Any:
        """The sums after an E-step under ``parameters``."""


class MemoryEngine(Engine, Protocol):
    """An engine that keeps the posterior."""

    @property
    def posterior(self) -> FloatArray:
        """(n_tasks, C) of the last E-step."""


class SumsEM(EMAggregator):
    """An EM aggregator whose M-step is a function of sums over tasks.

    Sums are a NamedTuple of arrays and numbers that add up over partitions of the tasks; among them
    ``log_likelihood``. Parameters are a NamedTuple; among them ``log_prior_density`` (0 where there is no prior).
    EM starts at vote shares or an earlier result. ``restarts`` further runs start from these mixed half and half
    with random shares, and the run with the best objective is kept. The objective, recorded as ``log_likelihood``,
    is the log-likelihood plus the log density of the parameters under their priors (up to a constant): the
    quantity that EM never lowers, and the log-likelihood itself where there is no smoothing.
    """

    restarts_in_run: ClassVar[bool] = False
    """Whether `run` makes the restarts itself, which needs no posterior to start from."""

    restarts: int = Field(
        default=0,
        ge=0,
        le=1000,
        title="Random restarts",
        description="Further runs from randomised starts; the best is kept.",
    )
    seed: int = Field(default=0, ge=0, title="Seed", description="Seed of the randomised starts.")

    @abstractmethod
    def first_sums(self, table: LabelTable, posterior: FloatArray) -> Any:
        """The sums under a given posterior (n_tasks, C)."""

    @abstractmethod
    def e_step(self, table: LabelTable, parameters: Any, posterior: FloatArray) -> Any:
        """The sums under the posterior that ``parameters`` imply, which overwrites ``posterior``."""

    @abstractmethod
    def m_step(self, sums: Any, n_workers: int, before: Any = None) -> Any:
        """The parameters that maximise the expected objective.

        With a second kind of latent variable, whose share of the counts the parameters ``before`` decide (None: the
        start), parameters that raise it.
        """

    @abstractmethod
    def parts(self, parameters: Any, sums: Any) -> dict[str, Any]:
        """The fields of `AggregationResult` that parameters and sums fill."""

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warnings in words about what the data can carry."""
        return ()

    def run(self, engine: Engine, n_workers: int, named: bool = False) -> Fitted:
        """Iterate on an engine until the stopping rule.

        Args:
            engine: where the annotations are.
            n_workers: R.
            named: known tasks or an earlier result fix the names of the classes, for models that look for them.
        """
        return self.iterate_from(engine, n_workers, engine.start(), self.m_step)

    def iterate_from(self, engine: Engine, n_workers: int, sums: Any, m_step: Callable[..., Any]) -> Fitted:
        """Iterate from given sums, with this or another M-step."""
        parameters: Any = None

        def step() -> float:
            nonlocal sums, parameters
            parameters = m_step(sums, n_workers, parameters)
            sums = engine.step(parameters)
            return float(sums.log_likelihood + parameters.log_prior_density)

        trace = self.iterate(step, engine.n_annotations)
        return Fitted(m_step(sums, n_workers, parameters), sums, trace)

    def engine(self, table: LabelTable, posterior: FloatArray) -> MemoryEngine:
        """The engine for annotations in memory; a model that can run elsewhere overrides it."""
        return HostEngine(self, table, posterior)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        table = LabelTable.of(
            dataset.task_start, dataset.worker, dataset.label, dataset.n_workers, dataset.n_classes, known
        )
        best: tuple[Fitted, FloatArray] | None = None
        ends: list[tuple[float, IntArray]] = []
        for posterior in self._starts(start_posterior(dataset, known, start), known):
            engine = self.engine(table, posterior)
            fitted = self.run(engine, dataset.n_workers)
            value = float(fitted.trace.log_likelihood[-1])
            if best is None or value > best[0].trace.log_likelihood[-1]:
                best = fitted, engine.posterior
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


class HostEngine:
    """Annotations and posterior in memory, on the CPU."""

    def __init__(self, model: SumsEM, table: LabelTable, posterior: FloatArray) -> None:
        self.model, self.table, self._posterior = model, table, posterior

    @property
    def posterior(self) -> FloatArray:
        """(n_tasks, C), the array it was given, overwritten by each step."""
        return self._posterior

    @property
    def n_annotations(self) -> int:
        """Annotations in the table."""
        return self.table.n_annotations

    def start(self) -> Any:
        """The sums under the posterior it was given."""
        return self.model.first_sums(self.table, self._posterior)

    def step(self, parameters: Any) -> Any:
        """One pass over the annotations."""
        return self.model.e_step(self.table, parameters, self._posterior)
