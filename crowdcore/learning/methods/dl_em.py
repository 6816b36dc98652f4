"""EM with the network as the prior: AggNet, generalised EM and MBEM."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crowdcore.core.settings import Settings
from crowdcore.learning.base import EpochContext, Network, Recovered
from crowdcore.learning.method_settings import DlEmSettings, MbemSettings
from crowdcore.learning.networks.ops import expected_counts, posterior
from crowdcore.learning.networks.targets import ExpectationMaximisation
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


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
        """EM over the training set, unless batches do it."""
        if not self.per_batch:
            super().start_epoch(context)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the posterior."""
        q = self._renew(batch) if self.per_batch else self.q.index_select(0, batch.task)
        return {"cross_entropy": self.target_loss(batch, lambda log_p: -(q * log_p).sum(-1))}

    def _renew(self, batch: Batch) -> Tensor:
        """The batch's posterior, (B, C); posterior and counts follow in place."""
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
        """A new posterior where a round begins."""
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

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the posterior."""
        q = self.q.index_select(0, batch.task)
        return {"cross_entropy": self.target_loss(batch, lambda log_p: -(q * log_p).sum(-1))}

    def recovered(self) -> Recovered:
        """The confusions and the posterior of the training tasks."""
        return {**super().recovered(), "q": self.q}
