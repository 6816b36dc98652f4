"""Agreement of ratings, and pairs of workers: how far apart their ratings are, and whether they err alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from scipy import special
from scipy.sparse.linalg import cg

from crowdcore.analysis.ratings.workers import RatingTruth
from crowdcore.analysis.statistics import benjamini_hochberg, bootstrap_weights, percentile_interval
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset

SMALLEST_VARIANCE = 1e-12  # of ratings in a range of 1; sums of squares leave as much of equal ones


@dataclass(frozen=True, eq=False)
class RatingPairs:
    """Pairs of workers with enough tasks in common; all (n_pairs,).

    Attributes:
        worker_ids: all workers.
        reference: what errors are relative to: gold, else the mean of the task, whichever method infers the truth.
        worker_a, worker_b: worker numbers, a < b.
        tasks: tasks that both rated and whose truth is known, or estimated.
        distance: root mean squared difference of their ratings.
        kappa: quadratically weighted kappa, ``1 − Σ(x − y)² / Σ expected (x − y)²``.
        error_correlation: Pearson's correlation of their errors; above 0: they err alike. Without gold, that beyond
            what the mean of the task gives independent workers, NaN where no third rates.
        p_value: of no correlation (Fisher's z, also where spreads differ by task); NaN with fewer than 4 tasks.
        q_value: p after Benjamini and Hochberg over the pairs.
    """

    worker_ids: tuple[str, ...]
    reference: str
    worker_a: IntArray
    worker_b: IntArray
    tasks: IntArray
    distance: FloatArray
    kappa: FloatArray
    error_correlation: FloatArray
    p_value: FloatArray
    q_value: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per pair."""
        ids = np.array(self.worker_ids, object)
        names = ("tasks", "distance", "kappa", "error_correlation", "p_value", "q_value")
        columns = {name.replace("_", " "): getattr(self, name) for name in names}
        return pd.DataFrame({"worker": ids[self.worker_a], "other": ids[self.worker_b], **columns})


def rating_pairs(dataset: RatingDataset, truth: RatingTruth, min_overlap: int = 10) -> RatingPairs:
    """Distance, weighted kappa and error correlation of every pair with ``min_overlap`` tasks in common.

    Errors are relative to the truth, so that tasks that are rated high by all do not count as alike. Where gold is not
    known, they are relative to the mean of the task's workers (three or more), and their correlation is that beyond
    what this mean gives independent workers. A worker's repeats on a task count once, the first.
    """
    chosen = first_ratings(dataset)
    chosen = chosen[~np.isnan(truth.compared[chosen])]
    centre = (dataset.low + dataset.high) / 2
    a, b, n, rated = pair_moments(dataset, chosen, dataset.rating[chosen] - centre, min_overlap)
    difference = rated["aa"] + rated["bb"] - 2 * rated["ab"]
    kappa = weighted_kappa(dataset, rated)
    if truth.checked:
        r, z = _fisher(dataset, chosen, dataset.rating[chosen] - truth.compared[chosen], min_overlap)
    else:
        r, z = _beyond_independence(residuals(dataset, chosen), dataset, a, b, min_overlap)
    p = 2 * special.ndtr(-np.abs(z))
    q, ids = benjamini_hochberg(p), tuple(map(str, dataset.worker_ids))
    compared = truth.name if truth.checked else "mean"
    return RatingPairs(ids, compared, a, b, n, np.sqrt(np.maximum(difference, 0)), kappa, r, p, q)


def _fisher(
    dataset: RatingDataset, chosen: IntArray, error: FloatArray, min_overlap: int
) -> tuple[FloatArray, FloatArray]:
    """Correlation of the errors of every pair, and Fisher's z by its standard error, NaN with fewer than 4 tasks.

    That error is ``√(τ / (n − 3))`` with ``τ = mean(x² y²) / (mean x² · mean y²)``, at least 1: all may err by more on
    some tasks.
    """
    worker = dataset.worker[chosen]
    mean = np.bincount(worker, error) / np.maximum(np.bincount(worker), 1)
    x = error - mean[worker]
    _, _, n, error_of = pair_moments(dataset, chosen, x, min_overlap)
    square = pair_moments(dataset, chosen, x**2, min_overlap)[3]
    spread = [error_of[k + k] - error_of[k] ** 2 for k in "ab"]
    varies = (spread[0] > _tiny(dataset)) & (spread[1] > _tiny(dataset))
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.maximum(square["ab"] / (error_of["aa"] * error_of["bb"]), 1)
        r = np.where(varies, (error_of["ab"] - error_of["a"] * error_of["b"]) / np.sqrt(spread[0] * spread[1]), np.nan)
        r = np.clip(r, -1, 1)
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) * np.sqrt(np.where(n > 3, n - 3.0, np.nan) / tau)
    return r, z


