"""Noise adaptation layers: one matrix per worker on top of the classifier, dense or of low rank."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from crowdcore.learning.networks.ops import worker_product


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
        """Make ``softmax(W^r[c])`` these confusions, (R, C, C), or the nearest that the rank allows."""
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
