"""The feature space in which classes are Gaussian (scales, kernel principal components), and those classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.errors import DataError

_EXACT = 1500  # training tasks up to which kernel principal components are exact, and landmarks beyond
_QUANTILES = 1000
_SAMPLE = 1000  # tasks that the median distance is measured on
_CHUNK = 4096  # tasks at a time
_JITTER = 1e-10  # on the diagonal of the kernel between landmarks, which is 1
_SAME = 1e-12  # part of the largest square below which a distance is 0
_NOISE = 1e-6  # part of the largest variance below which a component varies with the rounding of float32
_LARGEST = 1e36  # sum of squares that float32 can hold
_ZERO = 1e-5  # part of the largest feature that undoing the preparation may leave below zero
_NORMAL = 3.1  # standard deviations that a normal score is clipped at


class Space(nn.Module):
    """Map of prepared inputs to coordinates: a rule for scales, a kernel, and an affine map of its values.

    Non-negative features become their square roots, others the normal scores of their ranks, per column. Without
    landmarks there is no kernel, and the map is one of the rescaled features. A fresh module is empty: `fit_space`
    fills it, and a state that is loaded gives it its shapes.

    Attributes:
        mean, scale: undo the preparation of inputs.
        quantiles: (F, Q) of the columns; (0, 0) where roots are taken.
        landmarks: (L, F) rescaled features, or (0, 0).
        width: factor of squared distances in the kernel.
        projection: (L or F, D).
        offset: (D,).
    """

    mean: Tensor
    scale: Tensor
    quantiles: Tensor
    landmarks: Tensor
    width: Tensor
    projection: Tensor
    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("quantiles", "landmarks", "projection"):
            self.register_buffer(name, torch.zeros(0, 0))
        for name in ("mean", "width"):
            self.register_buffer(name, torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("offset", torch.zeros(0))

    def rescaled(self, x: Tensor) -> Tensor:
        """Features as they were before their preparation, then the rule for scales, (n, *input shape) -> (n, F)."""
        x = (x * self.scale + self.mean).flatten(1)
        n = self.quantiles.shape[1]
        if n == 0:
            return x.clamp_min(0).sqrt()
        columns = x.T.contiguous()
        above = torch.searchsorted(self.quantiles, columns).clamp(1, n - 1)
        low, high = self.quantiles.gather(1, above - 1), self.quantiles.gather(1, above)
        part = ((columns - low) / (high - low).clamp_min(1e-12)).clamp(0, 1)
        rank = (above - 1 + part) / (n - 1)
        scores: Tensor = torch.special.ndtri(rank.clamp(1e-6, 1 - 1e-6))
        return scores.clamp(-_NORMAL, _NORMAL).T

    def forward(self, x: Tensor, precision: torch.dtype = torch.float32) -> Tensor:
        """(n, *input shape) -> (n, D)."""
        x = self.rescaled(x).to(precision)
        values = self.kernel(x) if self.landmarks.shape[0] else x
        coordinates: Tensor = values @ self.projection.to(precision) - self.offset
        return coordinates

    def kernel(self, x: Tensor) -> Tensor:
        """``exp(-width · d²)`` of rescaled features and landmarks, (n, F) -> (n, L)."""
        landmarks = self.landmarks.to(x.dtype)
        centre = landmarks.mean(0)  # distances of numbers that are small lose no digits
        x, landmarks = x - centre, landmarks - centre
        squares = (x * x).sum(1, keepdim=True) + (landmarks * landmarks).sum(1)
        return torch.exp(-self.width * (squares - 2 * x @ landmarks.T).clamp_min(0))

    def then(self, weights: Tensor, offset: Tensor) -> Space:
        """``self(x) @ weights - offset`` as one module; (D, C), (C,)."""
        composed = Space()
        composed.load_state_dict(
            self.state_dict() | {"projection": self.projection @ weights, "offset": self.offset @ weights + offset}
        )
        return composed

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in dict(self.named_buffers()):
            if prefix + name in state_dict:
                setattr(self, name, torch.zeros_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def fit_space(
    train: Tensor, gamma: float, dimensions: int, seed: int, mean: Tensor | None = None, scale: Tensor | None = None
) -> Space:
    """Fit the space of some training tasks, on their device.

    Coordinates are principal components of ``exp(-γ d² / median d²)``, by Nyström's method beyond 1,500 tasks; with
    γ = 0 they are those of the features. All are divided by their common standard deviation.

    Args:
        train: (n, *input shape) prepared inputs, float32; a sample is enough.
        gamma: γ.
        dimensions: D at most.
        seed: of landmarks and samples.
        mean, scale: of the preparation, which may have to broadcast against an input.

    Raises:
        DataError: all tasks have the same features, or features are too large to be squared.
    """
    space = Space()
    if mean is not None and scale is not None:
        space.mean, space.scale = mean, scale
    space.to(train.device)
    rows = (train * space.scale + space.mean).flatten(1)
    if rows.min() < -_ZERO * rows.abs().max():
        space.quantiles = _quantiles(rows)
    x = space.rescaled(train)
    shuffled = torch.from_numpy(np.random.default_rng(seed).permutation(len(x))).to(x.device)
    distance, n_components = _median_distance(x[shuffled[:_SAMPLE]].double()), min(dimensions, len(x) - 1)
    if gamma == 0:
        root, values = None, x.double()
    else:
        space.width = torch.tensor(gamma / distance, dtype=torch.float32, device=x.device)
        space.landmarks = x[shuffled[:_EXACT].sort().values]
        between = space.kernel(space.landmarks.double())
        between.diagonal().add_(_JITTER)
        upper = torch.linalg.cholesky(between).mT
        root = torch.linalg.solve_triangular(upper, torch.eye(len(upper)).to(upper), upper=True)
        values = torch.cat([space.kernel(part.double()) @ root for part in torch.split(x, _CHUNK)])
    average = values.mean(0)
    axes = _principal_axes(values - average)[:, :n_components]
    space.projection = (axes if root is None else root @ axes).float()
    space.offset = (average @ axes).float()
    spread = space(train[:_SAMPLE], torch.float64).std().clamp_min(1e-12)
    space.projection /= spread
    space.offset /= spread
    return space


def _quantiles(rows: Tensor) -> Tensor:
    """(n, F) -> (F, Q) evenly spaced quantiles of the columns, between order statistics."""
    at = torch.linspace(0, len(rows) - 1, min(len(rows), _QUANTILES), dtype=torch.float64, device=rows.device)
    below = at.long()
    ordered = rows.sort(0).values
    low, high = ordered[below].double(), ordered[(below + 1).clamp_max(len(rows) - 1)].double()
    return torch.lerp(low, high, (at - below).unsqueeze(1)).T.float().contiguous()


def _median_distance(x: Tensor) -> float:
    """Median of the squared distances between rows that differ, (n, F).

    Raises:
        DataError: none differ, or they are too large.
    """
    x = x - x.mean(0)
    squares = (x * x).sum(1)
    if squares.max() > _LARGEST:
        raise DataError("The features are too large to compare tasks", "Divide them by their standard deviation.")
    distances = squares.unsqueeze(1) + squares - 2 * x @ x.T
    one, other = torch.triu_indices(len(x), len(x), 1, device=x.device)
    positive = distances[one, other]
    positive = positive[positive > _SAME * squares.max()]
    if not len(positive):
        raise DataError(
            "All training tasks have the same features",
            "Give features that differ between tasks, or aggregate the labels with crowdcore.aggregation instead.",
        )
    return float(positive.quantile(0.5))


def _principal_axes(centred: Tensor) -> Tensor:
    """Axes (P, D) along which rows (n, P) vary, the largest variance first."""
    if len(centred) < centred.shape[1]:
        _, deviation, right = torch.linalg.svd(centred, full_matrices=False)
        variance, axes = deviation.square().flip(0), right.mT.flip(1)
    else:
        variance, axes = torch.linalg.eigh(centred.T @ centred)
    axes = axes[:, variance > _NOISE * variance[-1]]
    return torch.flip(axes, (1,))


_RARE = 1e-2  # weight that every class has at least
_RIDGE = 1e-9  # shrinkage at least, so that collinear coordinates have an inverse
_UNUSED = 1e6  # offset of a class without any weight: its probability is 0
_AT_ONCE = 2048  # tasks at a time
_STABLE = 1e-2  # shrinkage from which a fold can be taken out of a known inverse without loss of digits


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
        return torch.cat(
            [part.to(self.weights.dtype) @ self.weights - self.offsets for part in torch.split(x, _AT_ONCE)]
        )


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
    """Tasks in random blocks with known second moments, so that any union of them is fitted without another pass.

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
        self._known: dict[tuple[int, ...], Tensor] = {}

    def fit(self, q: Tensor, shrinkage: float) -> Classes:
        """Classes of all tasks, from soft labels (n, C)."""
        everyone, masses = torch.arange(len(q), device=q.device), q.sum(0)
        return _of_used(fit_classes(self._sum(q, everyone), masses, self.second.sum(0), shrinkage), masses)

    def out_of_fold(self, q: Tensor, shrinkage: float, n_folds: int, shuffle: torch.Generator) -> Tensor:
        """(n, C) scores of every task by classes fitted without its fold; folds are random unions of blocks."""
        n_folds = min(n_folds, self.n_blocks)
        of_block = torch.randperm(self.n_blocks, generator=shuffle) % n_folds
        folds = _members(of_block.to(self.block.device)[self.block], n_folds)
        if shrinkage >= _STABLE and 2 * (len(q) / n_folds + q.shape[1]) < self.x.shape[1]:
            return self._out_of_small_fold(q, shrinkage, folds)
        second = self._outside(of_block, n_folds)
        sums = torch.stack([self._sum(q, rows) for rows in folds])
        masses = torch.stack([q[rows].sum(0) for rows in folds])
        everything = masses.sum(0)
        without = fit_classes(sums.sum(0) - sums, everything - masses, second, shrinkage)
        without = _of_used(without, everything)
        scores = torch.empty_like(q)
        for rows, weights, offsets in zip(folds, without.weights, without.offsets, strict=True):
            for some in torch.split(rows, _AT_ONCE):
                scores[some] = self.x[some].to(weights.dtype) @ weights - offsets
        return scores

    @cached_property
    def _principal_axes(self) -> tuple[Tensor, Tensor]:
        """(n, D) coordinates along the axes of their second moment, float64, and (D,) its diagonal there."""
        variance, axes = torch.linalg.eigh(self.second.sum(0))
        return self.x.double() @ axes, variance

    def _out_of_small_fold(self, q: Tensor, shrinkage: float, folds: list[Tensor]) -> Tensor:
        """`out_of_fold` where folds have fewer tasks than there are coordinates, by Woodbury's identity.

        A fold and the class means are taken out of an inverse that is diagonal: O(m² D) for m tasks, not O(D³).
        """
        x, variance = self._principal_axes
        rows = nn.utils.rnn.pad_sequence(folds, batch_first=True, padding_value=len(q))
        held_out, soft = (torch.cat([part, part.new_zeros(1, part.shape[1])])[rows] for part in (x, q))
        sums, of_fold = soft.mT @ held_out, soft.sum(1)
        masses = (of_fold.sum(0) - of_fold + _RARE).unsqueeze(-1)  # (F, C, 1)
        mean, total = (sums.sum(0) - sums) / masses, masses.sum(-2, keepdim=True)
        out = torch.cat([held_out, mean * masses.sqrt()], 1)
        trace = variance.sum() - out.square().sum((1, 2)).view(-1, 1, 1)
        ridge = shrinkage * (trace / total / x.shape[1]).clamp_min(1e-12)
        part = (1 - shrinkage) / total
        inverse = 1 / (part * variance + ridge)  # (F, 1, D)
        out = out * part.sqrt()
        turned = out * inverse
        rest = torch.eye(out.shape[1]).to(out) - turned @ out.mT
        weights = (mean * inverse).mT
        weights = weights + turned.mT @ torch.cholesky_solve(out @ weights, torch.linalg.cholesky(rest))
        classes = _of_used(Classes(weights, (mean.mT * weights).sum(-2) / 2), of_fold.sum(0))
        scores = q.new_empty(len(q) + 1, q.shape[1])
        scores[rows] = held_out @ classes.weights - classes.offsets.unsqueeze(1)
        return scores[:-1]

    def _outside(self, of_block: Tensor, n_folds: int) -> Tensor:
        """(n_folds, D, D) second moments outside each fold of blocks: all fits with these folds share them."""
        key = tuple(of_block.tolist())
        if key not in self._known:
            outside = (of_block != torch.arange(n_folds).unsqueeze(1)).to(self.second)
            self._known[key] = torch.einsum("fb,bde->fde", outside, self.second)
        return self._known[key]

    def _sum(self, left: Tensor, rows: Tensor) -> Tensor:
        """``Σ_i left_i x_iᵀ`` over some tasks: (n, K), (m,) -> (K, D)."""
        parts = [left[some].double().T @ self.x[some].double() for some in torch.split(rows, _AT_ONCE)]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)


def _members(group: Tensor, n_groups: int) -> list[Tensor]:
    """Tasks of every group, ascending."""
    return [torch.nonzero(group == g).squeeze(1) for g in range(n_groups)]


def _of_used(classes: Classes, masses: Tensor) -> Classes:
    """Exclude classes without any weight: no task is theirs."""
    return Classes(classes.weights, classes.offsets + _UNUSED * (masses == 0))
