"""Max-MIG: a classifier and an aggregator of the labels that share as much information as they can."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import MaxMigSettings
from crowdcore.learning.networks.ops import log_evidence, log_softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class MaxMig(CrowdMethod):
    """``-(1 + mean_i log K_ii) + mean_{i≠j} K_ij`` with ``K_ij = Σ_c p_i(c) g_j(c) / ρ_c`` over a batch's tasks.

    The aggregator is ``g_j = softmax(b + Σ_r W^r[:, y_j^r])`` over the labels that task j has, b = log ρ at the start.
    Minus the loss is a lower bound of the mutual information of classifier and aggregator, in nats, of which the
    second mean is estimated within a batch: its expectation is the same for every batch size, its variance is not. A
    last batch of one task has no second mean. Where workers err independently, ``W^r = log π^r`` is best (Theorem 3.4),
    so that ``softmax(W^r[c])`` is shown as the confusion.
    """

    name: ClassVar[str] = "max-mig"
    title: ClassVar[str] = "Max-MIG"
    paper: ClassVar[str] = "Cao, Xu, Kong, Wang: Max-MIG: an Information Theoretic Approach, ICLR 2019"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = MaxMigSettings

    log_prior: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        if problem.training.batch_size < 2:
            raise SettingError("batch_size", "be at least 2, as tasks of a batch are compared with each other", 1)
        prior = torch.full((self.n_classes,), 1 / self.n_classes)
        if settings.prior == "votes":
            prior = torch.from_numpy(problem.votes().mean(0)).float().clamp_min(1e-3)
            prior = prior / prior.sum()
        self.register_buffer("log_prior", prior.log())
        self.bias = nn.Parameter(prior.log())
        self.weight = nn.Parameter(torch.eye(self.n_classes).repeat(self.n_workers, 1, 1))

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """W^r = log π^r."""
        self.weight.copy_(confusion.log())

    def log_aggregate(self, batch: Batch) -> Tensor:
        """(B, C) log g of the batch's tasks."""
        n = len(batch.features)
        evidence = log_evidence(self.weight, batch.row, batch.worker, batch.label, n, batch.weight)
        return log_softmax(self.bias + evidence)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Terms of tasks with themselves and with others; ``Σ_ij K_ij`` needs no (B, B) array."""
        log_h = self.log_probs(batch.features) - self.log_prior
        log_g = self.log_aggregate(batch)
        same = torch.logsumexp(log_h + log_g, -1)
        n = len(log_g)
        every = (log_h.exp().sum(0) * log_g.exp().sum(0)).sum()
        return {"same_task": -1 - same.mean(), "other_tasks": (every - same.exp().sum()) / max(n * (n - 1), 1)}

    def recovered(self) -> Recovered:
        """Confusions by which the aggregator weighs labels."""
        return {"worker_confusion": torch.softmax(self.weight, -1)}
