"""Wawa."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._statistics import accuracy_against, weighted_votes
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import Ties, clamp, vote_counts, vote_shares, winners
from crowdcore.core.settings import setting
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset


class Wawa(Aggregator):
    """Worker agreement with aggregate: one round of votes weighted by agreement with the majority.

    ``m_i = argmax_c #{r : y_i^r = c}``, ``w_r = mean_i 1[y_i^r = m_i]``, ``q_i(c) ∝ Σ_r w_r 1[y_i^r = c]``.
    A task whose annotators all weigh nothing keeps its plain vote shares. Known tasks count with their true class
    in ``m``. Sharing a tie does not depend on the order of the classes.
    """

    name: ClassVar[str] = "wawa"
    title: ClassVar[str] = "Wawa"
    paper: ClassVar[str] = "Worker agreement with aggregate, as defined by crowd-kit; doi:10.21105/joss.06227"

    ties: Ties = setting("share", "Ties go to", "Ties: all tied classes get a share, or the lowest class wins.")

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes)
        won = winners(votes, self.ties)
        clamp(won, known)
        skill = accuracy_against(dataset, won)
        posterior = vote_shares(weighted_votes(dataset, skill[dataset.worker]), fallback=votes)
        clamp(posterior, known)
        weight = np.where(dataset.labels_per_worker > 0, skill, np.nan)
        return self.result(dataset, posterior, known=known, worker_weight=weight)
