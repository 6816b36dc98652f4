"""Zero-based skill."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._statistics import accuracy_against, weighted_votes
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import Ties, clamp, vote_counts, vote_shares, winners
from crowdcore.core.settings import setting
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

    max_iterations: int = setting(100, "Updates at most", "Most weight updates.", ge=1, le=100_000)
    learning_rate: float = setting(1.0, "First step size", "First step size η.", gt=0, le=1)
    reduce_every: int = setting(20, "Steps between reductions", "Steps between reductions of the step size.", ge=1)
    reduce_factor: float = setting(
        0.5, "Factor of a reduction", "Factor by which the step size is then multiplied.", gt=0, le=1
    )
    ties: Ties = setting("share", "Ties go to", "Ties: all tied classes get a share, or the lowest class wins.")

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
