"""Changes of a mean between two rounds, tested with labels dependent within tasks and within workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from crowdcore.core.types import BoolArray, FloatArray, IntArray

_LEAST = 5  # tasks in each round below which nothing is tested


@dataclass(frozen=True, eq=False)
class Change:
    """Means of the two rounds and a test that they are equal; arrays (n,), NaN where there is nothing to compare.

    Attributes:
        first, second: means of the two rounds.
        low, high: ends of the 95 % interval of ``second - first``.
        p_value: two-sided.
    """

    first: FloatArray
    second: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray


class Clusters:
    """Labels in groups, with the tasks and workers that make them dependent.

    Args:
        group, weight: (E,) group of each entry, of which there are ``n``, and the weight of the entry in it.
        second, task, worker: (E,) whether the entry is of the second round, its task and worker.
        within: compare each worker with their own labels of the other round; else, workers count as drawn at random.
    """

    def __init__(
        self,
        group: IntArray,
        n: int,
        weight: FloatArray,
        second: BoolArray,
        task: IntArray,
        worker: IntArray,
        within: bool,
    ) -> None:
        self.group, self.n, self.weight, self.second, self.within = group, n, weight, second, within
        self.mass = np.stack([np.bincount(group, weight * (second == k), n) for k in (0, 1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            self.share = np.nan_to_num(weight * np.where(second, 1, -1) / self.mass[second.astype(int), group])
        self.task, self.worker = _Unit(task, group, n), _Unit(worker, group, n)
        self.fewest = np.minimum(*(self.task.effective(weight * (second == k)) for k in (0, 1)))

    def change(self, value: FloatArray, influence: float = 1.0) -> Change:
        """Compare the means of ``value`` (E,) in each group.

        **Within workers.** With x̄_r a worker's mean of both rounds and π_r the share of the second round,
        ``S = Σ_j m_j (1[second] - π_r) (x_j - x̄_r)`` has mean 0 if nothing changed, whoever labelled how much. Its
        variance clusters by task, ``V = Σ_i (Σ_{j in i} s_j)²``, each term times n_r / (n_r - 1) for the fitted mean.

        **Between workers.** The difference is ``D = Σ_j w_j x_j`` with ``w_j = ±m_j / Σ m`` of the round; the variance
        clusters by task and by worker (Cameron, Gelbach & Miller 2011): ``V = Σ_i U_i² + Σ_r U_r² - Σ_j u_j²`` with
        ``u_j = w_j (x_j - x̄)``, at least as large as each of the first two.

        t has one degree of freedom less than the round with fewer tasks (Kish's effective number; Welch's t has at
        least so many), or than there are workers, if they are fewer. The interval is that of D, with each round's own
        mean, clustered by task alone where workers are compared with themselves.

        Args:
            influence: how often a worker's labels enter the mean: 2 where others' values depend on them, too.
        """
        parts = [np.bincount(self.group, self.weight * value * (self.second == k), self.n) for k in (0, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = np.stack(parts) / self.mass
            gap, both = second - first, sum(parts) / self.mass.sum(0)
            own = self.share * (value - np.stack([first, second])[self.second.astype(int), self.group])
            if self.within:
                score, freedom = self._score(value), self.fewest - 1.0
                excess, null, wide = np.bincount(self.group, score, self.n), *map(self._by_task, (score, own))
            else:
                excess, freedom = gap, np.minimum(self.fewest, self.worker.number) - 1.0
                null = self._two_way(self.share * (value - both[self.group]), influence)
                wide = self._two_way(own, influence)
            p_value = 2 * stdtr(freedom, -np.abs(excess / null))
            half = stdtrit(freedom, 0.975) * np.where(wide > 1e-12, wide, 0)
        tested = (self.fewest >= _LEAST) & (null > 1e-12) & (freedom >= 1)
        return Change(first, second, gap - half, gap + half, np.where(tested, p_value, np.nan))

    def _score(self, value: FloatArray) -> FloatArray:
        """(E,) terms of S."""
        of = self.worker
        mass = of.total(self.weight)
        mean, later = of.total(self.weight * value) / mass, of.total(self.weight * self.second) / mass
        spare = np.sqrt(mass / np.maximum(mass - 1, 0.5))
        return np.asarray(self.weight * (self.second - later[of.at]) * (value - mean[of.at]) * spare[of.at])

    def _by_task(self, u: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(self.task.squares(u)))

    def _two_way(self, u: FloatArray, influence: float) -> FloatArray:
        by_task, by_worker = self.task.squares(u), influence**2 * self.worker.squares(u)
        both = by_task + by_worker - np.bincount(self.group, u**2, self.n)
        return np.asarray(np.sqrt(np.maximum(both, np.maximum(by_task, by_worker))))


class _Unit:
    """Tasks, or workers, within groups."""

    def __init__(self, unit: IntArray, group: IntArray, n: int) -> None:
        key, self.at = np.unique(unit.astype(np.int64) * n + group, return_inverse=True)
        self.group = key % n
        self.number = np.bincount(self.group, minlength=n)

    def total(self, u: FloatArray) -> FloatArray:
        """Sums of ``u`` (E,) over each unit of each group."""
        return np.bincount(self.at, u, len(self.group)).astype(np.float64)

    def effective(self, weight: FloatArray) -> FloatArray:
        """(n,) units that count: ``(Σ w)² / Σ w²`` over the units' weights (Kish)."""
        total, n = self.total(weight), len(self.number)
        squares = np.bincount(self.group, total**2, n)
        return np.asarray(np.bincount(self.group, total, n) ** 2 / np.maximum(squares, 1e-300))

    def squares(self, u: FloatArray) -> FloatArray:
        """(n,) sums of the squared totals, for the number of units at hand."""
        n = self.number
        return np.bincount(self.group, self.total(u) ** 2, len(n)) * n / np.maximum(n - 1, 1)


