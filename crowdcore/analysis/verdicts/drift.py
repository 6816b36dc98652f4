"""Drift: workers who become worse over time, beyond what their tasks and the others' success explain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtr

from crowdcore.analysis.statistics import divide, holm
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.times import TIME, moments

STEPS = (0.25, 0.5, 0.75, 0.8)
"""Shares of a worker's labels after which a fall is tested, besides a straight line."""
_LEAST = 20  # labels that a test needs
_BINS = 20  # of time, for the others' success
_OWN = 0.4  # deviation of the workers' own slopes on the others' success
_PULL = 4.0  # pseudo-labels that draw the mean of a class to 0
_ROUNDS = 3  # of fitting classes and slopes in turn
_PARTS = 8  # of each worker's labels; their means show how much moods and sessions vary
_EXACT, _DRAWS, _CELLS = 0.004, 20_000, 500_000  # p-value below which permutations are drawn, and their most
_SEED = 0


@dataclass(frozen=True, eq=False)
class Drift:
    """Surest fall of each worker's accuracy; arrays (n_workers,), NaN and -1 where it is not tested.

    Attributes:
        p_value: larger one of two p-values: for the worker's own accuracy, and for its part that classes, tasks and the
            others' success at that time do not explain.
        adjusted: after Holm over the workers tested.
        at: labels before the fall; half of them where it is steady.
        steady: whether a straight line fits best.
        before, after: the worker's accuracy before and after it (without gold: the mean belief in the labels).
        n: labels of each worker that could be tested.
    """

    p_value: FloatArray
    adjusted: FloatArray
    at: IntArray
    steady: BoolArray
    before: FloatArray
    after: FloatArray
    n: IntArray

    def hidden(self, level: float) -> FloatArray:
        """(n_workers,) fall, in shares of right labels, that the test at this level finds in half of the cases.

        For half right and half wrong labels, which vary most; NaN where the worker is not tested.
        """
        return np.where(self.at >= 0, np.minimum(self.limit(level) / np.sqrt(np.maximum(self.n, 1)), 1), np.nan)

    def limit(self, level: float) -> float:
        """Contrast that some worker exceeds with this probability if nobody falls (Bonferroni)."""
        return fall_limit(level / max((self.at >= 0).sum(), 1))


def times(dataset: CrowdDataset) -> FloatArray | None:
    """(n_annotations,) time of each label in seconds (`moments`); None without times."""
    if dataset.extra is None or TIME not in dataset.extra:
        return None
    when = moments(dataset.extra[TIME])
    return None if np.isnan(when).all() else when


def drift(dataset: CrowdDataset, peers: Peers) -> Drift | None:
    """Test whether each worker's accuracy falls with time; None without times.

    Let x_j be the belief in a worker's j-th label, with gold 1 or 0. Two series are tested, and the larger p-value
    counts, so that a worker drifts only if worse than before, and worse than tasks and times explain:

    - **absolute**: ``x_j - mean(x)``. A worker whose accuracy is constant while others learn does not fall;
    - **relative**: the residual of it after the worker's own mean of each class, and own slopes on the others' success
      on the same task and at the same time. If tasks become harder or come class after class, nobody falls.

    The statistic is the largest standardised difference of means before and after `STEPS`, or fall of a straight line,
    divided by √φ, the factor by which parts of the *other* workers' series vary more than by chance (sessions, moods).
    Its tail is that of Gaussian variables with the same correlations, and for small p-values that of permutations.
    """
    moment = times(dataset)
    if moment is None:
        return None
    when = moment[peers.row]
    belief = peers.judge[np.arange(len(peers.label)), peers.label]
    known = ~np.isnan(belief) & ~np.isnan(when)
    several = np.bincount(peers.task, known, dataset.n_tasks)[peers.task] > 1
    kept = np.flatnonzero(known & several)
    order = kept[np.lexsort((when[kept], peers.worker[kept]))]
    series = _Series(peers.worker[order].astype(np.int64), dataset.n_workers)
    right = belief[order]
    absolute = series.centred(right)
    relative = _unexplained(absolute, series, peers.task[order], np.nan_to_num(peers.judge[order]), when[order])
    own, beyond = series.test(absolute), series.test(series.centred(relative))
    p_value = np.maximum(own.p_value, beyond.p_value)
    for r in np.flatnonzero(p_value <= _EXACT):
        p_value[r] = max(
            series.permuted(absolute, int(r), own), series.permuted(series.centred(relative), int(r), beyond)
        )
    steady, n = own.contrast == len(STEPS), series.n
    share = np.append(STEPS, 0.5)[own.contrast]
    at = np.where(np.isnan(p_value), -1, np.round(share * n).astype(np.int64))
    early = series.place < at[series.worker]
    before, after = series.mean(right, early), series.mean(right, ~early & (at[series.worker] >= 0))
    return Drift(p_value, holm(p_value), at, steady, before, after, n)


