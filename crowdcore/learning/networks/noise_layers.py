"""Noise adaptation layers: a matrix or a softmax head per worker on top of the classifier, and their starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.types import FloatArray
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.networks.ops import gather_rows, given_label, log_label, log_softmax, take_rows, worker_product
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem

_POOLED = 1.0  # annotations per row that the pooled confusion counts for
_SMALLEST = 1e-3  # least entry of a start, so that gradients reach it


class WorkerMatrices(nn.Module):
    """``W^r`` for R workers; logits are ``p W^r`` (row = true class), ``scale·I`` at the start.

    With a rank k, ``W^r = scale·I + U^r V^r``, U^r (C, k) from 0 and V^r (k, C) random: R·2Ck numbers and gradients
    instead of R·C².

    Args:
        n_workers: R.
        n_classes: C.
        scale: of the identity at the start.
        rank: k, or None for dense matrices.
    """

    def __init__(self, n_workers: int, n_classes: int, scale: float, rank: int | None = None) -> None:
        super().__init__()
        self.n_classes, self.scale, self.rank = n_classes, scale, rank
        if rank is None:
            self.weight = nn.Parameter(scale * torch.eye(n_classes).repeat(n_workers, 1, 1))
        else:
            self.left = nn.Parameter(torch.zeros(n_workers, n_classes, rank))
            self.right = nn.Parameter(torch.randn(n_workers, rank, n_classes) / n_classes**0.5)

    def forward(self, p: Tensor, worker: Tensor) -> Tensor:
        """(A, C) class probabilities, (A,) workers -> (A, C) logits of the labels."""
        if self.rank is None:
            return worker_product(p, self.weight, worker)
        return self.scale * p + worker_product(worker_product(p, self.left, worker), self.right, worker)

    def matrices(self) -> Tensor:
        """(R, C, C) all of them."""
        if self.rank is None:
            return self.weight
        eye = torch.eye(self.n_classes, dtype=self.left.dtype, device=self.left.device)
        matrices: Tensor = self.scale * eye + self.left @ self.right
        return matrices

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set matrices with ``softmax(W^r[c])`` these confusions, (R, C, C), or the nearest that the rank allows."""
        logits = confusion.log()
        if self.rank is None:
            self.weight.copy_(logits)
            return
        u, s, v = torch.linalg.svd(logits - self.scale * torch.eye(self.n_classes))
        self.left.copy_(u[..., : self.rank] * s[..., None, : self.rank])
        self.right.copy_(v[:, : self.rank])

    def distances(self, common: Tensor) -> Tensor:
        """``‖W^g - W^r‖`` (Frobenius), (C, C) -> (R,); no (R, C, C) array when the rank is low."""
        if self.rank is None:
            full: Tensor = torch.linalg.vector_norm(self.weight - common, dim=(-2, -1))
            return full
        eye = torch.eye(self.n_classes, dtype=common.dtype, device=common.device)
        shifted = common - self.scale * eye
        # One product of two dimensions: a broadcast one would have a gradient of (R, C, C) on its way back.
        along = (self.right.flatten(0, 1) @ shifted.transpose(-2, -1)).view_as(self.right)
        cross = (along.transpose(-2, -1) * self.left).sum((-2, -1))
        gram = (self.left.transpose(-2, -1) @ self.left) * (self.right @ self.right.transpose(-2, -1))
        squared = shifted.square().sum() - 2 * cross + gram.sum((-2, -1))
        return squared.clamp_min(1e-12).sqrt()


def counted_confusion(problem: Problem, aggregator: str) -> FloatArray:
    """(R, C, C) confusions under an aggregator's posterior of the training tasks, shrunk to the pooled one.

    ``π^r[c, l] ∝ n^r_cl + κ π̄[c, l]`` with expected counts n and κ = 1, so that workers with few labels start like
    the crowd; entries are at least 0.001 before rows are scaled to sum 1.
    """
    n, n_workers, n_classes = problem.n_train_annotations, problem.n_workers, problem.n_classes
    q = problem.votes(aggregator)[problem.task[:n]]
    given = np.zeros((n_workers * n_classes, n_classes))
    np.add.at(given, problem.worker[:n] * n_classes + problem.label[:n], q)
    counts = given.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
    pooled = counts.sum(0) + np.eye(n_classes) / n_classes
    pooled /= pooled.sum(1, keepdims=True)
    confusion = np.maximum((counts + _POOLED * pooled) / (counts.sum(2, keepdims=True) + _POOLED), _SMALLEST)
    return np.asarray(confusion / confusion.sum(2, keepdims=True))


def split_confusion(confusion: Tensor) -> tuple[Tensor, Tensor]:
    """Common (C, C) and individual (R, C, C) confusions whose equal mixture comes nearest to ``confusion`` (R, C, C).

    The common one is the mean over workers; its share is subtracted from each worker's own.
    """
    common = confusion.mean(0)
    own = (2 * confusion - common).clamp_min(_SMALLEST)
    return common, own / own.sum(-1, keepdim=True)


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
        """Set V^r so that π^r is this."""
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


class WorkerHeads(nn.Module):
    """A network whose last layer has R·C outputs: a softmax head for each worker.

    Predictions mix the heads of the workers who are ``present``: the others' learn nothing.

    Args:
        network: makes it.
        n_classes: C.
        n_workers: R.
        weighted: mix by learnt weights ``w = softmax(weight)`` over those who are present, else evenly.
    """

    present: Tensor
    """(R,) 1, or 0 for a worker without training labels; all 1 at first."""

    def __init__(self, network: Network, n_classes: int, n_workers: int, weighted: bool = False) -> None:
        super().__init__()
        self.shape = (n_workers, n_classes)
        self.network = network(n_workers * n_classes)
        self.register_buffer("present", torch.ones(n_workers))
        if weighted:
            self.weight = nn.Parameter(torch.zeros(n_workers))
        else:
            self.register_buffer("weight", torch.zeros(n_workers), persistent=False)

    def logits(self, features: Tensor) -> Tensor:
        """Of every head, (B, *input shape) -> (B, R, C)."""
        logits: Tensor = self.network(features).unflatten(-1, self.shape)
        return logits

    def forward(self, features: Tensor) -> Tensor:
        """log of the mixture, (B, *input shape) -> (B, C)."""
        log_p = log_softmax(self.logits(features))
        return torch.logsumexp(log_p + self.log_weight.unsqueeze(-1), -2)

    @property
    def log_weight(self) -> Tensor:
        """(R,) log w, -inf for those who are not present."""
        return log_softmax(self.weight + self.present.log())

    def own_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """``-mean log p_i^r(y_i^r)``: every head learns its own worker's labels; from `logits`."""
        n_workers, n_classes = self.shape
        own = take_rows(logits.reshape(-1, n_classes), batch.row * n_workers + batch.worker)
        return -batch.mean(log_label(own, batch.label))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        state_dict.setdefault(f"{prefix}present", self.present)  # results kept when all heads counted
        super()._load_from_state_dict(state_dict, prefix, *args)