def worker_change(
    value: FloatArray, second: BoolArray, worker: IntArray, stratum: IntArray, n_workers: int, n_strata: int
) -> Change:
    """Compare each worker's means of ``value`` (E,) in 0 … 1, within strata (true classes) and pooled over them.

    The means are those over the strata that the worker met in both rounds, weighed by ``n_1 n_2 / (n_1 + n_2)``
    (Mantel & Haenszel). Within a stratum every order of the worker's labels is equally probable if nothing changed, so
    the sum of the second round has variance ``n_1 n_2 / n · s²``; the statistic, less half a label, is referred to the
    t distribution that Pitman's permutation test follows. The interval adds a right and a wrong label to each round
    (Agresti & Caffo 2000).
    """
    cell = worker.astype(np.int64) * n_strata + stratum
    shape = n_workers, n_strata

    def summed(some: FloatArray | BoolArray) -> FloatArray:
        return np.bincount(cell, some, n_workers * n_strata).reshape(shape).astype(np.float64)

    n1, n2 = summed(~second), summed(second)
    k1, k2 = summed(value * ~second), summed(value * second)
    n, k = n1 + n2, k1 + k2
    squares = np.maximum(summed(value**2) - np.divide(k**2, n, out=np.zeros(shape), where=n > 0), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.nan_to_num(n1 * n2 / n)
        total = weight.sum(1)
        means = [np.nansum(weight * k_ / n_, 1) / total for k_, n_ in ((k1, n1), (k2, n2))]
        excess = np.nansum(np.where(weight > 0, k2 - n2 * k / n, 0), 1)
        variance = np.nansum(np.where(weight > 0, n1 * n2 / (n * (n - 1)) * squares, 0), 1)
        met = weight > 0
        freedom = (n * met).sum(1) - met.sum(1)
        z = np.maximum(np.abs(excess) - 0.5, 0) / np.sqrt(variance)
        share = np.minimum(z**2 / freedom, 1 - 1e-12)
        p_value = 2 * stdtr(freedom - 1, -np.sqrt(share * (freedom - 1) / (1 - share)))
        spread = 0.0
        for mean, n_ in zip(means, (n1, n2), strict=True):
            labels = (n_ * met).sum(1)
            drawn = (mean * labels + 1) / (labels + 2)
            spread = spread + drawn * (1 - drawn) * np.nansum(np.where(met, weight**2 / n_, 0), 1) / total**2
        half = 1.96 * np.sqrt(spread)
    least = np.minimum((n1 * met).sum(1), (n2 * met).sum(1))
    tested = (least >= _LEAST) & (variance > 1e-12) & (freedom >= 2)
    gap = means[1] - means[0]
    return Change(means[0], means[1], gap - half, gap + half, np.where(tested, p_value, np.nan))
