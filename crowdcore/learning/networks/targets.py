"""Networks trained on posteriors: fixed ones of an aggregator, or re-estimated by EM with the network as the prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered
from crowdcore.learning.method_settings import EmSettings
from crowdcore.learning.networks.network import Ensemble
from crowdcore.learning.networks.ops import (
    expected_counts,
    gather_rows,
    given_label,
    log_evidence,
    map_confusion,
    posterior,
)
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


def cross_entropy(log_probs: Tensor, target: Tensor) -> Tensor:
    """Mean of ``-Σ_c t_c log p_c``; targets (B, C), or (B,) classes of which those below 0 do not count."""
    if target.dim() == log_probs.dim():
        return -(target * log_probs).sum(-1).mean()
    known = (target >= 0).to(log_probs.dtype)
    picked = log_probs.gather(-1, target.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return -(known * picked).sum() / known.sum().clamp_min(1)


class PosteriorTrained(CrowdMethod):
    """A posterior ``q`` (n_train, C), the vote shares at first, and a network, or one per fold, to train on it."""

    fold: Tensor
    q: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        if settings.folds:
            self.state("fold", torch.randperm(problem.n_train) % settings.folds)
        self.state("q", torch.from_numpy(problem.votes()).float())

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """One network, or one per fold.

        Raises:
            SettingError: a single fold.
        """
        if settings.folds == 1:
            raise SettingError("folds", "be 0 (one network) or at least 2", 1)
        return Ensemble(network, n_classes, settings.folds) if settings.folds else network(n_classes)

    def train_log_probs(self, features: Tensor, task: Tensor) -> Tensor:
        """Of the network that has not seen the task, where there are folds."""
        if not isinstance(self.classifier, Ensemble):
            return self.log_probs(features)
        index = self.fold.index_select(0, task).reshape(-1, 1, 1).expand(-1, 1, self.n_classes)
        return self.classifier.each(features).gather(1, index).squeeze(1)

    def target_loss(self, batch: Batch, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """Mean over tasks of a loss per task, (B, C) log p -> (B,); every network learns from the folds not its own."""
        if not isinstance(self.classifier, Ensemble):
            return loss(self.log_probs(batch.features)).mean()
        fold = self.fold.index_select(0, batch.task)
        total = torch.zeros((), dtype=batch.features.dtype, device=batch.features.device)
        for k, log_p in enumerate(self.classifier.each(batch.features).unbind(-2)):
            seen = (fold != k).to(log_p.dtype)
            total = total + (seen * loss(log_p)).sum() / seen.sum().clamp_min(1)
        return total


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
