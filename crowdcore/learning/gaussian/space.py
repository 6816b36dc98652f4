"""The feature space in which classes are Gaussian: a rule for scales, then kernel principal components."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from torch import Tensor, nn

from crowdcore.core.types import FloatArray

__all__ = ["Space"]

_EXACT = 1500  # training tasks up to which kernel principal components are exact, and landmarks beyond
_QUANTILES = 1000
_SAMPLE = 1000  # tasks that the median distance is measured on
_NORMAL = 3.1  # standard deviations that a normal score is clipped at


class Space(nn.Module):
    """From features to coordinates; everything is fitted on the training tasks.

    Non-negative features become their square roots, others the normal scores of their ranks, per column. Coordinates
    are principal components of ``exp(-γ d² / median d²)``, by Nyström's method beyond 1,500 tasks; with γ = 0 they are
    those of the features.

    Args:
        train: (n, F) features of the training tasks.
        gamma: γ.
        dimensions: D at most.
        seed: of landmarks and samples.
    """

    quantiles: Tensor
    landmarks: Tensor
    projection: Tensor
    offset: Tensor

    def __init__(self, train: FloatArray, gamma: float, dimensions: int, seed: int) -> None:
        super().__init__()
        self.rooted = bool(train.min() >= 0)
        steps = np.linspace(0, 1, min(len(train), _QUANTILES))
        quantiles = np.zeros((0, 0)) if self.rooted else np.quantile(train, steps, axis=0).T
        self.register_buffer("quantiles", torch.from_numpy(np.ascontiguousarray(quantiles, np.float32)))
        x = self.rescaled(torch.from_numpy(np.asarray(train, np.float32))).double().numpy()
        n_components = min(dimensions, len(train) - 1)
        landmarks = np.zeros((0, 0))
        self.width = 0.0
        if gamma == 0:
            pca = PCA(min(n_components, x.shape[1]), random_state=seed).fit(x)
            projection, offset = pca.components_.T, pca.components_ @ pca.mean_
        elif len(train) <= _EXACT:
            self.width, landmarks = gamma / _median_distance(x, seed), x
            kernel = KernelPCA(n_components, kernel="rbf", gamma=self.width, remove_zero_eig=True).fit(x)
            vectors = kernel.eigenvectors_ / np.sqrt(kernel.eigenvalues_)
            centre = kernel._centerer
            projection = vectors - vectors.mean(0)
            offset = (centre.K_fit_rows_ - centre.K_fit_all_) @ vectors
        else:
            self.width = gamma / _median_distance(x, seed)
            near = Nystroem(gamma=self.width, n_components=_EXACT, random_state=seed)
            embedded = near.fit_transform(x)
            landmarks = near.components_
            pca = PCA(min(n_components, _EXACT), svd_solver="randomized", random_state=seed).fit(embedded)
            projection, offset = near.normalization_.T @ pca.components_.T, pca.components_ @ pca.mean_
        for name, value in {"landmarks": landmarks, "projection": projection, "offset": offset}.items():
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(value, np.float32)))
        spread = self(torch.from_numpy(np.asarray(train[:_SAMPLE], np.float32))).std().clamp_min(1e-12)
        self.projection /= spread
        self.offset /= spread

    def rescaled(self, x: Tensor) -> Tensor:
        """The rule for scales, (n, F) -> (n, F)."""
        if self.rooted:
            return x.clamp_min(0).sqrt()
        n = self.quantiles.shape[1]
        columns = x.T.contiguous()
        above = torch.searchsorted(self.quantiles, columns).clamp(1, n - 1)
        low, high = self.quantiles.gather(1, above - 1), self.quantiles.gather(1, above)
        part = ((columns - low) / (high - low).clamp_min(1e-12)).clamp(0, 1)
        rank = (above - 1 + part) / (n - 1)
        scores: Tensor = torch.special.ndtri(rank.clamp(1e-6, 1 - 1e-6))
        return scores.clamp(-_NORMAL, _NORMAL).T

    def forward(self, x: Tensor) -> Tensor:
        """(n, F) -> (n, D)."""
        x = self.rescaled(x)
        if self.width:
            squares = (x * x).sum(1, keepdim=True) + (self.landmarks * self.landmarks).sum(1)
            x = torch.exp(-self.width * (squares - 2 * x @ self.landmarks.T).clamp_min(0))
        coordinates: Tensor = x @ self.projection - self.offset
        return coordinates


def _median_distance(rows: FloatArray, seed: int) -> float:
    """Median of the squared distances between some rows, with each other."""
    some = rows[np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]]
    squares = (some**2).sum(1)
    distances = squares[:, None] + squares - 2 * some @ some.T
    return float(np.median(distances[np.triu_indices(len(some), 1)])) or 1.0
