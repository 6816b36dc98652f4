"""Trace regularisation: stochastic confusions, pushed to be as unreliable as the labels allow."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered, swept
from crowdcore.learning.data import Batch
from crowdcore.learning.likelihood import given_label, take
from crowdcore.learning.problem import Problem

__all__ = ["Trace", "TraceSettings"]


class TraceSettings(Settings):
    """Settings of trace regularisation."""

    strength: float = Field(
        0.01,
        ge=0,
        description="λ of the sum of traces (Tanno 2019, eq. 4); 0 = without regularisation.",
        json_schema_extra=swept,
    )


class Trace(CrowdMethod):
    """``-mean_i Σ_r log (p_i π^r)[y_i^r] + λ Σ_r tr(π^r)`` with stochastic π^r; the mean is over a batch's tasks.

    ``π^r ∝ softplus(V^r)`` along rows, V = 6 I - 5 at the start (0.966 on the diagonal for ten classes); the paper's
    A^r is the transpose of π^r.
    """

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "Trace regularisation"
    paper: ClassVar[str] = "Tanno et al.: Learning from Noisy Labels by Regularized Estimation, CVPR 2019"
    Settings: ClassVar[type[Settings]] = TraceSettings

    strength: Tensor

    def __init__(self, problem: Problem, settings: TraceSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("strength", settings.strength)
        self.logits = nn.Parameter((6 * torch.eye(self.n_classes) - 5).repeat(self.n_workers, 1, 1))

    def confusion(self) -> Tensor:
        """(R, C, C)."""
        positive = functional.softplus(self.logits)
        return positive / positive.sum(-1, keepdim=True)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Eq. 4."""
        confusion = self.confusion()
        of_tasks = self.log_probs(batch.features).exp()
        (p,) = take(batch.row, of_tasks)
        explained = (p * given_label(confusion, batch.worker, batch.label)).sum(-1).clamp_min(1e-30)
        return {
            "cross_entropy": -(batch.weight * explained.log()).sum() / of_tasks.shape[-2],
            "trace": self.strength * confusion.diagonal(dim1=-2, dim2=-1).sum(),
        }

    def recovered(self) -> Recovered:
        """π^r of every worker."""
        return {"worker_confusion": self.confusion()}
