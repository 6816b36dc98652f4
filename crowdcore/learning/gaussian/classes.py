"""Gaussian classes with one covariance, from soft labels, out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Blocks", "Classes", "fit_classes"]

_RARE = 1e-2  # weight that every class has at least


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
        """(n, D) -> (n, C)."""
        return x @ self.weights - self.offsets


def fit_classes(sums: Tensor, masses: Tensor, second: Tensor, shrinkage: float) -> Classes:
    """Means and shared covariance from sufficient statistics.

    Args:
        sums: (C, D) Σ_i q_i(c) x_i.
        masses: (C,) Σ_i q_i(c).
        second: (D, D) Σ_i x_i x_iᵀ.
        shrinkage: towards the mean of the diagonal: ``Σ ← (1 - s) Σ + s · mean(diag Σ) I``.
    """
    masses = masses + _RARE
    mean = sums / masses.unsqueeze(1)
    covariance = (second - (mean.T * masses) @ mean) / masses.sum()
    ridge = shrinkage * covariance.diagonal().mean().clamp_min(1e-12)
    covariance = (1 - shrinkage) * covariance
    covariance.diagonal().add_(ridge)
    weights = torch.cholesky_solve(mean.T, torch.linalg.cholesky(covariance))
    return Classes(weights, (mean.T * weights).sum(0) / 2)


class Blocks:
    """Tasks in random blocks, whose second moments are known: any union of them is fitted without looking at it again.

    Soft labels sum to 1, so second moments do not depend on them: a round costs O(n D C), not O(n D²).

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
        self.second = torch.stack([(part := x[self.block == b]).T @ part for b in range(self.n_blocks)])

    def fit(self, q: Tensor, shrinkage: float) -> Classes:
        """Classes of all tasks, from soft labels (n, C)."""
        return fit_classes(q.T @ self.x, q.sum(0), self.second.sum(0), shrinkage)

    def out_of_fold(self, q: Tensor, shrinkage: float, n_folds: int, shuffle: torch.Generator) -> Tensor:
        """(n, C) scores of every task by classes fitted without its fold; folds are random unions of blocks."""
        n_folds = min(n_folds, self.n_blocks)
        fold_of_block = (torch.randperm(self.n_blocks, generator=shuffle) % n_folds).to(self.x.device)
        fold = fold_of_block[self.block]
        rows = [torch.nonzero(fold == f).squeeze(1) for f in range(n_folds)]
        sums = torch.stack([q[r].T @ self.x[r] for r in rows])
        masses = torch.stack([q[r].sum(0) for r in rows])
        second = torch.stack([self.second[fold_of_block == f].sum(0) for f in range(n_folds)])
        scores = torch.empty_like(q)
        for f, r in enumerate(rows):
            others = [part.sum(0) - part[f] for part in (sums, masses, second)]
            scores[r] = fit_classes(others[0], others[1], others[2], shrinkage).scores(self.x[r])
        return scores