def _unexplained(value: FloatArray, of: _Series, task: IntArray, judge: FloatArray, when: FloatArray) -> FloatArray:
    """Residual of each value, given its class and the others' success on the task and at that time."""
    n_classes = judge.shape[1]
    total, number = np.bincount(task, value)[task], np.bincount(task)[task]
    on_task = (total - value) / np.maximum(number - 1, 1)
    bins = np.argsort(np.argsort(when, kind="stable"), kind="stable") * _BINS // max(len(when), 1)
    cell = bins * len(of.n) + of.worker
    mine, count = np.bincount(cell, value)[cell], np.bincount(cell)[cell]
    theirs = np.bincount(bins, value)[bins] - mine
    at_time = theirs / np.maximum(np.bincount(bins)[bins] - count, 1)
    others = np.stack([on_task, at_time])
    class_cell = of.worker * n_classes + judge.argmax(1)
    weight = np.bincount(class_cell)[class_cell] + _PULL
    gram = others @ others.T
    common = np.linalg.solve(gram + 1e-6 * np.eye(2), others @ value)
    explained = common @ others
    left, classes = value - explained, np.zeros(len(value))
    ridge = of.mean(left**2)[:, None, None] / _OWN**2 * np.eye(2)
    products = np.stack([[of.sum(a * b) for b in others] for a in others]).transpose(2, 0, 1) + ridge + 1e-9 * np.eye(2)
    slopes = np.zeros(len(value))
    for _ in range(_ROUNDS):
        classes = np.bincount(class_cell, left - slopes)[class_cell] / weight
        target = np.stack([of.sum(a * (left - classes)) for a in others], 1)
        own = np.linalg.solve(products, target[:, :, None])[:, :, 0]
        slopes = (own[of.worker].T * others).sum(0)
    return np.asarray(left - classes - slopes)


@dataclass(frozen=True, eq=False)
class _Tested:
    """Largest contrast of each worker's series: its size, number (of `STEPS`, or the line) and p-value."""

    size: FloatArray
    contrast: IntArray
    p_value: FloatArray


