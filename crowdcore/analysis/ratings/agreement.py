"""Agreement of ratings: intraclass correlations, Krippendorff's α, weighted kappa and AC2."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from crowdcore.analysis.ratings.pairs import SMALLEST_VARIANCE, first_ratings, pair_moments, weighted_kappa
from crowdcore.analysis.statistics import bootstrap_weights, percentile_interval
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray
from crowdcore.data.doors import door
from crowdcore.data.ratings import RatingDataset

MOST_LEVELS = 30  # distinct ratings up to which they count as ordered classes
MOST_CELLS = 20_000_000  # tasks x levels² up to which coefficients on levels are resampled


@dataclass(frozen=True)
class RatingCoefficient:
    """One coefficient; ``low`` and ``high``: percentile interval of a bootstrap over tasks, NaN without one."""

    name: str
    value: float
    low: float = np.nan
    high: float = np.nan
    state: str = ""


@dataclass(frozen=True)
class RatingAgreement(Shown):
    """All coefficients of one dataset.

    Attributes:
        coefficients: ICC(1), ICC(k), α (interval, ordinal), weighted κ, AC2.
        tasks: tasks with ratings by two workers or more, the basis of the coefficients.
        ratings: ratings of these tasks.
        levels: distinct ratings.
        resamples: bootstrap resamples behind the intervals.
    """

    coefficients: tuple[RatingCoefficient, ...]
    tasks: int
    ratings: int
    levels: int
    resamples: int

    def frame(self) -> pd.DataFrame:
        """One row per coefficient."""
        return pd.DataFrame([vars(c) for c in self.coefficients]).rename(columns={"name": "coefficient"})

    def __getitem__(self, name: str) -> RatingCoefficient:
        return next(c for c in self.coefficients if c.name == name)


@door
def rating_agreement(
    dataset: RatingDataset, *, n_resamples: int = 500, level: float = 0.95, seed: int = 0, min_overlap: int = 10
) -> RatingAgreement:
    """Measure agreement on tasks with two raters or more; of a worker's repeats on a task only the first counts.

    - ICC(1), ICC(k): one-way random effects (Shrout & Fleiss 1979) with unequal group sizes: one rating's, and the
      mean rating's, reliability; k = the representative size.
    - Krippendorff's α with the interval and the ordinal difference (2011).
    - κ with quadratic weights, mean over pairs of workers with ``min_overlap`` tasks in common.
    - AC2 with quadratic weights (Gwet 2014), over the distinct ratings; as AC1 of classes, it expects agreement by
      chance from all tasks, also those with one rating.

    Args:
        n_resamples, level, seed: of the bootstrap over tasks; 0 resamples = no intervals.
        min_overlap: tasks in common that make a pair.
    """
    every = first_ratings(dataset)
    several = (np.bincount(dataset.task[every], minlength=dataset.n_tasks) > 1)[dataset.task[every]]
    chosen, span = every[several], dataset.high - dataset.low
    tasks, task = np.unique(dataset.task[chosen], return_inverse=True)
    levels, codes = np.unique((dataset.rating[every] - dataset.low) / span - 0.5, return_inverse=True)
    code, x = codes[several], levels[codes[several]]
    n = np.bincount(task, minlength=len(tasks)).astype(float)
    names = ("ICC(1)", "ICC(k)", "α interval", "α ordinal", "AC2")
    if len(np.unique(code)) < 2:
        state = "all ratings are the same" if len(tasks) else "no task has ratings by two workers"
        empty = tuple(RatingCoefficient(name, np.nan, state=state) for name in (*names[:4], "weighted κ", names[4]))
        return RatingAgreement(empty, len(tasks), len(chosen), len(levels), 0)
    ordered = len(levels) <= MOST_LEVELS
    once = np.bincount(codes[~several], minlength=len(levels)) if ordered else np.zeros(0, np.int64)
    s1, s2 = (np.asarray(np.bincount(task, v), np.float64) for v in (x, x**2))
    ones: FloatArray = np.ones((len(tasks), 1))
    alone: FloatArray = once[:, None].astype(np.float64)  # of tasks with one rating, how many have each level
    w, w_alone = ones, alone
    if n_resamples:
        kinds = np.r_[np.ones(len(tasks), np.int64), once[once > 0]]
        drawn = bootstrap_weights(kinds, n_resamples, np.random.default_rng(seed))
        w, w_alone = drawn[: len(tasks)], np.zeros((len(once), n_resamples))
        w_alone[once > 0] = drawn[len(tasks) :]
    within = (n * s2 - s1**2) / (n - 1)
    linear: FloatArray = np.stack([n, n**2, s1, s2, s1**2 / n, within, ones[:, 0]])
    coefficients = {}
    for name, of_sums in (("ICC(1)", _icc), ("ICC(k)", partial(_icc, mean=True)), ("α interval", _alpha_interval)):
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold none of few tasks with two ratings
            value, samples = (of_sums(np.asarray(linear @ v, np.float64)) for v in (ones, w))
        state = "one task only" if len(tasks) == 1 else "the means of all tasks are the same"
        coefficients[name] = _coefficient(name, value, samples, level, n_resamples, state)
    if ordered:
        shape = len(tasks), len(levels)
        counts = np.bincount(task * shape[1] + code, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        small = bool(n_resamples) and len(tasks) * len(levels) ** 2 <= MOST_CELLS
        if not small:
            w, w_alone = ones, alone
        with np.errstate(divide="ignore", invalid="ignore"):
            ordinal = [_alpha_ordinal(counts, levels, v) for v in (ones, w)]
            ac2 = [_ac2(counts, levels, v, single) for v, single in ((ones, alone), (w, w_alone))]
        for name, (value, samples) in (("α ordinal", ordinal), ("AC2", ac2)):
            coefficients[name] = _coefficient(name, value, samples, level, small)
    else:
        state = f"{len(levels):,} distinct ratings, more than {MOST_LEVELS} levels"
        coefficients |= {name: RatingCoefficient(name, np.nan, state=state) for name in ("α ordinal", "AC2")}
    coefficients["weighted κ"] = _weighted_kappa(dataset, min_overlap)
    order = (*names[:4], "weighted κ", "AC2")
    return RatingAgreement(tuple(coefficients[k] for k in order), len(tasks), len(chosen), len(levels), n_resamples)


def _coefficient(
    name: str, value: FloatArray, samples: FloatArray, level: float, has: bool | int, undefined: str = ""
) -> RatingCoefficient:
    if np.isnan(value[0]):
        return RatingCoefficient(name, np.nan, state=undefined)
    low, high = percentile_interval(samples, level) if has else (np.nan, np.nan)
    return RatingCoefficient(name, float(value[0]), float(low), float(high))


def _mean_squares(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean squares between and within tasks, and the representative group size, of each column of sums."""
    total, n2, s1, s2, between, _, groups = sums
    freedom = np.where(groups > 1, groups - 1, np.nan)
    msb = (between - s1**2 / total) / freedom
    msw = (s2 - between) / (total - groups)
    return msb, msw, (total - n2 / total) / freedom