def _beyond_independence(
    left: Residuals, dataset: RatingDataset, a: IntArray, b: IntArray, min_overlap: int
) -> tuple[FloatArray, FloatArray]:
    """Correlation of residuals beyond that of independent workers, and its z; NaN with too few such tasks in common.

    Residuals of independent workers on one task have ``E x y = c = S/k² − (σ_a² + σ_b²)/k`` and ``E x² = v_a``. So
    ``d = x y − c (x²/v_a + y²/v_b) / 2`` is 0 on average on every task, also on one where all err more: z is
    that of Student's t for the mean of d over the tasks in common.
    """
    task, worker = dataset.task[left.chosen], dataset.worker[left.chosen]
    at, shape = (task, worker), (dataset.n_tasks, dataset.n_workers)
    own, x = left.variance[worker], left.error
    relative = x**2 / np.maximum(own * (1 - 2 * left.part) + left.noise, _tiny(dataset))
    f = (own * left.part - left.noise) * relative / 2  # d = x y + f_a + f_b + σ_b² g_a + σ_a² g_b
    g = left.part * relative / 2
    values = {"1": np.ones(len(x)), "x": x, "xx": x**2, "xf": x * f, "xg": x * g}
    values |= {"f": f, "g": g, "ff": f * f, "fg": f * g, "gg": g * g}
    sparse = {name: scipy.sparse.csr_array((value, at), shape=shape) for name, value in values.items()}

    def total(of_a: str, of_b: str) -> tuple[FloatArray, FloatArray]:
        """Sum of products over the tasks of each pair, and with the workers exchanged."""
        product = (sparse[of_a].T @ sparse[of_b]).tocsr()
        one, other = (np.asarray(product[at]).ravel() if len(a) else np.empty(0) for at in ((a, b), (b, a)))
        return one, other

    n, xy, both = (total(name, name)[0] for name in ("1", "x", "xx"))
    d, square = xy.copy(), both.copy()
    alone = {name: total(name, "1") for name in ("f", "g", "ff", "fg", "gg")}
    mixed = {name: total(name, "x") for name in ("xf", "xg")}
    variance = left.variance[b], left.variance[a]
    for k, s in enumerate(variance):
        d += alone["f"][k] + s * alone["g"][k]
        square += 2 * (mixed["xf"][k] + s * mixed["xg"][k])
        square += alone["ff"][k] + 2 * s * alone["fg"][k] + s**2 * alone["gg"][k]
    gf = total("g", "f")
    square += 2 * (
        total("f", "f")[0] + variance[0] * gf[0] + variance[1] * gf[1] + variance[0] * variance[1] * total("g", "g")[0]
    )
    spread = np.sqrt(np.prod(total("xx", "1"), 0))
    known = (n >= min_overlap) & (spread > n * _tiny(dataset))
    with np.errstate(divide="ignore", invalid="ignore"):
        student = d / np.sqrt((square - d**2 / n) * n / (n - 1))
        z = -np.sign(student) * special.ndtri(special.stdtr(n - 1, -np.abs(student)))
        return np.where(known, np.clip(d / spread, -1, 1), np.nan), np.where(known, z, np.nan)


def weighted_kappa(dataset: RatingDataset, m: dict[str, FloatArray]) -> FloatArray:
    """(n_pairs,) quadratically weighted kappa of `pair_moments`; NaN where both always gave one and the same rating."""
    expected = m["aa"] + m["bb"] - 2 * m["a"] * m["b"]
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 1 - (m["aa"] + m["bb"] - 2 * m["ab"]) / expected
    return np.where(expected > _tiny(dataset), kappa, np.nan)


