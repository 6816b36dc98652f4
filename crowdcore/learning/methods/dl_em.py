"""Networks trained on a posterior that is re-estimated with them: AggNet, generalised EM, MBEM, CROWDLAB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered
from crowdcore.learning.method_settings import CrowdlabSettings, DlEmSettings, EmSettings, MbemSettings
from crowdcore.learning.networks.network import Ensemble
from crowdcore.learning.networks.ops import (
    at_label,
    expected_counts,
    gather_rows,
    given_label,
    log_evidence,
    map_confusion,
    posterior,
)
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


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
        """log p by the network that has not seen the task, where there are folds."""
        if not isinstance(self.classifier, Ensemble):
            return self.log_probs(features)
        index = self.fold.index_select(0, task).reshape(-1, 1, 1).expand(-1, 1, self.n_classes)
        return self.classifier.each(features).gather(1, index).squeeze(1)

    def target_loss(self, batch: Batch, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """Mean over tasks of a loss per task, (B, C) log p -> (B,); a network learns from all folds but its own."""
        if not isinstance(self.classifier, Ensemble):
            return loss(self.log_probs(batch.features)).mean()
        fold = self.fold.index_select(0, batch.task)
        total = torch.zeros((), dtype=batch.features.dtype, device=batch.features.device)
        for k, log_p in enumerate(self.classifier.each(batch.features).unbind(-2)):
            seen = (fold != k).to(log_p.dtype)
            total = total + (seen * loss(log_p)).sum() / seen.sum().clamp_min(1)
        return total

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the posterior."""
        return self.cross_entropy(batch, self.q.index_select(0, batch.task))

    def cross_entropy(self, batch: Batch, q: Tensor) -> dict[str, Tensor]:
        """``-Σ_c q_i(c) log p_i(c)`` of a batch with posterior (B, C)."""
        return {"cross_entropy": self.target_loss(batch, lambda log_p: -(q * log_p).sum(-1))}


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
        """``Σ_r log π^r[c, y_i^r]`` of tasks with posterior (B, C), their own labels left out if set so -> (B, C)."""
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
        """Re-estimate, except in the first epoch, when the network has learnt nothing yet."""
        if context.epoch > 0:
            self.reestimate(context)

    def recovered(self) -> Recovered:
        """The MAP confusions."""
        return {"worker_confusion": self.confusion()}


