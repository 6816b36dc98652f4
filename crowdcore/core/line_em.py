"""One pass of EM for workers whose ratings are a line of the truth with noise: posteriors of tasks, sums of workers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdcore.core.compiled import compiled, is_large
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

_PASSES = 10  # over the annotations that the compiled loop saves
KNOWN = -1.0
"""Variance that marks a task whose mean is known."""


class LinePass(NamedTuple):
    """Sums of one pass over tasks with ratings.

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
    if is_large(_PASSES * len(rating)):
        parts = n_ranges(len(rating), 3 * n_workers)
        each = np.zeros((parts, n_workers, 3))

        def run(part: int, first: int, last: int) -> tuple[float, float, float, float]:
            return _posterior_range(first, last, start, worker, rating, centre, line, prior, mean, variance, each[part])

        totals = np.array(run_ranges(len(mean), parts, run))
        likelihood, _, means, squares = totals.sum(0).tolist()
        return LinePass(np.asarray(each.sum(0)), likelihood, float(totals[:, 1].max()), means, squares)
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


@compiled
def _posterior_range(
    first: int,
    last: int,
    start: IntArray,
    worker: IntArray,
    rating: FloatArray,
    centre: float,
    line: FloatArray,
    prior: tuple[float, float],
    mean: FloatArray,
    variance: FloatArray,
    sums: FloatArray,
) -> tuple[float, float, float, float]:
    """Tasks ``first:last`` of `line_posterior`; adds to each worker's ``sums`` (R, 3)."""
    likelihood, change, total_mean, total_square = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        if start[i] == start[i + 1]:
            continue
        weight, sloped = 0.0, 0.0
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            weight += line[r, 0]
            sloped += line[r, 1] * (rating[j] - centre) - line[r, 2]
        m, v = mean[i], 0.0
        if variance[i] >= 0.0:
            precision = prior[1] + weight
            v = 1.0 / precision
            m = (prior[0] * prior[1] + sloped) * v
            likelihood += m * m * precision - math.log(precision) - prior[1] * prior[0] ** 2
            change = max(change, abs(m - mean[i]))
            mean[i], variance[i] = m, v
        else:
            likelihood += 2.0 * m * sloped - weight * m * m - prior[1] * (m - prior[0]) ** 2
        square = m * m + v
        total_mean += m
        total_square += square
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            sums[r, 0] += m
            sums[r, 1] += square
            sums[r, 2] += (rating[j] - centre) * m
    return likelihood, change, total_mean, total_square
