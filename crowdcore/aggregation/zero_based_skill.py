"""Zero-based skill."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from crowdcore.aggregation._em import clamp
from crowdcore.aggregation._votes import Ties, accuracy_against, vote_shares, weighted_votes, winners
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset

UNCHANGED = 1e-12


class ZeroBasedSkill(Aggregator):
    """Weighted votes whose weights follow the agreement with the weighted vote, step by step.

    ``m_i = argmax_c Σ_r w_r 1[y_i^r = c]``, then ``w_r ← w_r + η (mean_i 1[y_i^r = m_i] - w_r)``, with η reduced
    every ``reduce_every`` steps; the answer is ``q_i(c) ∝ Σ_r w_r 1[y_i^r = c]``. Stops when no weight moves, or
    at the cap. Known tasks count with their true class in ``m``; ``ties="lowest"`` is crowd-kit's rule.
    """

    name: ClassVar[str] = "zero-based-skill"
    title: ClassVar[str] = "Zero-based skill"
    paper: ClassVar[str] = "Zero-based skill, as defined by crowd-kit; doi:10.21105/joss.06227"

    max_iterations: int = Field(
        default=100, ge=1, le=100_000, title="Updates at most", description="Most weight updates."
    )
    learning_rate: float = Field(default=1.0, gt=0, le=1, title="First step size", description="First step size η.")
    reduce_every: int = Field(
        default=20, ge=1, title="Steps between reductions", description="Steps between reductions of the step size."
    )
    reduce_factor: float = Field(
        default=0.5,
        gt=0,
        le=1,
        title="Factor of a reduction",
        description="Factor by which the step size is then multiplied.",
    )
    ties: Ties = Field(
        default="share",
        title="Ties go to",
        description="Ties: all tied classes get a share, or the lowest class wins.",
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        counts = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
        weight = np.full(dataset.n_workers, 1.0 / dataset.n_classes)
        if start is not None and start.worker_weight is not None:
            weight = np.where(np.isnan(start.worker_weight), weight, start.worker_weight)
        rate, change = self.learning_rate, np.inf
        for iteration in range(1, self.max_iterations + 1):
            if iteration % self.reduce_every == 0:
                rate *= self.reduce_factor
            won = winners(weighted_votes(dataset, weight[dataset.worker]), self.ties)
            clamp(won, known)
            step = rate * (accuracy_against(dataset, won) - weight)
            weight = weight + step
            change = float(np.abs(step).max())
            if change < UNCHANGED:
                break
        posterior = vote_shares(weighted_votes(dataset, weight[dataset.worker]), fallback=counts)
        clamp(posterior, known)
        converged = change < UNCHANGED
        return self.result(
            dataset,
            posterior,
            known=known,
            worker_weight=np.where(dataset.labels_per_worker > 0, weight, np.nan),
            converged=converged,
            stopped=f"no weight moved after {iteration} updates" if converged else f"cap of {iteration} updates",
        )
