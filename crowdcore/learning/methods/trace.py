"""Stochastic confusions, as unreliable as the labels allow: one for all workers, or one each (trace regularisation)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import SingleCmSettings, TraceSettings
from crowdcore.learning.networks.noise_layers import WorkerModel
from crowdcore.learning.networks.ops import gather_rows
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class SingleCm(CrowdMethod):
    """``-mean log (p_i π)[y_i^r] + λ tr(π)`` with one stochastic π, ``π ∝ softplus(V)``, V = 6 I - 5 at the start."""

    name: ClassVar[str] = "single-cm"
    title: ClassVar[str] = "One confusion matrix for all workers"
    paper: ClassVar[str] = "Sukhbaatar et al.: Training Convolutional Networks with Noisy Labels, ICLR 2015"
    recovers: ClassVar[tuple[str, ...]] = ("common_confusion",)
    Settings: ClassVar[type[Settings]] = SingleCmSettings

    strength: Tensor

    def __init__(self, problem: Problem, settings: SingleCmSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("strength", settings.strength)
        self.logits = nn.Parameter(6 * torch.eye(self.n_classes) - 5)

    def confusion(self) -> Tensor:
        """(C, C)."""
        positive = functional.softplus(self.logits)
        return positive / positive.sum(-1, keepdim=True)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy after the noise layer, plus the trace."""
        confusion = self.confusion()
        explained = self.log_probs(batch.features).exp() @ confusion
        (given,) = gather_rows(batch.row, explained)
        picked = given.gather(-1, batch.label.unsqueeze(-1)).squeeze(-1)
        return {
            "cross_entropy": -batch.mean(picked.clamp_min(1e-30).log()),
            "trace": self.strength * confusion.diagonal(dim1=-2, dim2=-1).sum(),
        }

    def recovered(self) -> Recovered:
        """π, shared by all workers."""
        return {"common_confusion": self.confusion()}


class Trace(WorkerModel):
    """``-mean_i Σ_r log (p_i π^r)[y_i^r] + λ Σ_r tr(π^r)`` with stochastic π^r; the mean is over a batch's tasks.

    ``π^r ∝ softplus(V^r)`` along rows, V = 6 I - 5 at the start (0.966 on the diagonal for ten classes); the paper's
    A^r is the transpose of π^r.
    """

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "Trace regularisation"
    paper: ClassVar[str] = "Tanno et al.: Learning from Noisy Labels by Regularized Estimation, CVPR 2019"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = TraceSettings
