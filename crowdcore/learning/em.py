"""EM with a network as the prior of the true label: what AggNet and generalised EM share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered, swept
from crowdcore.learning.likelihood import expected_counts, log_evidence, map_confusion, posterior
from crowdcore.learning.problem import Problem

__all__ = ["EmSettings", "ExpectationMaximisation"]


class EmSettings(Settings):
    """Settings of EM."""

    smoothing: float = Field(
        0.1,
        gt=0,
        description="α of the symmetric Dirichlet prior of the confusions' rows (Rodrigues 2018, MAP estimates).",
        json_schema_extra=swept,
    )


class ExpectationMaximisation(CrowdMethod):
    """Posterior and expected counts, from vote shares at first, re-estimated at the start of every later epoch.

    E-step ``q_i(c) ∝ p_i(c) Π_r π^r[c, y_i^r]``, M-step ``π^r[c, l] ∝ α + Σ_i q_i(c) 1[y_i^r = l]``.
    """

    Settings: ClassVar[type[Settings]] = EmSettings

    smoothing: Tensor
    q: Tensor
    counts: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("smoothing", settings.smoothing)
        votes = torch.from_numpy(problem.votes()).float()
        n = problem.n_train_annotations
        task, worker, label = (torch.from_numpy(a[:n]) for a in (problem.task, problem.worker, problem.label))
        self.state("q", votes)
        self.register_buffer("counts", expected_counts(votes[task], worker, label, self.n_workers).contiguous())

    def confusion(self) -> Tensor:
        """(R, C, C) MAP estimate under the current counts."""
        return map_confusion(self.counts, self.smoothing)

    def reestimate(self, context: EpochContext) -> None:
        """One E-step and one M-step over the training set."""
        evidence = log_evidence(
            self.confusion().log(), context.task, context.worker, context.label, len(context.log_probs)
        )
        q = posterior(context.log_probs, evidence)
        self.q.copy_(q)
        self.counts.copy_(
            expected_counts(q.index_select(0, context.task), context.worker, context.label, self.n_workers)
        )

    def start_epoch(self, context: EpochContext) -> None:
        """Re-estimate, except before the network has learnt anything."""
        if context.epoch > 0:
            self.reestimate(context)

    def recovered(self) -> Recovered:
        """The MAP confusions."""
        return {"worker_confusion": self.confusion()}