def _divide_by_variance(above: FloatArray, variance: FloatArray) -> FloatArray:
    """``above / variance``, NaN if the variance of ratings from -½ to ½ is only rounding."""
    return np.where(variance > SMALLEST_VARIANCE, above / variance, np.nan)


def _icc(sums: FloatArray, mean: bool = False) -> FloatArray:
    msb, msw, k = _mean_squares(sums)
    return _divide_by_variance(msb - msw, msb if mean else msb + (k - 1) * msw)


def _alpha_interval(sums: FloatArray) -> FloatArray:
    """``1 − Do / De`` with squared differences, from sums over tasks."""
    total, _, s1, s2, _, within, _ = sums
    return 1 - _divide_by_variance(within / total, (total * s2 - s1**2) / (total * (total - 1)))


def _alpha_ordinal(counts: FloatArray, levels: FloatArray, w: FloatArray) -> FloatArray:
    """Krippendorff's ordinal difference: ranks between two levels, ``(Σ_{g=k..l} n_g − (n_k + n_l) / 2)²``."""
    n = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :]
    diagonal = np.arange(len(levels))
    pairs[:, diagonal, diagonal] -= counts
    coincidences = np.einsum("ukl,ub->bkl", pairs / (n - 1)[:, None, None], w, optimize=True)
    marginal = coincidences.sum(2)
    position = np.cumsum(marginal, 1) - marginal / 2
    delta = (position[:, :, None] - position[:, None, :]) ** 2
    total = marginal.sum(1)
    expected = np.einsum("bk,bl,bkl->b", marginal, marginal, delta, optimize=True) / (total - 1)
    return np.asarray(1 - (coincidences * delta).sum((1, 2)) / expected)


def _ac2(counts: FloatArray, levels: FloatArray, w: FloatArray, alone: FloatArray) -> FloatArray:
    """``(p_a − p_e) / (1 − p_e)``, ``p_e = T / (q (q − 1)) Σ π_k (1 − π_k)`` with T the sum of the weights.

    ``alone`` (q, B): tasks with one rating by their level, which count in π only.
    """
    n, q = counts.sum(1), len(levels)
    weight = 1 - ((levels[:, None] - levels) / (levels[-1] - levels[0])) ** 2
    agreed = (counts * (counts @ weight - 1)).sum(1) / (n * (n - 1))
    share = ((counts / n[:, None]).T @ w + alone) / (w.sum(0) + alone.sum(0))
    chance = weight.sum() / (q * (q - 1)) * (share * (1 - share)).sum(0)
    return np.asarray((agreed @ w / w.sum(0) - chance) / (1 - chance))


def _weighted_kappa(dataset: RatingDataset, min_overlap: int) -> RatingCoefficient:
    chosen = first_ratings(dataset)
    centred = dataset.rating[chosen] - (dataset.low + dataset.high) / 2
    a, _, _, m = pair_moments(dataset, chosen, centred, min_overlap)
    if not len(a):
        return RatingCoefficient("weighted κ", np.nan, state=f"no pair has {min_overlap} tasks in common")
    kappa = weighted_kappa(dataset, m)
    known = kappa[~np.isnan(kappa)]
    value = float(known.mean()) if len(known) else np.nan
    return RatingCoefficient("weighted κ", value, state=f"mean over {len(known):,} pairs of workers")
