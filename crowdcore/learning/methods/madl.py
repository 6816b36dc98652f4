"""Confusions that depend on worker and task: MaDL, and Annot-Mix, which mixes tasks, workers and labels."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import MadlSettings, TaskConfusionSettings
from crowdcore.learning.networks.layers import Linear, Random
from crowdcore.learning.networks.ops import at_label, centre_and_scale, gather_rows, log_softmax
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.inputs import refuse_words
from crowdcore.learning.training.problem import Problem

_CONFUSION_HIDDEN = 64


class TaskConfusion(nn.Module):
    """``π_i^r[c] = softmax(η̂ e_c + O_c h)``, ``h = relu(e_r + H relu(G [e_r, v_i, e_r ⊙ v_i]))``, ``v_i = V x_i``.

    η̂ is the logit at which a label is right with probability η; at the start O is 0, so that all confusions are that.
    Features are centred and scaled as for ω.

    Args:
        problem: its input shape and number of workers.
        size: of the embeddings e_r and v_i.
        right: η.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, problem: Problem, size: int, right: float) -> None:
        super().__init__()
        refuse_words(problem.dataset, "This method")
        n_classes = problem.n_classes
        if right * n_classes <= 1:
            raise SettingError("right", f"be above 1 / {n_classes}, a guess among {n_classes} classes", right)
        for name, value in zip(("centre", "scale"), centre_and_scale(problem), strict=True):
            self.register_buffer(name, value, persistent=False)
        self.worker = nn.Parameter(torch.randn(problem.n_workers, size) / math.sqrt(size))
        self.task = Linear(math.prod(problem.input_shape), size)
        self.inner, self.outer = Linear(3 * size, _CONFUSION_HIDDEN), Linear(_CONFUSION_HIDDEN, size)
        self.output = nn.Parameter(torch.zeros(size, n_classes, n_classes))
        self.bias = nn.Parameter(math.log(right * (n_classes - 1) / (1 - right)) * torch.eye(n_classes))

    def task_embedding(self, features: Tensor) -> Tensor:
        """v, (B, *input shape) -> (B, size)."""
        v: Tensor = self.task((features.flatten(1) - self.centre) * self.scale)
        return v

    def forward(self, worker: Tensor, task: Tensor) -> Tensor:
        """log π from embeddings (A, size) of workers and of tasks -> (A, C, C)."""
        inner = torch.relu(self.inner(torch.cat([worker, task, worker * task], -1)))
        h = torch.relu(worker + self.outer(inner))
        return log_softmax(self.bias + torch.einsum("aq,qcl->acl", h, self.output))

    def typical(self) -> Tensor:
        """(R, C, C) confusions on a task with mean features."""
        log_confusion: Tensor = self(self.worker, self.task.bias.expand(len(self.worker), -1))
        return log_confusion.exp()


_ALPHA, _BETA = 1.25, 0.25  # of the bandwidth's Gamma prior, whose mode is 1


