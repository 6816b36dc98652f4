"""The feature space: a rule for scales, then kernel principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer

from crowdcore.core.types import FloatArray

__all__ = ["Space", "make_space"]

_EXACT = 3000  # training tasks up to which kernel principal components are exact
_LANDMARKS = 1500  # of Nyström's approximation beyond
_SAMPLE = 1000  # tasks that the median distance is measured on
_NORMAL = 3.1  # standard deviations that a normal score is clipped at


@dataclass(frozen=True, eq=False)
class Space:
    """From features to coordinates in which classes are Gaussian.

    Args:
        steps: scikit-learn's transformers, fitted on the training tasks.
        scale: all coordinates are divided by it.
    """

    steps: Pipeline
    scale: float

    def __call__(self, features: FloatArray) -> FloatArray:
        """(n, F) -> (n, D) float32."""
        return np.asarray(self.steps.transform(features) / self.scale, np.float32)


def make_space(train: FloatArray, gamma: float, dimensions: int, seed: int) -> tuple[Space, FloatArray]:
    """Fit the space on the training tasks.

    Non-negative features become their square roots, others the normal scores of their ranks, per column. The kernel is
    ``exp(-γ d² / median d²)``; with γ = 0 the components are linear.

    Args:
        train: (n, F) features of the training tasks.
        gamma: γ.
        dimensions: D at most.
        seed: of Nyström's landmarks and the sample that the median is of.

    Returns:
        The space, and the training tasks in it, (n, D) float32.
    """
    if train.min() >= 0:
        scales: Any = FunctionTransformer(np.sqrt)
    else:
        quantiles = QuantileTransformer(n_quantiles=min(len(train), 1000), output_distribution="normal", subsample=None)
        scales = make_pipeline(quantiles, FunctionTransformer(np.clip, kw_args={"a_min": -_NORMAL, "a_max": _NORMAL}))
    scaled = np.asarray(scales.fit_transform(train), np.float32)
    components = min(dimensions, len(train) - 1)
    if gamma == 0:
        parts = [PCA(min(components, train.shape[1]), random_state=seed)]
    else:
        width = gamma / _median_distance(scaled, seed)
        if len(train) <= _EXACT:
            parts = [KernelPCA(components, kernel="rbf", gamma=width, eigen_solver="randomized", random_state=seed)]
        else:
            landmarks = Nystroem(gamma=width, n_components=min(_LANDMARKS, len(train)), random_state=seed)
            parts = [landmarks, PCA(components, svd_solver="randomized", random_state=seed)]
    projection = make_pipeline(*parts)
    coordinates = projection.fit_transform(scaled)
    scale = float(coordinates.std()) or 1.0
    return Space(make_pipeline(scales, projection), scale), np.asarray(coordinates / scale, np.float32)


def _median_distance(rows: FloatArray, seed: int) -> float:
    """Median of the squared distances between some rows, with each other."""
    some = rows[np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]].astype(np.float64)
    squares = (some**2).sum(1)
    distances = squares[:, None] + squares - 2 * some @ some.T
    return float(np.median(distances[np.triu_indices(len(some), 1)])) or 1.0
