"""Which ratings surprise: far from the truth, beside what their worker is usually off by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from crowdcore.analysis.ratings.truth import RatingTruth
from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class RatingSurprise:
    """How each rating lies beside the others of its worker; all (n_annotations,), NaN where nothing tells.

    Attributes:
        error: rating minus truth, in the unit of the ratings.
        usual: mean error of the worker's other ratings.
        p_value: two-sided, of the error beside those others.
    """

    error: FloatArray
    usual: FloatArray
    p_value: FloatArray


def rating_surprise(dataset: RatingDataset, truth: RatingTruth) -> RatingSurprise:
    """Each rating's error beside the errors of its worker's other ratings.

    The difference over its standard error is the externally studentised residual: where a worker's errors are
    independent and normal, it has Student's t with n − 2 degrees of freedom. A worker with fewer than three ratings
    whose truth is known, or whose others err by exactly the same, has none.

    Args:
        dataset: the ratings.
        truth: of `rating_truth`.
    """
    known, n_workers = ~np.isnan(truth.compared), dataset.n_workers
    worker, error = dataset.worker, dataset.rating - truth.compared
    n_of = np.bincount(worker[known], minlength=n_workers).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.bincount(worker[known], error[known], n_workers) / n_of
        off = error - centre[worker]
        squares = np.bincount(worker[known], off[known] ** 2, n_workers)[worker]
        n = n_of[worker]
        usual = np.where(n > 1, centre[worker] - off / (n - 1), np.nan)
        rest = squares - off**2 * n / (n - 1)  # sum of squares of the others around their own mean
        rounded = np.maximum(1e-12 * squares, n * dataset.rounding**2)
        freedom = np.where((n > 2) & (rest > rounded), n - 2, np.nan)
        t = (error - usual) / np.sqrt(rest / freedom * n / (n - 1))
    return RatingSurprise(error, usual, np.asarray(2 * special.stdtr(freedom, -np.abs(t))))