class _Series:
    """Labels of all workers in order of worker and time."""

    def __init__(self, worker: IntArray, n_workers: int) -> None:
        self.worker = worker
        self.n = np.bincount(worker, minlength=n_workers)
        self._start = np.cumsum(self.n) - self.n
        self.place = np.arange(len(worker)) - self._start[worker]

    def sum(self, value: FloatArray) -> FloatArray:
        return np.bincount(self.worker, value, len(self.n)).astype(np.float64)

    def mean(self, value: FloatArray, some: BoolArray | None = None) -> FloatArray:
        """(n_workers,) mean of each worker's values, or of ``some`` of them; NaN without any."""
        weight = np.ones(len(value)) if some is None else some.astype(np.float64)
        return divide(self.sum(value * weight), self.sum(weight))

    def centred(self, value: FloatArray) -> FloatArray:
        return np.asarray(value - self.mean(value)[self.worker])

    def test(self, value: FloatArray) -> _Tested:
        """Test the series (values of mean 0) of every worker with enough labels."""
        n = np.maximum(self.n, 1)
        deviation = np.sqrt(self.sum(value**2) / n)
        tested = (self.n >= _LEAST) & (deviation > 1e-9)
        z = np.zeros((len(STEPS) + 1, len(n)))
        for k, share in enumerate(STEPS):
            at = np.round(share * n)
            z[k] = self.sum(value * (self.place < at[self.worker])) / np.sqrt(np.maximum(at * (n - at) / n, 1e-9))
        z[-1] = -self.sum(value * (self.place - (n - 1)[self.worker] / 2)) / np.sqrt(n * (n**2.0 - 1) / 12 + 1e-9)
        z = np.where(tested, z / np.where(tested, deviation, 1), -np.inf)
        size = z.max(0) / np.sqrt(self._moods(value, deviation, tested))
        return _Tested(size, z.argmax(0), np.where(tested, largest_tail(size), np.nan))

    def _moods(self, value: FloatArray, deviation: FloatArray, tested: BoolArray) -> FloatArray:
        """(n_workers,) φ, the factor by which parts of the other workers' series vary more than independent values."""
        part = self.worker * _PARTS + self.place * _PARTS // np.maximum(self.n, 1)[self.worker]
        size = len(self.n) * _PARTS
        mean = divide(np.bincount(part, value, size), np.bincount(part, minlength=size)).reshape(-1, _PARTS)
        ratio = self.n / (_PARTS - 1) * (np.nan_to_num(mean) ** 2).mean(1) / np.where(tested, deviation, 1) ** 2
        ratio = np.where(tested, ratio, 0.0)
        others = tested.sum() - tested
        return np.maximum(np.where(others > 0, (ratio.sum() - ratio) / np.maximum(others, 1), 1.0), 1.0)

    def permuted(self, value: FloatArray, r: int, of: _Tested) -> float:
        """p-value of one worker's contrast among permutations of the series, drawn until it is clear."""
        own = value[self._start[r] : self._start[r] + self.n[r]]
        contrasts, rng = _contrasts(len(own)), np.random.default_rng([_SEED, r])
        limit = of.size[r] * own.std() * (1 - 1e-9)
        most, beyond, drawn = min(_DRAWS, _CELLS // len(own)), 0, 0
        while drawn < most and beyond <= 20:
            draws = rng.permuted(np.tile(own, (500, 1)), axis=1)
            beyond += int(((contrasts @ draws.T).max(0) >= limit).sum())
            drawn += 500
        return beyond / drawn if beyond else min(float(of.p_value[r]), 1 / (drawn + 1))


def _contrasts(n: int) -> FloatArray:
    """(5, n) rows of mean 0 and length 1, positive at the start: steps, and a line."""
    place = np.arange(n)
    rows = [np.where(place < round(share * n), 1 / round(share * n), -1 / (n - round(share * n))) for share in STEPS]
    rows.append((n - 1) / 2 - place)
    weights = np.array(rows)
    return np.asarray(weights / np.linalg.norm(weights, axis=1, keepdims=True))


@cache
def _null() -> FloatArray:
    """Sorted largest contrasts of Gaussian series."""
    a = np.array(STEPS)
    corr = np.ones((len(a) + 1, len(a) + 1))
    low, high = np.minimum.outer(a, a), np.maximum.outer(a, a)
    corr[:-1, :-1] = np.sqrt(low * (1 - high) / (high * (1 - low)))
    corr[-1, :-1] = corr[:-1, -1] = np.sqrt(3 * a * (1 - a))
    draws = np.random.default_rng(_SEED).multivariate_normal(np.zeros(len(corr)), corr, 200_000)
    return np.sort(draws.max(1))


_FAR = 3.0  # beyond which the tail falls like that of one Gaussian variable


def largest_tail(size: FloatArray) -> FloatArray:
    """Probability of a contrast at least as large in a series that does not change."""
    null = _null()

    def above(x: FloatArray | float) -> FloatArray:
        return np.asarray((1 + len(null) - np.searchsorted(null, x)) / (len(null) + 1))

    size = np.asarray(size, np.float64)
    far = above(_FAR) / ndtr(-_FAR) * ndtr(-np.maximum(size, _FAR))
    return np.asarray(np.where(size > _FAR, far, above(size)))


def fall_limit(p: float) -> float:
    """Contrast that a series without change exceeds with probability p."""
    grid = np.linspace(0, 12, 4001)
    return float(grid[np.searchsorted(-largest_tail(grid), -p)])
