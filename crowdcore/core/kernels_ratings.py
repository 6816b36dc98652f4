"""One pass of EM for workers that are lines with noise: posterior of each task, sums of each worker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdcore.core.kernels import compiled
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

PASSES = 10  # over the annotations, that the compiled loop saves
KNOWN = -1.0  # the variance that marks a task whose mean is known


class LinePass(NamedTuple):
    """What one pass found, over tasks with ratings.

    Attributes:
        sums: (n_workers, 3) Σ m, Σ (m² + v) and Σ y m of each worker's ratings.
        likelihood: twice the tasks' part of log p(y), without ``log τ0``.
        change: largest change of a mean.
        mean, square: Σ m and Σ (m² + v) over tasks.
    """

    sums: FloatArray
    likelihood: float
    change: float
    mean: float
    square: float


def line_posterior(
    start: IntArray,
    task: IntArray,
    worker: IntArray,
    rating: FloatArray,
    centre: float,
    line: FloatArray,
    prior: tuple[float, float],
    mean: FloatArray,
    variance: FloatArray,
) -> LinePass:
    """E-step of ``y = b + s t + noise of precision τ`` under ``t ~ N(μ, 1/τ0)``; `KNOWN` tasks keep their mean.

    Args:
        start: (n_tasks + 1,) task i's ratings are ``start[i]:start[i + 1]``.
        task, worker, rating: (n_annotations,) aligned, ascending by task; y is ``rating - centre``.
        line: (n_workers, 3) τ s², τ s and τ s b.
        prior: μ and τ0.
        mean, variance: (n_tasks,) overwritten.
    """
    n_workers = len(line)
    if compiled(PASSES * len(rating)):
        from crowdcore.core.kernels_ratings_numba import posterior_range

        parts = n_ranges(len(rating), 3 * n_workers)
        each = np.zeros((parts, n_workers, 3))

        def run(part: int, first: int, last: int) -> tuple[float, float, float, float]:
            found: tuple[float, float, float, float]
            found = posterior_range(first, last, start, worker, rating, centre, line, prior, mean, variance, each[part])
            return found

        told = np.array(run_ranges(len(mean), parts, run))
        likelihood, _, means, squares = told.sum(0).tolist()
        return LinePass(np.asarray(each.sum(0)), likelihood, float(told[:, 1].max()), means, squares)
    value, of, rated = rating - centre, line[worker], start[1:] > start[:-1]
    weight = np.bincount(task, of[:, 0], len(mean))
    sloped = np.bincount(task, of[:, 1] * value - of[:, 2], len(mean))
    before, free = mean.copy(), rated & (variance >= 0)
    precision = prior[1] + weight
    mean[free] = ((prior[0] * prior[1] + sloped) / precision)[free]
    variance[free] = 1 / precision[free]
    of_free = mean**2 * precision - np.log(precision) - prior[1] * prior[0] ** 2
    of_known = 2 * mean * sloped - weight * mean**2 - prior[1] * (mean - prior[0]) ** 2
    square = mean**2 + np.maximum(variance, 0)
    sums = [np.bincount(worker, v, n_workers) for v in (mean[task], square[task], value * mean[task])]
    likelihood = float(np.where(free, of_free, of_known)[rated].sum())
    change = float(np.abs(mean - before).max())
    return LinePass(np.stack(sums, 1), likelihood, change, float(mean[rated].sum()), float(square[rated].sum()))
