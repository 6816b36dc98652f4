"""EM with a second latent variable, whose posterior depends on the previous parameters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from crowdcore.aggregation._sums_em import Engine, Fitted, SumsEM

__all__ = ["StatefulEM"]


class StatefulEM(SumsEM):
    """An EM aggregator with a second kind of latent variable, whose share of the counts the parameters decide."""

    @abstractmethod
    def next_step(self, sums: Any, n_workers: int, before: Any | None) -> Any:
        """Parameters that raise the expected objective, from the previous ones (None: from the start)."""

    def m_step(self, sums: Any, n_workers: int) -> Any:
        """The first parameters after the start."""
        return self.next_step(sums, n_workers, None)

    def run(self, engine: Engine, n_workers: int, named: bool = False) -> Fitted:
        """Iterate on an engine until the stopping rule; see `SumsEM.run`."""
        return self.iterate_from(engine, n_workers, engine.start(), None)

    def iterate_from(self, engine: Engine, n_workers: int, sums: Any, parameters: Any | None) -> Fitted:
        """The same from given sums and parameters."""

        def step() -> float:
            nonlocal sums, parameters
            parameters = self.next_step(sums, n_workers, parameters)
            sums = engine.step(parameters)
            return float(sums.log_likelihood + parameters.log_prior_density)

        trace = self.iterate(step, engine.n_annotations)
        return Fitted(self.next_step(sums, n_workers, parameters), sums, trace)
