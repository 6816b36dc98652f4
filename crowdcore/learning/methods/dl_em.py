"""DL-EM (AggNet): the network learns from the posterior that EM infers with it."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.learning.base import EpochContext, Network
from crowdcore.learning.method_settings import DlEmSettings
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
