"""Upper tail of a sum of independent integer scores: exact for small sums, else a saddlepoint approximation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_BUDGET = 30_000_000  # multiplications up to which the distribution is convolved exactly
_STEPS = 40


@dataclass(frozen=True, eq=False)
class ScoreSum:
    """A sum in which ``n[j]`` terms draw from pattern j: one of ``n_labels`` labels, each as likely.

    Args:
        score: (E,) int64 the scores of all patterns, one after the other, distinct and ascending within each.
        ways: (E,) how many of the labels have that score; they add up to ``n_labels`` in each pattern.
        start: (J + 1,) pattern j is ``start[j]:start[j + 1]``.
        n: (J,) terms with that pattern.
        n_labels: labels to draw from.
    """

    score: IntArray
    ways: IntArray
    start: IntArray
    n: IntArray
    n_labels: int

    def tail(self, at_least: IntArray) -> FloatArray:
        """P(sum >= x) for each x in ``at_least`` (n,)."""
        least = self.score[self.start[:-1]]
        score = self.score - np.repeat(least, np.diff(self.start))
        unit = max(int(np.gcd.reduce(score)), 1) if len(score) else 1
        x = -(-(at_least - int(self.n @ least)) // unit)
        score = score // unit
        top = score[self.start[1:] - 1]
        total = int(self.n @ top)
        small = self._cost(top, total) <= _BUDGET
        tail = self._exact(score, top, x, total) if small else self._saddlepoint(score, x, total)
        return np.asarray(np.where(x <= 0, 1.0, np.where(x > total, 0.0, tail)))

    def _cost(self, top: IntArray, total: int) -> float:
        two = np.diff(self.start) == 2
        return float((self.n * top)[~two].sum()) * total + 0.5 * float(self.n[two].sum()) ** 2

    def _exact(self, score: IntArray, top: IntArray, x: IntArray, total: int) -> FloatArray:
        """Convolve: sums of positive numbers, so that relative errors stay small also far in the tail."""
        two = np.diff(self.start) == 2
        mass = np.ones(1)
        for step in np.unique(top[two]):  # many terms have two scores: binomials on a coarse grid
            coarse = np.ones(1)
            for j in np.flatnonzero(two & (top == step)):
                chance = self.ways[self.start[j] + 1] / self.n_labels
                coarse = np.convolve(coarse, _binomial(int(self.n[j]), float(chance)))
            fine = np.zeros((len(coarse) - 1) * int(step) + 1)
            fine[:: int(step)] = coarse
            mass = np.convolve(mass, fine)
        for j in np.flatnonzero(~two & (top > 0)):
            at = slice(self.start[j], self.start[j + 1])
            single = np.bincount(score[at], weights=self.ways[at]) / self.n_labels
            for _ in range(int(self.n[j])):
                mass = np.convolve(mass, single)
        tail = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
        return np.asarray(np.minimum(tail[np.clip(x, 0, total + 1)], 1.0))

    def _saddlepoint(self, score: IntArray, x: IntArray, total: int) -> FloatArray:
        """Lugannani-Rice with Daniels' continuity correction for a lattice (Butler 2007, eq. 1.27)."""
        from scipy.special import ndtr

        chance = self.ways / self.n_labels
        mean = float(np.repeat(self.n, np.diff(self.start)) @ (chance * score))
        wanted, back = np.unique(np.clip(x, 1, total - 1), return_inverse=True)
        wanted = np.where(np.abs(wanted - mean) < 0.01, mean + 0.01, wanted)  # a removable singularity
        low, high = np.full(wanted.shape, -30.0), np.full(wanted.shape, 30.0)
        s = np.zeros(wanted.shape)
        for _ in range(_STEPS):  # Newton's method for K'(s) = x, kept inside a shrinking bracket
            _, slope, curvature = self._cumulants(score, chance, s)
            low, high = np.where(slope < wanted, s, low), np.where(slope < wanted, high, s)
            step = (wanted - slope) / curvature
            done = np.abs(step) < 1e-10
            if done.all():
                break
            inside = (s + step > low) & (s + step < high)
            s = np.where(done, s, np.where(inside, s + step, (low + high) / 2))
        cumulant, _, curvature = self._cumulants(score, chance, s)
        w = np.sign(s) * np.sqrt(np.maximum(2 * (s * wanted - cumulant), 1e-300))
        u = -np.expm1(-s) * np.sqrt(curvature)
        tail = ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
        highest = np.exp(float(self.n @ np.log(chance[self.start[1:] - 1])))
        return np.asarray(np.where(x >= total, highest, np.clip(tail, 0, 1)[back]))

    def _cumulants(
        self, score: IntArray, chance: FloatArray, s: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cumulant function of the sum at each s, and its first two derivatives."""
        shift = np.maximum(s, 0)[:, None] * np.repeat(score[self.start[1:] - 1], np.diff(self.start))
        weight = chance * np.exp(s[:, None] * score - shift)  # scaled by the largest term: no overflow
        begin = self.start[:-1]
        mass = np.add.reduceat(weight, begin, axis=1)
        first = np.add.reduceat(weight * score, begin, axis=1) / mass
        second = np.add.reduceat(weight * score**2, begin, axis=1) / mass - first**2
        return (np.log(mass) + shift[:, begin]) @ self.n, first @ self.n, np.maximum(second @ self.n, 1e-300)


def _binomial(n: int, p: float) -> FloatArray:
    """(n + 1,) binomial probabilities."""
    from scipy.special import gammaln

    k = np.arange(n + 1)
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(log_choose + k * np.log(p) + (n - k) * np.log1p(-p)))
