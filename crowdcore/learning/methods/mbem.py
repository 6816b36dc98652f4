"""MBEM: rounds of training, confusions from what the network predicts, and a new posterior."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crowdcore.core.settings import Settings
from crowdcore.learning.base import EpochContext, Network, Recovered
from crowdcore.learning.method_settings import MbemSettings
from crowdcore.learning.networks.ops import expected_counts, posterior
from crowdcore.learning.networks.targets import ExpectationMaximisation
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


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
