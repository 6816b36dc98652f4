"""EM with a network as the prior of the true label: what AggNet and generalised EM share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import EpochContext, Network, Recovered
from crowdcore.learning.method_settings import EmSettings
from crowdcore.learning.networks.likelihood import (
    expected_counts,
    gather_rows,
    given_label,
    log_evidence,
    map_confusion,
    posterior,
)
from crowdcore.learning.training.posterior_trained import PosteriorTrained
from crowdcore.learning.training.problem import Problem


class ExpectationMaximisation(PosteriorTrained):
    """Posterior and expected counts, from vote shares at first, re-estimated at the start of every later epoch.

    E-step ``q_i(c) ∝ p_i(c) Π_r π^r[c, y_i^r]``, M-step ``π^r[c, l] ∝ α + Σ_i q_i(c) 1[y_i^r = l]``.
    """

    Settings: ClassVar[type[Settings]] = EmSettings

    smoothing: Tensor
    counts: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.leave_one_out = settings.leave_one_out
        self.keep("smoothing", settings.smoothing)
        n = problem.n_train_annotations
        task, worker, label = (torch.from_numpy(a[:n]) for a in (problem.task, problem.worker, problem.label))
        self.register_buffer("counts", expected_counts(self.q[task], worker, label, self.n_workers).contiguous())

    def evidence(self, batch_q: Tensor, row: Tensor, worker: Tensor, label: Tensor, weight: Tensor) -> Tensor:
        """``Σ_r log π^r[c, y_i^r]`` of tasks with posterior (B, C), their own labels left out if wished -> (B, C)."""
        if not self.leave_one_out:
            return log_evidence(self.confusion().log(), row, worker, label, len(batch_q), weight)
        own = batch_q.index_select(0, row)
        given = (given_label(self.counts, worker, label) - own).clamp_min(0) + self.smoothing
        (total,) = gather_rows(worker, self.counts.sum(-1))
        total = (total - own).clamp_min(0) + self.n_classes * self.smoothing
        terms = (given.log() - total.log()) * weight.unsqueeze(-1)
        return torch.zeros_like(batch_q).index_add(0, row, terms)

    def confusion(self) -> Tensor:
        """(R, C, C) MAP estimate under the current counts."""
        return map_confusion(self.counts, self.smoothing)

    def reestimate(self, context: EpochContext) -> None:
        """One E-step and one M-step over the training set."""
        every = torch.ones_like(context.label, dtype=context.log_probs.dtype)
        evidence = self.evidence(self.q, context.task, context.worker, context.label, every)
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
