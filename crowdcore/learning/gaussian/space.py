"""The feature space in which classes are Gaussian: a rule for scales, then kernel principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from torch import Tensor, nn

from crowdcore.core.types import FloatArray

__all__ = ["Space", "fit_space"]

_EXACT = 1500  # training tasks up to which kernel principal components are exact, and landmarks beyond
_QUANTILES = 1000
_SAMPLE = 1000  # tasks that the median distance is measured on
_ZERO = 1e-5  # part of the largest feature that undoing the preparation may leave below zero
_NORMAL = 3.1  # standard deviations that a normal score is clipped at


class Space(nn.Module):
    """From prepared inputs to coordinates: a rule for scales, a kernel, and an affine map of its values.

    Non-negative features become their square roots, others the normal scores of their ranks, per column. Without
    landmarks there is no kernel, and the map is one of the rescaled features. A fresh module is empty: `fit_space`
    fills it, and a state that is loaded gives it its shapes.

    Attributes:
        mean, scale: what undoes the preparation of inputs.
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

    def forward(self, x: Tensor) -> Tensor:
        """(n, *input shape) -> (n, D)."""
        x = self.rescaled(x)
        if self.landmarks.shape[0]:
            squares = (x * x).sum(1, keepdim=True) + (self.landmarks * self.landmarks).sum(1)
            x = torch.exp(-self.width * (squares - 2 * x @ self.landmarks.T).clamp_min(0))
        coordinates: Tensor = x @ self.projection - self.offset
        return coordinates

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
    """The space of some training tasks.

    Coordinates are principal components of ``exp(-γ d² / median d²)``, by Nyström's method beyond 1,500 tasks; with
    γ = 0 they are those of the features. All are divided by their common standard deviation.

    Args:
        train: (n, *input shape) prepared inputs, float32.
        gamma: γ.
        dimensions: D at most.
        seed: of landmarks and samples.
        mean, scale: of the preparation, which may have to broadcast against an input.
    """
    space = Space()
    if mean is not None and scale is not None:
        space.mean, space.scale = mean, scale
    rows = (train * space.scale + space.mean).flatten(1).numpy()
    if rows.min() < -_ZERO * np.abs(rows).max():
        steps = np.linspace(0, 1, min(len(train), _QUANTILES))
        space.quantiles = torch.from_numpy(np.ascontiguousarray(np.quantile(rows, steps, axis=0).T, np.float32))
    x = space.rescaled(train).double().numpy()
    n_components, width = min(dimensions, len(train) - 1), gamma / _median_distance(x, seed)
    landmarks = np.zeros((0, 0))
    if gamma == 0:
        pca = PCA(min(n_components, x.shape[1]), random_state=seed).fit(x)
        projection, offset = pca.components_.T, pca.components_ @ pca.mean_
    elif len(train) <= _EXACT:
        landmarks = x
        kernel = KernelPCA(n_components, kernel="rbf", gamma=width, remove_zero_eig=True).fit(x)
        vectors = kernel.eigenvectors_ / np.sqrt(kernel.eigenvalues_)
        centre = kernel._centerer
        projection = vectors - vectors.mean(0)
        offset = (centre.K_fit_rows_ - centre.K_fit_all_) @ vectors
    else:
        near = Nystroem(gamma=width, n_components=_EXACT, random_state=seed)
        embedded = near.fit_transform(x)
        landmarks = near.components_
        pca = PCA(min(n_components, _EXACT), svd_solver="randomized", random_state=seed).fit(embedded)
        projection, offset = near.normalization_.T @ pca.components_.T, pca.components_ @ pca.mean_
    found = {"landmarks": landmarks, "width": width, "projection": projection, "offset": offset}
    space.load_state_dict(space.state_dict() | {k: torch.tensor(v, dtype=torch.float32) for k, v in found.items()})
    spread = space(train[:_SAMPLE]).std().clamp_min(1e-12)
    space.projection /= spread
    space.offset /= spread
    return space


def _median_distance(rows: FloatArray, seed: int) -> float:
    """Median of the squared distances between some rows, with each other."""
    some = rows[np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]]
    squares = (some**2).sum(1)
    distances = squares[:, None] + squares - 2 * some @ some.T
    return float(np.median(distances[np.triu_indices(len(some), 1)])) or 1.0