class DlEm(ExpectationMaximisation):
    """``-mean_i Σ_c q_i(c) log p_i(c)``.

    Per epoch, q is fixed while the network trains on it. Per batch, the batch's q is renewed by the network as it
    stands and its share of the expected counts is replaced (incremental EM of Neal & Hinton).
    """

    name: ClassVar[str] = "dl-em"
    title: ClassVar[str] = "Expectation-maximisation (AggNet)"
    paper: ClassVar[str] = "Albarqouni et al.: AggNet, IEEE TMI 2016; Rodrigues, Pereira, AAAI 2018, EM algorithm"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = DlEmSettings

    def __init__(self, problem: Problem, settings: DlEmSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.per_batch = settings.e_step == "batch"

    def start_epoch(self, context: EpochContext) -> None:
        """Run EM over the training set, unless batches do it."""
        if not self.per_batch:
            super().start_epoch(context)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the posterior."""
        return self.cross_entropy(batch, self._renew(batch)) if self.per_batch else super().loss(batch)

    def _renew(self, batch: Batch) -> Tensor:
        """Renew the batch's posterior, (B, C), and with it the counts, in place."""
        with torch.no_grad():
            before = self.q.index_select(0, batch.task)
            evidence = self.evidence(before, batch.row, batch.worker, batch.label, batch.weight)
            q = posterior(self.train_log_probs(batch.features, batch.task), evidence)
            change = (q - before).index_select(0, batch.row) * batch.weight.unsqueeze(-1)
            self.counts.add_(expected_counts(change, batch.worker, batch.label, self.n_workers)).clamp_min_(0)
            self.q.copy_(self.q.index_copy(0, batch.task, q))
        return q


class GeneralizedEm(ExpectationMaximisation):
    """``-mean_i log Σ_c p_i(c) Π_r π^r[c, y_i^r]``, the likelihood of all labels of a task together.

    Its gradient with respect to the network is that of ``-Σ_c q_i(c) log p_i(c)`` at the current posterior: the
    M-step of the network is a few gradient steps, each after a fresh E-step. The confusions are re-estimated once
    an epoch.
    """

    name: ClassVar[str] = "generalized-em"
    title: ClassVar[str] = "Generalised EM"
    paper: ClassVar[str] = "Raykar et al.: Learning From Crowds, JMLR 2010"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Negative marginal log-likelihood per task."""
        q = self.q.index_select(0, batch.task)
        evidence = self.evidence(q, batch.row, batch.worker, batch.label, batch.weight)
        return {"likelihood": self.target_loss(batch, lambda log_p: -torch.logsumexp(log_p + evidence, -1))}


class Mbem(ExpectationMaximisation):
    """``-mean_i Σ_c q_i(c) log p_i(c)``, q from vote shares at first and re-estimated before every later round.

    With hard predictions ``t_i = argmax_c p_i(c)``: ``π^r[c, l] ∝ α + Σ_i 1[t_i = c, y_i^r = l]``, ``ρ_c`` the share
    of c among them, ``q_i(c) ∝ ρ_c Π_r π^r[c, y_i^r]`` (Algorithm 1). The network itself is no part of q, and goes on
    from round to round, where the paper trains it anew.
    """

    name: ClassVar[str] = "mbem"
    title: ClassVar[str] = "Model bootstrapped EM (MBEM)"
    paper: ClassVar[str] = "Khetan, Lipton, Anandkumar: Learning From Noisy Singly-labeled Data, ICLR 2018"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "q")
    Settings: ClassVar[type[Settings]] = MbemSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        epochs = problem.training.epochs
        self.begins = {k * epochs // settings.rounds for k in range(settings.rounds)} - {0}

    def start_epoch(self, context: EpochContext) -> None:
        """Re-estimate the posterior where a round begins."""
        if context.epoch in self.begins:
            self.reestimate(context)

    def reestimate(self, context: EpochContext) -> None:
        """Confusions and class shares from the network's hard predictions, then the posterior."""
        predicted = one_hot(context.log_probs.argmax(-1), self.n_classes).to(context.log_probs.dtype)
        of_labels = predicted.index_select(0, context.task)
        self.counts.copy_(expected_counts(of_labels, context.worker, context.label, self.n_workers))
        every = torch.ones_like(context.label, dtype=predicted.dtype)
        evidence = self.evidence(predicted, context.task, context.worker, context.label, every)
        prior = (predicted.sum(0) + self.smoothing) / (len(predicted) + self.n_classes * self.smoothing)
        self.q.copy_(posterior(prior.log(), evidence))

    def recovered(self) -> Recovered:
        """The confusions and the posterior of the training tasks."""
        return {**super().recovered(), "q": self.q}


_LEAST = 1e-6  # weight of the worst worker, and of the worst network


class Crowdlab(PosteriorTrained):
    """``-mean_i Σ_c q_i(c) log p_i(c)`` with ``q_i = (w₀ p_i + Σ_r w_r g_i^r) / (w₀ + Σ_r w_r)``, once an epoch.

    ``g_i^r(c)`` is P where c is the label and ``(1 - P) / (C - 1)`` elsewhere; P is the mean share of a task's labels
    that agree with its consensus (the vote, ties broken by the network). ``w_r = 1 - (1 - s_r) / (1 - a)`` with s_r the
    agreement of worker r with others, ``w₀ = (1 - (1 - s₀) / (1 - a)) √(labels per task)`` with s₀ that of the network
    with the consensus, and a that of the commonest class; all over tasks with several labels. p_i is out of fold. The
    paper trains once on the consensus; here the network goes on on q.
    """

    name: ClassVar[str] = "crowdlab"
    title: ClassVar[str] = "CROWDLAB-style ensemble"
    paper: ClassVar[str] = "Goh, Tkachenko, Mueller: CROWDLAB, NeurIPS 2022 workshop on human in the loop learning"
    recovers: ClassVar[tuple[str, ...]] = ("worker_weight", "q")
    Settings: ClassVar[type[Settings]] = CrowdlabSettings
    learns_confusions: ClassVar[bool] = False

    worker_weight: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.register_buffer("worker_weight", torch.ones(self.n_workers))

    @classmethod
    def notes(cls, problem: Problem, settings: Any, seeds: Sequence[int]) -> tuple[str, ...]:
        """Warn if the labels cannot distinguish good workers from bad ones."""
        if np.bincount(problem.task[: problem.n_train_annotations]).max() > 1:
            return ()
        return ("No training task has two labels: CROWDLAB cannot see who agrees, and follows its network alone.",)

    def start_epoch(self, context: EpochContext) -> None:
        """Renew the ensemble, except in the first epoch, when the network has learnt nothing yet."""
        if context.epoch == 0:
            return
        task, worker, label = context.task, context.worker, context.label
        p = context.log_probs.exp()
        n_classes = self.n_classes
        given = one_hot(label, n_classes).to(p.dtype)
        votes = torch.zeros_like(p).index_add(0, task, given)
        size = votes.sum(-1)
        several = (size > 1).to(p.dtype)
        several = torch.where(several.sum() > 0, several, 1.0)
        consensus = torch.where(votes == votes.amax(-1, keepdim=True), p, -1.0).argmax(-1)

        def share(right: Tensor) -> Tensor:
            return (several * right).sum() / several.sum()

        agreed = at_label(votes, consensus) / size
        most_likely = share(agreed).clamp(1 / n_classes, 1 - _LEAST)
        commonest = one_hot(consensus, n_classes).sum(0).argmax()
        chance = (1 - share((consensus == commonest).to(p.dtype))).clamp_min(_LEAST)
        others = size.index_select(0, task) - 1
        agreeing = at_label(votes.index_select(0, task), label) - 1
        sums = torch.zeros(self.n_workers, 2, dtype=p.dtype, device=p.device)
        agreement, compared = sums.index_add(0, worker, torch.stack([agreeing, others], -1)).unbind(-1)
        mean = agreeing.sum() / others.sum().clamp_min(1)
        skill = torch.where(compared > 0, agreement / compared.clamp_min(1), mean)
        weight = (1 - (1 - skill) / chance).clamp_min(_LEAST)
        own = 1 - (1 - share((p.argmax(-1) == consensus).to(p.dtype))) / chance
        network = own.clamp_min(_LEAST) * size.mean().sqrt()
        wrong = (1 - most_likely) / (n_classes - 1)
        of_labels = weight.index_select(0, worker).unsqueeze(-1) * (wrong + (most_likely - wrong) * given)
        q = (network * p).index_add(0, task, of_labels)
        self.q.copy_(q / q.sum(-1, keepdim=True))
        self.worker_weight.copy_(weight)

    def recovered(self) -> Recovered:
        """w_r, and the ensemble of the training tasks."""
        return {"worker_weight": self.worker_weight, "q": self.q}
