"""One stochastic confusion per worker on top of the classifier: trace regularisation, and the first stage of others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.networks.likelihood import gather_rows, given_label
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class WorkerModel(CrowdMethod):
    """``-mean_i Σ_r log (p_i π^r)[y_i^r] + λ Σ_r tr(π^r)``; settings hold λ as ``strength``.

    ``π^r ∝ softplus(V^r)`` along rows, V = 6 I - 5 at the start (0.966 on the diagonal for ten classes).
    """

    strength: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("strength", settings.strength)
        self.logits = nn.Parameter((6 * torch.eye(self.n_classes) - 5).repeat(self.n_workers, 1, 1))

    def confusion(self) -> Tensor:
        """(R, C, C)."""
        positive = functional.softplus(self.logits)
        return positive / positive.sum(-1, keepdim=True)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """V^r at which π^r is this."""
        self.logits.copy_(torch.expm1(confusion).log())

    def log_likelihood(self, p: Tensor, confusion: Tensor, batch: Batch) -> Tensor:
        """(A,) ``log (p_i π^r)[y_i^r]`` from (B, C) and (R, C, C)."""
        (of_task,) = gather_rows(batch.row, p)
        return (of_task * given_label(confusion, batch.worker, batch.label)).sum(-1).clamp_min(1e-30).log()

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Tanno et al. 2019, eq. 4; the mean is over a batch's tasks."""
        p, confusion = self.log_probs(batch.features).exp(), self.confusion()
        return {
            "cross_entropy": -(batch.weight * self.log_likelihood(p, confusion, batch)).sum() / len(p),
            "trace": self.strength * confusion.diagonal(dim1=-2, dim2=-1).sum(),
        }

    def recovered(self) -> Recovered:
        """π^r of every worker."""
        return {"worker_confusion": self.confusion()}