def _tiny(dataset: RatingDataset) -> float:
    """A variance that only rounding makes."""
    return SMALLEST_VARIANCE * (dataset.high - dataset.low) ** 2


def first_ratings(dataset: RatingDataset) -> IntArray:
    """Places of each worker's first rating of each task, ascending."""
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    return np.sort(np.unique(key, return_index=True)[1])


def pair_moments(
    dataset: RatingDataset, chosen: IntArray, value: FloatArray, min_overlap: int
) -> tuple[IntArray, IntArray, IntArray, dict[str, FloatArray]]:
    """Pairs a < b with enough tasks in common, how many, and means over them of x_a, x_b, x_a² …"""
    shape = dataset.n_tasks, dataset.n_workers
    at = dataset.task[chosen], dataset.worker[chosen]
    mask, x, xx = (scipy.sparse.csr_array((v, at), shape=shape) for v in (np.ones(len(value)), value, value**2))
    common = scipy.sparse.triu(mask.T @ mask, k=1).tocoo()
    enough = common.data >= min_overlap
    a, b, n = common.row[enough], common.col[enough], common.data[enough]

    def mean(left: object, right: object) -> FloatArray:
        product = (left.T @ right).tocsr()  # type: ignore[attr-defined]
        return np.asarray(product[a, b]).ravel() / n if len(a) else np.empty(0)

    moments = {"a": mean(x, mask), "b": mean(mask, x), "aa": mean(xx, mask), "bb": mean(mask, xx), "ab": mean(x, x)}
    return a, b, n.astype(np.int64), moments


_FEWEST = 3  # ratings of a task: of two, one residual is minus the other, whoever errs alike
_ROUNDS = 50
_POOLED = 3.0  # ratings with the mean variance that each worker has more


class Residuals(NamedTuple):
    """Residuals of independent workers, and what they make of each other.

    Args:
        chosen: (n,) places of the ratings of tasks that have three or more.
        error: (n,) ``e = y − b_r − m_i``: without the worker's bias and the mean m of all such ratings of the task.
        variance: (n_workers,) σ² of each worker's error, NaN for those without such ratings.
        part: (n,) 1 / k of the task, k its ratings.
        noise: (n,) variance ``Σ_r σ_r² / k²`` of the task's mean.
    """

    chosen: IntArray
    error: FloatArray
    variance: FloatArray
    part: FloatArray
    noise: FloatArray