class Madl(CrowdMethod):
    """``-mean w_r log Σ_c p_i(c) π_i^r[c, y_i^r] - log Gamma(γ | 1.25, 0.25)`` with confusions of worker and task.

    Worker weights ``w_r ∝ 1 / Σ_s exp(-γ ‖e_r - e_s‖²)``, scaled to sum R, from the embeddings of `TaskConfusion`,
    which get no gradient from them (eq. 21-26). The full variant of the paper; a task's embedding is a linear map of
    its features, and the product of both embeddings is taken by element. The weights take memory R².
    """

    name: ClassVar[str] = "madl"
    title: ClassVar[str] = "Multi-annotator deep learning (MaDL)"
    paper: ClassVar[str] = "Herde, Huseljic, Sick: Multi-annotator Deep Learning, TMLR 2023"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "worker_weight")
    Settings: ClassVar[type[Settings]] = MadlSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.confusion = TaskConfusion(problem, settings.embedding, settings.right)
        self.bandwidth = nn.Parameter(torch.tensor((_ALPHA - 1) / _BETA))

    def worker_weight(self) -> Tensor:
        """(R,) w."""
        e = self.confusion.worker.detach()
        square = e.square().sum(-1)
        distance = (square.unsqueeze(1) + square - 2 * e @ e.T).clamp_min(0)
        w = 1 / torch.exp(-self.bandwidth.clamp_min(1e-3) * distance).sum(-1)
        return self.n_workers * w / w.sum()

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Weighted cross-entropy of the labels, and the prior of the bandwidth."""
        log_p, v = gather_rows(batch.row, self.log_probs(batch.features), self.confusion.task_embedding(batch.features))
        (e,) = gather_rows(batch.worker, self.confusion.worker)
        log_label = torch.logsumexp(log_p.unsqueeze(-1) + self.confusion(e, v), -2)
        given = at_label(log_label, batch.label)
        (weight,) = gather_rows(batch.worker, self.worker_weight().unsqueeze(-1))
        gamma = self.bandwidth.clamp_min(1e-3)
        prior = _ALPHA * math.log(_BETA) - math.lgamma(_ALPHA) + (_ALPHA - 1) * gamma.log() - _BETA * gamma
        return {"cross_entropy": -batch.mean(weight.squeeze(-1) * given), "bandwidth": -prior}

    def recovered(self) -> Recovered:
        """Confusions on a task with mean features, and the workers' weights."""
        return {"worker_confusion": self.confusion.typical(), "worker_weight": self.worker_weight()}


class AnnotMix(CrowdMethod):
    """``-mean [λ log u[y_a] + (1 - λ) log u[y_b]]`` over annotations a, each with a random partner b of its batch.

    ``u = Σ_c p(c) π[c]`` of the mixed input ``λ x_a + (1 - λ) x_b`` and the mixed worker embedding ``λ e_a + (1 - λ)
    e_b``; confusions as `TaskConfusion` has them, whose task embedding is a linear map of the input. λ is uniform
    in [0, 1], the paper's Beta(α, α) at its default α = 1, drawn for each pair. Losses in evaluation mode are without
    mixing (λ = 1).
    """

    name: ClassVar[str] = "annot-mix"
    title: ClassVar[str] = "Annot-Mix"
    paper: ClassVar[str] = "Herde, Lührs, Huseljic, Sick: Annot-Mix, ECAI 2024"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = TaskConfusionSettings

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.confusion = TaskConfusion(problem, settings.embedding, settings.right)
        self.random = Random()

    def log_labels(self, x: Tensor, e: Tensor) -> Tensor:
        """log u from inputs (A, *input shape) and worker embeddings (A, size) -> (A, C)."""
        log_p = self.log_probs(x)
        return torch.logsumexp(log_p.unsqueeze(-1) + self.confusion(e, self.confusion.task_embedding(x)), -2)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, mixed while training."""
        (e,) = gather_rows(batch.worker, self.confusion.worker)
        x = batch.features.index_select(0, batch.row)
        if not self.training:
            return {"cross_entropy": -batch.mean(at_label(self.log_labels(x, e), batch.label))}
        order, share = self.random.uniform_rows(len(batch.row), 2).to(e.dtype).unbind(-1)
        partner = (order + 2 * (1 - batch.weight)).argsort()  # padding, which is last, has padding for partners
        mixed = share.view(-1, *[1] * (x.dim() - 1))
        x = mixed * x + (1 - mixed) * x.index_select(0, partner)
        e = share.unsqueeze(-1) * e + (1 - share.unsqueeze(-1)) * e.index_select(0, partner)
        log_u = self.log_labels(x, e)
        own, of_partner = at_label(log_u, batch.label), at_label(log_u, batch.label.index_select(0, partner))
        return {"cross_entropy": -batch.mean(share * own + (1 - share) * of_partner)}

    def recovered(self) -> Recovered:
        """Confusions on a task with mean features."""
        return {"worker_confusion": self.confusion.typical()}
