"""Pairs of workers who rate: the distance of their ratings, and the correlation of errors beside their own lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from scipy import special
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from crowdcore.analysis.ratings.workers import RatingTruth, rating_truth
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.doors import door
from crowdcore.data.ratings import RatingDataset

_COPIES, _GROUPS = (0.05, 0.5), 50  # q-value and correlation of copies; workers who are set apart from theirs at most
SMALLEST_VARIANCE = 1e-12  # of ratings in a range of 1; sums of squares leave as much of equal ones


@dataclass(frozen=True, eq=False)
class RatingPairs(Shown):
    """Pairs of workers with enough tasks in common; all (n_pairs,).

    Attributes:
        worker_ids: all workers.
        reference: truth of the errors: gold, else the mean of the task, whatever method infers the truth.
        worker_a, worker_b: worker numbers, a < b.
        tasks: tasks that both rated and whose truth is known, or estimated.
        distance: root mean squared difference of their ratings.
        kappa: quadratically weighted kappa, ``1 − Σ(x − y)² / Σ expected (x − y)²``.
        error_correlation: Pearson's correlation of the residuals beside the line of each; above 0: they err alike.
            Without gold, that beyond what the mean of the task gives independent workers, NaN where no third rates.
        p_value: of no correlation (Fisher's z, also where spreads differ by task); NaN with fewer than 5 tasks.
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


@door
def rating_pairs(
    dataset: RatingDataset, reference: RatingTruth | str | None = None, min_overlap: int = 10
) -> RatingPairs:
    """Measure distance, weighted kappa and error correlation of every pair with ``min_overlap`` tasks in common.

    Errors are residuals of ratings beside the worker's own curve over the truth (`beside_curve`), so that neither
    tasks that all rate high, nor workers with similar scales, nor two who ignore the task count as alike. Without gold
    they are residuals beside the worker's line over the weighted mean of the task (`residuals`), and their correlation
    is that beyond what this mean gives independent workers. Of a worker's repeats on a task only the first counts.
    """
    truth, chosen = rating_truth(dataset, reference), first_ratings(dataset)
    chosen = chosen[~np.isnan(truth.compared[chosen])]
    centre = (dataset.low + dataset.high) / 2
    a, b, n, rated = pair_moments(dataset, chosen, dataset.rating[chosen] - centre, min_overlap)
    difference = rated["aa"] + rated["bb"] - 2 * rated["ab"]
    kappa = weighted_kappa(dataset, rated)
    if truth.checked:
        r, z = _fisher(dataset, chosen, beside_curve(dataset, chosen, truth.compared[chosen]), min_overlap)
    else:
        r, z = _without_copies(dataset, chosen, a, b, min_overlap)
    p = 2 * special.ndtr(-np.abs(z))
    q, ids = benjamini_hochberg(p), tuple(map(str, dataset.worker_ids))
    compared = truth.name if truth.checked else "mean"
    return RatingPairs(ids, compared, a, b, n, np.sqrt(np.maximum(difference, 0)), kappa, r, p, q)


def beside_curve(dataset: RatingDataset, chosen: IntArray, truth: FloatArray) -> FloatArray:
    """(n,) residuals of the chosen ratings beside the least-squares cubic of each worker over the tasks' truth.

    A line would leave the bends at the ends of the range, which all workers share.
    """
    worker, rating, n_workers = dataset.worker[chosen], dataset.rating[chosen], dataset.n_workers
    n = np.maximum(np.bincount(worker, minlength=n_workers), 1)
    t = (2 * truth - dataset.low - dataset.high) / (dataset.high - dataset.low)
    powers: FloatArray = np.stack([t, t**2, t**3, rating])
    sums = np.stack([np.bincount(worker, row, n_workers) for row in powers])
    x = powers - (sums / n)[:, worker]
    products = np.stack([[np.bincount(worker, a * b, n_workers) for b in x] for a in x[:3]], axis=-1)
    ridge = 1e-9 * n[:, None, None] * np.eye(3)
    weights = np.linalg.solve(products[:3].transpose(1, 0, 2) + ridge, products[3][:, :, None])[..., 0]
    return np.asarray(x[3] - (weights[worker].T * x[:3]).sum(0))


def _fisher(
    dataset: RatingDataset, chosen: IntArray, error: FloatArray, min_overlap: int
) -> tuple[FloatArray, FloatArray]:
    """Correlation of the errors of every pair, and Fisher's z by its standard error, NaN with fewer than 5 tasks.

    That error is ``√(τ / (n − 4))``, with one degree of freedom for the line, and ``τ = mean(x² y²) / (mean x² · mean
    y²)``, at least 1, as all may err by more on some tasks.
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
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) * np.sqrt(np.where(n > 4, n - 4.0, np.nan) / tau)
    return r, z


def _without_copies(
    dataset: RatingDataset, chosen: IntArray, a: IntArray, b: IntArray, min_overlap: int
) -> tuple[FloatArray, FloatArray]:
    """Compute `_beyond_independence` of every pair with one of each group of copies.

    Two who copy pull the mean of a task together, which makes others look alike, and unlike the two. So other pairs are
    compared without all but one of the group, and each of the group is compared with others without the rest of it.
    """
    worker = dataset.worker[chosen]

    def compared(left_out: IntArray) -> tuple[FloatArray, FloatArray]:
        rest = chosen[~np.isin(worker, left_out)]
        return _beyond_independence(residuals(dataset, rest), dataset, a, b, min_overlap)

    r, z = compared(np.empty(0, np.int64))
    copies = (benjamini_hochberg(2 * special.ndtr(-np.abs(z))) <= _COPIES[0]) & (r >= _COPIES[1])
    if not copies.any():
        return r, z
    shape = dataset.n_workers, dataset.n_workers
    _, group = connected_components(
        scipy.sparse.csr_array((np.ones(copies.sum()), (a[copies], b[copies])), shape=shape)
    )
    first = np.unique(group, return_index=True)[1]
    extra = np.setdiff1d(np.arange(dataset.n_workers), first)
    within = group[a] == group[b]
    for one in (-1, *extra[:_GROUPS]):
        shown = extra if one < 0 else np.setdiff1d(np.union1d(extra, first[group[one]]), one)
        correlations = compared(shown)
        these = ~within & (~np.isin(a, extra) & ~np.isin(b, extra) if one < 0 else (a == one) | (b == one))
        r, z = np.where(these, correlations[0], r), np.where(these, correlations[1], z)
    return r, z


def _beyond_independence(
    left: Residuals, dataset: RatingDataset, a: IntArray, b: IntArray, min_overlap: int
) -> tuple[FloatArray, FloatArray]:
    """Correlation of residuals beyond that of independent workers, and its z; NaN with too few such tasks in common.

    Residuals of independent workers on one task have ``E x y = c = s_a s_b (N − (σ_a² + σ_b²)/S)`` and ``E x² = v_a``,
    with S and N of `Residuals`. So ``d = x y − c (x²/v_a + y²/v_b) / 2`` is 0 on average on every task, also on one
    where all err more: z is that of Student's t for the mean of d over the tasks in common.
    """
    task, worker = dataset.task[left.chosen], dataset.worker[left.chosen]
    at, shape = (task, worker), (dataset.n_tasks, dataset.n_workers)
    own, x, slope = left.variance[worker], left.error, left.slope[worker]
    expected = own * (1 - 2 * slope**2 / left.total) + slope**2 * left.noise
    relative = slope * x**2 / np.maximum(expected, _tiny(dataset))
    f = (own / left.total - left.noise) * relative / 2  # d = x y + s_b f_a + s_a f_b + s_b σ_b² g_a + s_a σ_a² g_b
    g = relative / left.total / 2
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
    lines = left.slope[b], left.slope[a]
    noisy = lines[0] * left.variance[b], lines[1] * left.variance[a]
    for k, (line, s) in enumerate(zip(lines, noisy, strict=True)):
        d += line * alone["f"][k] + s * alone["g"][k]
        square += 2 * (line * mixed["xf"][k] + s * mixed["xg"][k])
        square += line**2 * alone["ff"][k] + 2 * line * s * alone["fg"][k] + s**2 * alone["gg"][k]
    gf, fg = total("g", "f")[0], total("f", "g")[0]
    square += 2 * (
        lines[0] * lines[1] * total("f", "f")[0]
        + noisy[0] * lines[1] * gf
        + lines[0] * noisy[1] * fg
        + noisy[0] * noisy[1] * total("g", "g")[0]
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
    """Largest variance by rounding alone."""
    return SMALLEST_VARIANCE * (dataset.high - dataset.low) ** 2


def first_ratings(dataset: RatingDataset) -> IntArray:
    """Numbers of each worker's first rating of each task, ascending."""
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    return np.sort(np.unique(key, return_index=True)[1])


def pair_moments(
    dataset: RatingDataset, chosen: IntArray, value: FloatArray, min_overlap: int
) -> tuple[IntArray, IntArray, IntArray, dict[str, FloatArray]]:
    """Pairs a < b with enough tasks in common, the number of these, and means over them of x_a, x_b, x_a² …"""
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


_FEWEST = 2.5  # effective ratings behind a task's weighted mean: of two, one residual is minus the other
_ROUNDS, _STILL = 50, 1e-4  # of fitting lines, and the change of slopes below which it ends
_FOLLOWED = 0.5  # sum of squared slopes from which a task's other ratings are informative
_POOLED = 3.0  # ratings with the mean variance, and with a slope of 1, that each worker has more


class Residuals(NamedTuple):
    """Residuals of ratings, and their moments for independent workers.

    Args:
        chosen: (n,) places of the ratings of tasks that are rated by three or more who follow the task.
        error: (n,) ``e = y − b_r − s_r z_i``, beside the worker's line over ``z_i = Σ_r s_r (y_ir − b_r) / S_i``.
        slope: (n_workers,) s, 1 on average, NaN for those without such ratings.
        variance: (n_workers,) σ² of each worker's error, NaN as above.
        total: (n,) ``S_i = Σ_r s_r²`` of the task.
        noise: (n,) variance ``N_i = Σ_r s_r² σ_r² / S_i²`` of z_i.
    """

    chosen: IntArray
    error: FloatArray
    slope: FloatArray
    variance: FloatArray
    total: FloatArray
    noise: FloatArray


def residuals(dataset: RatingDataset, chosen: IntArray) -> Residuals:
    """Fit the line of each worker over the task, ``y_ir = b_r + s_r z_i + ε_ir``, and the variance of ε_r.

    Lines and tasks are fitted in turns. A worker's slope is that on the z_i of the others, whose noise is known and
    subtracted, so that it is drawn neither to 0 nor to the worker's own ratings. If all ε are independent,
    ``E e_ir² = σ_r² (1 − 2 s_r² / S_i) + s_r² N_i``, whatever z is: one linear equation per worker gives σ².

    Args:
        chosen: places of at most one rating per worker and task.
    """
    count = np.bincount(dataset.task[chosen], minlength=dataset.n_tasks)
    chosen = chosen[count[dataset.task[chosen]] > 2]
    task, worker, y = dataset.task[chosen], dataset.worker[chosen], dataset.rating[chosen]
    n = np.bincount(worker, minlength=dataset.n_workers)
    if not len(chosen):
        none = np.full(dataset.n_workers, np.nan)
        return Residuals(chosen, y, none, none, y, y)
    slope, (bias, variance) = np.ones(dataset.n_workers), np.zeros((2, dataset.n_workers))

    def over(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(task, values, dataset.n_tasks)[task])

    def by_worker(values: FloatArray | BoolArray) -> FloatArray:
        return np.bincount(worker, values, dataset.n_workers).astype(np.float64)

    for _ in range(_ROUNDS):
        s, before = slope[worker], slope
        squares = s**2
        total, signal, noise = over(squares), s * (y - bias[worker]), squares * variance[worker]
        others = total - squares
        followed = others > _FOLLOWED
        rest = np.where(followed, others, 1.0)
        z = np.where(followed, (over(signal) - signal) / rest, 0.0)
        m = np.maximum(by_worker(followed), 1)
        x, left = (np.where(followed, v - (by_worker(v * followed) / m)[worker], 0.0) for v in (z, y))
        varies = np.maximum(by_worker(x**2 - followed * (over(noise) - noise) / rest**2), 0)
        usual = max(varies.sum() / max(m.sum(), 1), _tiny(dataset))
        slope = (by_worker(x * left) + _POOLED * usual) / (varies + _POOLED * usual)
        slope = np.clip(slope / max(np.average(slope, weights=m), 0.1), -3, 3)
        z = over(slope[worker] * (y - bias[worker])) / np.maximum(over(slope[worker] ** 2), _FOLLOWED)
        bias = by_worker(y - slope[worker] * z) / np.maximum(n, 1)
        error = y - bias[worker] - slope[worker] * z
        variance = (by_worker(error**2) + _POOLED * np.mean(error**2)) / (np.maximum(n - 1, 0) + _POOLED)
        if np.abs(slope - before).max() < _STILL:
            break
    squares = slope[worker] ** 2
    total = over(squares)
    some = total**2 > _FEWEST * over(squares**2)
    chosen, task, worker = chosen[some], task[some], worker[some]
    y, squares, total = y[some], squares[some], total[some]
    z = over(slope[worker] * (y - bias[worker])) / total
    error, part = y - bias[worker] - slope[worker] * z, squares / total
    mask = scipy.sparse.csr_array((part, (task, worker)), shape=(dataset.n_tasks, dataset.n_workers))
    weight = by_worker(1 - 2 * part) + _POOLED
    common = (error**2).sum() / max((1 - part).sum(), 1)  # Σ E e² is Σ σ² (1 − s² / S), with one σ² for all
    summed = by_worker(error**2) + _POOLED * common
    variance, _ = cg(scipy.sparse.diags_array(weight, dtype=np.float64) + mask.T @ mask, summed, rtol=1e-10)
    known = np.bincount(worker, minlength=dataset.n_workers) > 0
    variance = np.where(known, np.maximum(variance, 0), np.nan)
    noise = over(squares * variance[worker]) / total**2
    return Residuals(chosen, error, np.where(known, slope, np.nan), variance, total, noise)
