"""Raykar's model of numbers by EM: each worker is a line with noise around the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from crowdcore.aggregation.ratings.base import RatingAggregator, RatingResult
from crowdcore.core.compiled import compiled, is_large, n_ranges, run_ranges
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dictionary import sum_of, summed
from crowdcore.data.ratings import RatingDataset

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


@dataclass
class _Workers:
    """b, s, τ of each worker, and the shared b̄ and s̄."""

    bias: FloatArray
    scale: FloatArray
    precision: FloatArray
    shared: tuple[float, float] = (0.0, 1.0)

    @property
    def line(self) -> FloatArray:
        slope = self.precision * self.scale
        return np.stack([slope * self.scale, slope, slope * self.bias], 1)


class RaykarEM(RatingAggregator):
    """Bias, scale and precision of each worker by EM, with shrinkage (Raykar et al. 2010, section 3, without features).

    ``y_i^r ~ N(c + b_r + s_r (t_i − c), 1/τ_r)``, ``t_i ~ N(μ, 1/τ_0)``, c the mean of all ratings.
    E-step: ``t_i | y`` is normal with precision ``τ_0 + Σ_r τ_r s_r²``. M-step: a ridge regression for each worker
    under ``b_r ~ N(b̄, 1/(λ_b τ_r))``, ``s_r ~ N(s̄, 1/(λ_s τ_r))``, and ``τ_r`` shrunk to the pooled precision.
    The paper has ``b_r = 0, s_r = 1`` (equation 24): that is the limit of strong shrinkage of bias and scale.

    Identifiability: all b can move with all t, and all s with the spread of t, without a change in the likelihood.
    The priors settle this: workers are right on average, ``b̄ = 0, s̄ = 1``. So a bias that all share cannot be seen
    without truth. Where ``known`` gives the truth of some tasks, ``b̄ + (s̄ − 1)(t − c)``, the shared bias over the
    range of the truth, is estimated and taken out: CoNAL's common and individual noise, for numbers.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> import crowdcore as cc
        >>> rng = np.random.default_rng(0)
        >>> truth, bias = rng.uniform(size=200), {"low": -0.2, "fair": 0, "high": 0.2}
        >>> rows = [(i, w, t + b + rng.normal(0, 0.05)) for i, t in enumerate(truth) for w, b in bias.items()]
        >>> frame = pd.DataFrame(rows, columns=["task", "worker", "rating"])
        >>> result = cc.aggregation.ratings.RaykarEM().fit(cc.ratings_from_frame(frame, -1, 2))
        >>> (result.bias.round(1) + 0.0).tolist()  # of fair, high, low
        [0.0, 0.2, -0.2]
    """

    name: ClassVar[str] = "raykar-em"
    title: ClassVar[str] = "Raykar's EM"
    paper: ClassVar[str] = "Raykar et al., Learning From Crowds, JMLR 11, 2010"

    bias_shrinkage: float = setting(
        2.0, "Shrinkage of biases (ratings)", "λ_b: a prior that weighs as many ratings.", gt=0
    )
    scale_shrinkage: float = setting(
        10.0,
        "Shrinkage of scales (ratings)",
        "λ_s in units of the variance of the tasks' means: a prior that weighs as many ratings.",
        gt=0,
    )
    precision_shrinkage: float = setting(
        5.0, "Shrinkage of precisions (ratings)", "A prior that weighs as many ratings.", ge=0
    )
    max_iterations: int = setting(200, "Most iterations", "Maximum number of EM iterations.", ge=1)
    tolerance: float = setting(
        1e-4, "Tolerance", "EM stops when no true rating changes by more than this share of the range.", gt=0
    )

    def _fit(self, dataset: RatingDataset, known: FloatArray) -> RatingResult:
        start, task, worker, n_workers = dataset.task_start, dataset.task, dataset.worker, dataset.n_workers
        centre = float(dataset.rating.mean())
        count = dataset.labels_per_worker.astype(np.float64)

        def value(at: slice) -> FloatArray:
            return np.asarray(dataset.rating[at] - centre)

        total, squares = summed(worker, value, n_workers), summed(worker, lambda at: value(at) ** 2, n_workers)
        rated, clamped = dataset.annotated, ~np.isnan(known)
        n = np.maximum(dataset.labels_per_task, 1)
        mean = np.where(clamped, known - centre, summed(task, value, dataset.n_tasks) / n)
        variance = np.where(clamped, KNOWN, 0.0)
        smallest = 1e-6 * (dataset.high - dataset.low) ** 2
        around = sum_of(lambda at: (value(at) - mean[task[at]]) ** 2, 0, dataset.n_annotations)
        pooled = max(around / max(dataset.n_annotations - int((rated & ~clamped).sum()), 1), smallest)
        spread = max(float(mean[rated].var()), smallest)
        shrink = self.bias_shrinkage, self.scale_shrinkage * spread
        workers = _Workers(np.zeros(n_workers), np.ones(n_workers), np.full(n_workers, 1 / pooled))
        prior = float(mean[rated].mean()), 1 / spread
        objective: list[float] = []
        converged = False
        n_rated = int(rated.sum())
        while len(objective) < self.max_iterations and not converged:
            sums = line_posterior(start, task, worker, dataset.rating, centre, workers.line, prior, mean, variance)
            density = sums.likelihood / 2 + _of_workers(workers, count, total, squares, n_rated, prior)
            objective.append(density + self._log_prior(workers, shrink, pooled))
            converged = sums.change <= self.tolerance * (dataset.high - dataset.low)
            workers = self._m_step(workers, count, total, squares, sums.sums, shrink, pooled, bool(clamped.any()))
            centred = sums.mean / n_rated
            prior = centred, 1 / max(sums.square / n_rated - centred**2, smallest)
        absent = count == 0
        for part in (workers.bias, workers.scale, workers.precision):
            part[absent] = np.nan
        notes = () if clamped.any() else ("A bias that all workers share cannot be detected without known ratings.",)
        return RatingResult(
            self.name,
            self.model_dump(),
            np.where(rated | clamped, mean + centre, np.nan),
            sd=np.where(rated | clamped, np.sqrt(np.maximum(variance, 0)), np.nan),
            bias=workers.bias,
            scale=workers.scale,
            precision=workers.precision,
            shared_bias=workers.shared[0] if clamped.any() else None,
            shared_scale=workers.shared[1] if clamped.any() else None,
            log_likelihood=np.array(objective),
            converged=converged,
            notes=notes,
        )

    def _m_step(
        self,
        before: _Workers,
        n: FloatArray,
        total: FloatArray,
        squares: FloatArray,
        sums: FloatArray,
        shrink: tuple[float, float],
        pooled: float,
        anchored: bool,
    ) -> _Workers:
        """Ridge regression of each worker's ratings on the tasks' posteriors; the shared line where truth is known."""
        m1, m2, ym = sums.T
        shared = before.shared
        a, c = n + shrink[0], m2 + shrink[1]
        first, second = total + shrink[0] * shared[0], ym + shrink[1] * shared[1]
        determinant = a * c - m1**2
        bias, scale = (c * first - m1 * second) / determinant, (a * second - m1 * first) / determinant
        left = squares - 2 * bias * total - 2 * scale * ym + n * bias**2 + 2 * bias * scale * m1 + scale**2 * m2
        left = np.maximum(left, 0) + shrink[0] * (bias - shared[0]) ** 2 + shrink[1] * (scale - shared[1]) ** 2
        weight = self.precision_shrinkage
        precision = (n + weight + 2) / np.maximum(left + weight * pooled, 1e-6 * pooled)
        if anchored:
            shared = float(np.average(bias, weights=precision)), float(np.average(scale, weights=precision))
        return _Workers(bias, scale, precision, shared)

    def _log_prior(self, workers: _Workers, shrink: tuple[float, float], pooled: float) -> float:
        off = shrink[0] * (workers.bias - workers.shared[0]) ** 2 + shrink[1] * (workers.scale - workers.shared[1]) ** 2
        weight = self.precision_shrinkage
        density = (weight + 2) * np.log(workers.precision) - workers.precision * (off + weight * pooled)
        return float(density.sum() / 2)


def _of_workers(
    workers: _Workers,
    n: FloatArray,
    total: FloatArray,
    squares: FloatArray,
    n_rated: int,
    prior: tuple[float, float],
) -> float:
    """The part of log p(y) that is no sum over tasks, without constants."""
    around = squares - 2 * workers.bias * total + n * workers.bias**2
    of_ratings = (n * np.log(workers.precision) - workers.precision * around).sum()
    return float(of_ratings + n_rated * np.log(prior[1])) / 2
