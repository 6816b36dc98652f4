"""CoNAL: every label comes from a confusion that all workers share, or from the worker's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered, swept
from crowdcore.learning.data import Batch
from crowdcore.learning.likelihood import log_label, log_softmax, take
from crowdcore.learning.noise_layers import WorkerMatrices
from crowdcore.learning.omega import OmegaNetwork
from crowdcore.learning.problem import Problem

__all__ = ["Conal", "ConalSettings"]


class ConalSettings(Settings):
    """Settings of CoNAL."""

    variant: Literal["paper", "authors"] = Field(
        "paper",
        description="The paper's mixture of two softmax layers, or the authors' code: one softmax of the mixture, a "
        "two-layer map for the tasks, a fresh optimiser every epoch.",
    )
    regularisation: float = Field(
        1e-5,
        ge=0,
        description="λ of the distances between common and individual matrices (Table 2).",
        json_schema_extra=swept,
    )
    embedding: int = Field(20, ge=1, description="Dimension of the embeddings of tasks and workers (20 to 80).")
    omega_input: Literal["features", "task"] = Field(
        "features", description="ω sees the task's features, or a free vector learnt for every training task."
    )
    normalise: Literal["both", "worker"] = Field(
        "both", description="Embeddings scaled to length 1: both (paper), or the worker's only (authors, Music)."
    )
    initial_scale: float = Field(2.0, gt=0, description="All matrices start as this times the identity.")
    rank: int | None = Field(
        None, ge=1, description="Individual matrices scale·I + U V of this rank, for very many workers."
    )


class Conal(CrowdMethod):
    """``p(y|i,r) = ω_i^r softmax(p_i W^g)[y] + (1 - ω_i^r) softmax(p_i W^r)[y]``.

    Loss ``-mean log p(y_i^r|i,r) - λ Σ_r ‖W^g - W^r‖₂``, ``ω_i^r = σ(u_r · v_i)`` (eq. 3). ``variant="authors"`` takes
    ``softmax(ω p W^g + (1 - ω) p W^r)`` instead. Confusions are ``π[c] = softmax(W[c])`` (appendix C).
    """

    name: ClassVar[str] = "conal"
    title: ClassVar[str] = "Common noise adaptation layers (CoNAL)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"
    Settings: ClassVar[type[Settings]] = ConalSettings

    regularisation: Tensor

    @classmethod
    def training_defaults(cls, settings: ConalSettings) -> Mapping[str, Any]:
        """Step size 0.005, the paper's smallest; the authors' code: 0.01, batches of 1024, a fresh Adam an epoch."""
        if settings.variant == "paper":
            return {"lr": 5e-3}
        return {"batch_size": 1024, "lr": 1e-2, "restart_optimizer": True}

    def __init__(self, problem: Problem, settings: ConalSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.one_softmax = settings.variant == "authors"
        self.keep("regularisation", settings.regularisation)
        self.common = nn.Parameter(settings.initial_scale * torch.eye(self.n_classes))
        self.individual = WorkerMatrices(self.n_workers, self.n_classes, settings.initial_scale, settings.rank)
        source = "two-layer" if self.one_softmax and settings.omega_input == "features" else settings.omega_input
        self.omega_network = OmegaNetwork(problem, settings.embedding, source, settings.normalise)

    def log_likelihood(self, batch: Batch) -> Tensor:
        """(A,) log p(y_i^r|i,r)."""
        p = self.log_probs(batch.features).exp()
        common = p @ self.common
        if not self.one_softmax:
            common = log_softmax(common)
        p, common, v = take(batch.row, p, common, self.omega_network.task_embedding(batch))
        own = self.individual(p, batch.worker)
        t = self.omega_network(v, batch.worker)
        if self.one_softmax:
            return log_label(own + torch.sigmoid(t).unsqueeze(-1) * (common - own), batch.label)
        shared = common.gather(-1, batch.label.unsqueeze(-1)).squeeze(-1)
        return torch.logaddexp(logsigmoid(t) + shared, logsigmoid(-t) + log_label(own, batch.label))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Mean cross-entropy, minus the distances."""
        return {
            "cross_entropy": -batch.mean(self.log_likelihood(batch)),
            "distance": -self.regularisation * self.individual.distances(self.common).sum(),
        }

    def omega(self, batch: Batch) -> Tensor:
        """ω of every annotation."""
        (v,) = take(batch.row, self.omega_network.task_embedding(batch))
        return torch.sigmoid(self.omega_network(v, batch.worker))

    def recovered(self) -> Recovered:
        """Both kinds of confusion."""
        return {
            "common_confusion": torch.softmax(self.common, -1),
            "worker_confusion": torch.softmax(self.individual.matrices(), -1),
        }
