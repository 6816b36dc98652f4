"""Stochastic confusions that a penalty makes identifiable: of their trace, or of a volume (GeoCrowdNet, COINNet)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import CoinNetSettings, GeoCrowdNetSettings, SingleCmSettings, TraceSettings
from crowdcore.learning.networks.noise_layers import WorkerModel
from crowdcore.learning.networks.ops import at_label, gather_rows, worker_product
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
        return {
            "cross_entropy": -batch.mean(at_label(given, batch.label).clamp_min(1e-30).log()),
            "trace": self.strength * confusion.diagonal(dim1=-2, dim2=-1).sum(),
        }

    def recovered(self) -> Recovered:
        """π, shared by all workers."""
        return {"common_confusion": self.confusion()}


class Trace(WorkerModel):
    """``-mean_i Σ_r log (p_i π^r)[y_i^r] + λ Σ_r tr(π^r)`` with stochastic π^r; the mean is over a batch's tasks.

    ``π^r ∝ softplus(V^r)`` as in `WorkerModel`; the paper's A^r is the transpose of π^r.
    """

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "Trace regularisation"
    paper: ClassVar[str] = "Tanno et al.: Learning from Noisy Labels by Regularized Estimation, CVPR 2019"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = TraceSettings


_RIDGE = 1e-4  # keeps the volume of fewer rows than classes, and its gradient, finite


def log_volume(gram: Tensor) -> Tensor:
    """``log det(G + ε I)`` of a mean of outer products, (C, C) -> scalar; ε = 1e-4."""
    return torch.logdet(gram + _RIDGE * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))


def refuse_small_batches(problem: Problem) -> None:
    """Refuse batches of fewer tasks than classes, whose predictions have the volume 0 whatever they are.

    Raises:
        SettingError: batches hold fewer tasks than there are classes.
    """
    size, least = problem.training.batch_size, problem.n_classes
    if size < least:
        must = f"be at least {least}, a task for every class, as the volume is that of a batch's predictions"
        raise SettingError("batch_size", must, size)


class GeoCrowdNet(WorkerModel):
    """``-mean log (p_i π^r)[y_i^r] - λ log det(V + ε I)`` with stochastic π^r, means over annotations.

    F: ``V = mean_i p_iᵀ p_i`` over a batch's tasks (a last batch with fewer tasks than classes would have volume 0: ε =
    1e-4 keeps it finite); the paper's sum over tasks differs by a constant. W: ``V = Σ_r π^r π^rᵀ / R``, the same
    whatever the batch. ``π^r ∝ softplus(V^r)`` as in `WorkerModel`.
    """

    name: ClassVar[str] = "geocrowdnet"
    title: ClassVar[str] = "GeoCrowdNet"
    paper: ClassVar[str] = (
        "Ibrahim, Nguyen, Fu: Deep Learning From Crowdsourced Labels: Coupled Cross-Entropy Minimization, "
        "Identifiability, and Regularization, ICLR 2023"
    )
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = GeoCrowdNetSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.volume = settings.volume
        if settings.volume == "f" and settings.strength:
            refuse_small_batches(problem)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, minus the volume."""
        p, confusion = self.log_probs(batch.features).exp(), self.confusion()
        gram = p.T @ p / len(p) if self.volume == "f" else (confusion @ confusion.transpose(1, 2)).mean(0)
        return {
            "cross_entropy": -batch.mean(self.log_likelihood(p, confusion, batch)),
            "volume": -self.strength * log_volume(gram),
        }


_LEAST = 1e-10


class CoinNet(WorkerModel):
    """``-mean log u_i^r[y_i^r] - λ log det(V + ε I) + μ mean_i (Σ_r ‖e_i^r‖² + ζ)^{p/2}``, p = 0.4, ζ = 1e-10.

    ``u_i^r ∝ clamp(p_i π^r + e_i^r)`` with a free vector e of sum 0 for every training annotation, 0 at the start: the
    few tasks where it is not small are outliers. V and ε as in GeoCrowdNet (F). The vectors are as many as the
    annotations, and learn as the classifier does.
    """

    name: ClassVar[str] = "coinnet"
    title: ClassVar[str] = "COINNet"
    paper: ClassVar[str] = "Nguyen, Ibrahim, Fu: Noisy Label Learning with Instance-Dependent Outliers, NeurIPS 2024"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "difficulty")
    Settings: ClassVar[type[Settings]] = CoinNetSettings

    sparsity: Tensor
    offset: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("sparsity", settings.sparsity)
        if settings.strength:
            refuse_small_batches(problem)
        first = np.searchsorted(problem.task, np.arange(problem.n_train))
        self.register_buffer("offset", torch.from_numpy(first), persistent=False)
        self.outlier = nn.Parameter(torch.zeros(problem.n_train_annotations, self.n_classes))

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """Outliers learn as the classifier does."""
        return 1.0 if parameter == "outlier" else super().rate(settings, parameter)

    def outliers(self, batch: Batch) -> Tensor:
        """(A, C) e of the batch's annotations, which are in the order of the training set within each task."""
        size = torch.zeros_like(batch.task).index_add(0, batch.row, batch.weight.to(batch.task.dtype))
        first = self.offset.index_select(0, batch.task) - (size.cumsum(0) - size)
        entry = first.index_select(0, batch.row) + torch.arange(len(batch.row), device=batch.row.device)
        (e,) = gather_rows(entry.clamp(0, len(self.outlier) - 1), self.outlier)
        return e - e.mean(-1, keepdim=True)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, volume, and how many tasks have outliers."""
        p, e = self.log_probs(batch.features).exp(), self.outliers(batch)
        (of_task,) = gather_rows(batch.row, p)
        u = (worker_product(of_task, self.confusion(), batch.worker) + e).clamp(_LEAST, 1 - _LEAST)
        given = at_label(u, batch.label)
        energy = torch.zeros_like(p[:, 0]).index_add(0, batch.row, batch.weight * e.square().sum(-1))
        return {
            "cross_entropy": -batch.mean(given.log() - u.sum(-1).log()),
            "volume": -self.strength * log_volume(p.T @ p / len(p)),
            "outliers": self.sparsity * (energy + _LEAST).pow(0.2).mean(),
        }

    def recovered(self) -> Recovered:
        """Confusions; a task's difficulty is the size of its outliers, in [0, ∞)."""
        owner = torch.zeros(len(self.outlier), dtype=torch.int64, device=self.outlier.device)
        owner = owner.index_add(0, self.offset[1:], torch.ones_like(self.offset[1:])).cumsum(0)
        e = self.outlier - self.outlier.mean(-1, keepdim=True)
        energy = torch.zeros(len(self.offset), dtype=e.dtype, device=e.device)
        return {**super().recovered(), "difficulty": energy.index_add(0, owner, e.square().sum(-1)).sqrt()}
