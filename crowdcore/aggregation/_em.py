"""What the EM aggregators share: start, clamps, the loop with its stopping rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pydantic import Field

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_BLOCK = 1 << 16  # tasks whose votes become shares at once


class Trace(NamedTuple):
    """Convergence of an EM run, with fields of `AggregationResult`: ``self.result(..., **trace._asdict())``."""

    log_likelihood: FloatArray
    converged: bool
    stopped: str


class EMAggregator(Aggregator):
    """Base of the aggregators that iterate until the objective gains too little."""

    tolerance: float = Field(
        default=1e-6,
        ge=0,
        title="Tolerance (objective per label)",
        description="Stop when the objective gains less than this per annotation.",
    )
    max_iterations: int = Field(
        default=100, ge=1, title="Iterations at most", description="Maximum number of iterations."
    )

    def iterate(self, step: Callable[[], float], n_annotations: int, patience: int = 1) -> Trace:
        """Call ``step`` until its value (a sum over annotations) stops growing.

        Args:
            step: one E-step and M-step on the caller's state; returns the objective before its M-step.
            n_annotations: what a gain is divided by.
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


def clamp(posterior: FloatArray, known: IntArray | None) -> None:
    """Put all mass of the known tasks' rows on their class, in place."""
    if known is not None:
        tasks = np.flatnonzero(known >= 0)
        posterior[tasks] = 0.0
        posterior[tasks, known[tasks]] = 1.0


def start_posterior(
    dataset: CrowdDataset, known: IntArray | None = None, start: AggregationResult | None = None
) -> FloatArray:
    """Where EM starts: ``start``'s posterior where it has one, vote shares elsewhere, known tasks clamped.

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