def residuals(dataset: RatingDataset, chosen: IntArray) -> Residuals:
    """Ratings without task and worker effects (``y_ir = z_i + b_r + ε_ir``), and the variance of every ε_r.

    If all ε are independent, ``E e_ir² = σ_r² (1 − 2/k) + S/k²``, whatever z is, with ``S = Σ σ²`` of the task's
    workers: one linear equation per worker gives σ².

    Args:
        dataset: the ratings.
        chosen: places of at most one rating per worker and task.
    """
    count = np.bincount(dataset.task[chosen], minlength=dataset.n_tasks)
    chosen = chosen[count[dataset.task[chosen]] >= _FEWEST]
    task, worker, rating = dataset.task[chosen], dataset.worker[chosen], dataset.rating[chosen]
    k, n = (
        np.maximum(np.bincount(of, minlength=size), 1)
        for of, size in ((task, dataset.n_tasks), (worker, dataset.n_workers))
    )
    bias = np.zeros(dataset.n_workers)
    for _ in range(_ROUNDS):
        mean = np.bincount(task, rating - bias[worker], dataset.n_tasks) / k
        bias = np.bincount(worker, rating - mean[task], dataset.n_workers) / n
    error = rating - bias[worker] - mean[task]
    part = 1 / k[task]
    mask = scipy.sparse.csr_array((part, (task, worker)), shape=(dataset.n_tasks, dataset.n_workers))
    weight = np.bincount(worker, 1 - 2 * part, dataset.n_workers) + _POOLED
    common = (error**2).sum() / max((1 - part).sum(), 1)  # Σ E e² is Σ σ² (1 − 1/k), with one σ² for all
    total = np.bincount(worker, error**2, dataset.n_workers) + _POOLED * common
    variance, _ = cg(scipy.sparse.diags_array(weight, dtype=np.float64) + mask.T @ mask, total, rtol=1e-10)
    variance = np.where(np.bincount(worker, minlength=dataset.n_workers) > 0, np.maximum(variance, 0), np.nan)
    noise = np.bincount(task, variance[worker], dataset.n_tasks)[task] * part**2
    return Residuals(chosen, error, variance, part, noise)


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
class RatingAgreement:
    """All coefficients of one dataset.

    Attributes:
        coefficients: ICC(1), ICC(k), α (interval, ordinal), weighted κ, AC2.
        tasks: tasks with ratings by two workers or more, on which they rest.
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


def rating_agreement(
    dataset: RatingDataset, *, resamples: int = 500, level: float = 0.95, seed: int = 0, min_overlap: int = 10
) -> RatingAgreement:
    """Coefficients of agreement on tasks with two raters or more; a worker's repeats on a task count once, the first.

    - ICC(1), ICC(k): one-way random effects (Shrout & Fleiss 1979) with unequal group sizes: one rating's, and the
      mean rating's, reliability; k = the size that stands for all.
    - Krippendorff's α with the interval and the ordinal difference (2011).
    - κ with quadratic weights, mean over pairs of workers with ``min_overlap`` tasks in common.
    - AC2 with quadratic weights (Gwet 2014), over the distinct ratings; as AC1 of classes, it expects agreement by
      chance from all tasks, also those with one rating.

    Args:
        resamples, level, seed: of the bootstrap over tasks; 0 resamples = no intervals.
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
    if resamples:
        kinds = np.r_[np.ones(len(tasks), np.int64), once[once > 0]]
        drawn = bootstrap_weights(kinds, resamples, np.random.default_rng(seed))
        w, w_alone = drawn[: len(tasks)], np.zeros((len(once), resamples))
        w_alone[once > 0] = drawn[len(tasks) :]
    within = (n * s2 - s1**2) / (n - 1)
    linear: FloatArray = np.stack([n, n**2, s1, s2, s1**2 / n, within, ones[:, 0]])
    coefficients = {}
    for name, of_sums in (("ICC(1)", _icc), ("ICC(k)", partial(_icc, mean=True)), ("α interval", _alpha_interval)):
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold none of few tasks with two ratings
            value, samples = (of_sums(np.asarray(linear @ v, np.float64)) for v in (ones, w))
        state = "one task only" if len(tasks) == 1 else "the means of all tasks are the same"
        coefficients[name] = _coefficient(name, value, samples, level, resamples, state)
    if ordered:
        shape = len(tasks), len(levels)
        counts = np.bincount(task * shape[1] + code, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        small = bool(resamples) and len(tasks) * len(levels) ** 2 <= MOST_CELLS
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
    return RatingAgreement(tuple(coefficients[k] for k in order), len(tasks), len(chosen), len(levels), resamples)


def _coefficient(
    name: str, value: FloatArray, samples: FloatArray, level: float, has: bool | int, undefined: str = ""
) -> RatingCoefficient:
    if np.isnan(value[0]):
        return RatingCoefficient(name, np.nan, state=undefined)
    low, high = percentile_interval(samples, level) if has else (np.nan, np.nan)
    return RatingCoefficient(name, float(value[0]), float(low), float(high))


def _mean_squares(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Between tasks, within tasks, and the group size that stands for all, of each column of sums."""
    total, n2, s1, s2, between, _, groups = sums
    freedom = np.where(groups > 1, groups - 1, np.nan)
    msb = (between - s1**2 / total) / freedom
    msw = (s2 - between) / (total - groups)
    return msb, msw, (total - n2 / total) / freedom


def _over(above: FloatArray, variance: FloatArray) -> FloatArray:
    """``above / variance``, NaN where rounding alone makes the variance of ratings from -½ to ½."""
    return np.where(variance > SMALLEST_VARIANCE, above / variance, np.nan)


def _icc(sums: FloatArray, mean: bool = False) -> FloatArray:
    msb, msw, k = _mean_squares(sums)
    return _over(msb - msw, msb if mean else msb + (k - 1) * msw)


def _alpha_interval(sums: FloatArray) -> FloatArray:
    """``1 − Do / De`` with squared differences, from sums over tasks."""
    total, _, s1, s2, _, within, _ = sums
    return 1 - _over(within / total, (total * s2 - s1**2) / (total * (total - 1)))


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
