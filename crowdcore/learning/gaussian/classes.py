"""Gaussian classes with one covariance, from soft labels, out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_RARE = 1e-2  # weight that every class has at least
_RIDGE = 1e-9  # shrinkage at least, so that collinear coordinates have an inverse
_UNUSED = 1e6  # offset of a class without any weight: its probability is 0
_CHUNK = 2048  # tasks at a time


@dataclass(frozen=True, eq=False)
class Classes:
    """Discriminants ``s_c(x) = xᵀ Σ⁻¹ μ_c - ½ μ_cᵀ Σ⁻¹ μ_c``.

    Args:
        weights: (D, C) Σ⁻¹ μ_c.
        offsets: (C,) ½ μ_cᵀ Σ⁻¹ μ_c.
    """

    weights: Tensor
    offsets: Tensor

    def scores(self, x: Tensor) -> Tensor:
        """(n, D) of any precision -> (n, C) in that of the classes."""
        return torch.cat([part.to(self.weights.dtype) @ self.weights - self.offsets for part in torch.split(x, _CHUNK)])


def fit_classes(sums: Tensor, masses: Tensor, second: Tensor, shrinkage: float) -> Classes:
    """Means and shared covariance from sufficient statistics, which may have leading axes in common.

    Args:
        sums: (C, D) Σ_i q_i(c) x_i.
        masses: (C,) Σ_i q_i(c).
        second: (D, D) Σ_i x_i x_iᵀ.
        shrinkage: towards the mean of the diagonal: ``Σ ← (1 - s) Σ + s · mean(diag Σ) I``.
    """
    masses = (masses + _RARE).unsqueeze(-1)
    mean = sums / masses
    covariance = (second - (mean * masses).mT @ mean) / masses.sum(-2, keepdim=True)
    average = covariance.diagonal(dim1=-2, dim2=-1).mean(-1, keepdim=True).clamp_min(1e-12)
    covariance *= 1 - shrinkage
    covariance.diagonal(dim1=-2, dim2=-1).add_(max(shrinkage, _RIDGE) * average)
    weights = torch.cholesky_solve(mean.mT, torch.linalg.cholesky(covariance))
    return Classes(weights, (mean.mT * weights).sum(-2) / 2)


class Blocks:
    """Tasks in random blocks, whose second moments are known: any union of them is fitted without looking at it again.

    Soft labels sum to 1, so second moments do not depend on them: a round costs O(n D C), not O(n D²). Statistics are
    float64 whatever the coordinates are, and sums over chunks: memory beside them does not depend on n D.

    Args:
        x: (n, D) coordinates.
        seed: of the blocks.
        n_blocks: number of blocks, of nearly equal size.
    """

    def __init__(self, x: Tensor, seed: int = 0, n_blocks: int = 20) -> None:
        self.x = x
        self.n_blocks = min(n_blocks, len(x))
        shuffled = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        self.block = (shuffled % self.n_blocks).to(x.device)
        self.second = torch.stack([self._sum(x, rows) for rows in _members(self.block, self.n_blocks)])
        self._known: dict[tuple[int, ...], tuple[list[Tensor] | None, Tensor]] = {}

    def fit(self, q: Tensor, shrinkage: float) -> Classes:
        """Classes of all tasks, from soft labels (n, C)."""
        everyone, masses = torch.arange(len(q), device=q.device), q.sum(0)
        return _of_used(fit_classes(self._sum(q, everyone), masses, self.second.sum(0), shrinkage), masses)

    def out_of_fold(self, q: Tensor, shrinkage: float, n_folds: int, shuffle: torch.Generator) -> Tensor:
        """(n, C) scores of every task by classes fitted without its fold; folds are random unions of blocks."""
        n_folds = min(n_folds, self.n_blocks)
        folds, second = self._folds(torch.randperm(self.n_blocks, generator=shuffle) % n_folds, n_folds)
        sums = torch.stack([self._sum(q, rows) for rows in folds])
        masses = torch.stack([q[rows].sum(0) for rows in folds])
        everything = masses.sum(0)
        without = fit_classes(sums.sum(0) - sums, everything - masses, second, shrinkage)
        without = _of_used(without, everything)
        scores = torch.empty_like(q)
        for rows, weights, offsets in zip(folds, without.weights, without.offsets, strict=True):
            for some in torch.split(rows, _CHUNK):
                scores[some] = self.x[some].to(weights.dtype) @ weights - offsets
        return scores

    def _folds(self, fold_of_block: Tensor, n_folds: int) -> tuple[list[Tensor], Tensor]:
        """Tasks of each fold, and (n_folds, D, D) second moments outside it: all fits with these folds share them."""
        key = tuple(fold_of_block.tolist())
        members, second = self._known.get(key, (None, None))
        if members is None or second is None:
            fold_of_block = fold_of_block.to(self.x.device)
            members = _members(fold_of_block[self.block], n_folds)
            if second is None:
                outside = (fold_of_block != torch.arange(n_folds, device=self.x.device).unsqueeze(1)).to(self.second)
                second = torch.einsum("fb,bde->fde", outside, self.second)
            self._known[key] = (members if len(self.x) <= _CHUNK else None, second)  # of many they are large
        return members, second

    def _sum(self, left: Tensor, rows: Tensor) -> Tensor:
        """``Σ_i left_i x_iᵀ`` over some tasks: (n, K), (m,) -> (K, D)."""
        parts = [left[some].double().T @ self.x[some].double() for some in torch.split(rows, _CHUNK)]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)


def _members(group: Tensor, n_groups: int) -> list[Tensor]:
    """Tasks of every group, ascending."""
    return [torch.nonzero(group == g).squeeze(1) for g in range(n_groups)]


def _of_used(classes: Classes, masses: Tensor) -> Classes:
    """Classes without any weight have no place in the space: no task is theirs."""
    return Classes(classes.weights, classes.offsets + _UNUSED * (masses == 0))
