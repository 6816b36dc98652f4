"""How much better than chance each worker is, with its interval and the two tests that a verdict rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.types import AnyArray, FloatArray

_LEAST = 1e-9  # evidence below which nothing is said


@dataclass(frozen=True, eq=False)
class SkillEvidence:
    """Sufficient statistics of each worker's skill κ; arrays (n_workers,).

    Attributes:
        n: labels that could be judged.
        hits: X = Σ_i x_i, belief in the worker's labels less what chance would give.
        room: G = Σ_i g_i, what X would be for a perfect worker.
        variance: (3, n_workers) a_0, a_1, a_2 of the variance ``a_0 + a_1 κ + a_2 κ²`` of X.
    """

    n: FloatArray
    hits: FloatArray
    room: FloatArray
    variance: FloatArray

    @property
    def skill(self) -> FloatArray:
        """κ = X / G, 0 for guessing and 1 for a perfect worker; NaN without evidence."""
        found = np.full(len(self.n), np.nan)
        return np.asarray(np.clip(np.divide(self.hits, self.room, out=found, where=self.room > _LEAST), -1, 1))

    def z(self, skill: float) -> FloatArray:
        """Standardised X under this skill; 0 where X cannot vary."""
        spread = np.sqrt(np.maximum(self.variance[0] + self.variance[1] * skill + self.variance[2] * skill**2, 0))
        gap = self.hits - skill * self.room
        return np.asarray(np.divide(gap, spread, out=np.zeros(len(self.n)), where=spread > _LEAST))

    def below(self, skill: float) -> FloatArray:
        """p-value of so little agreement if the skill were at least this; NaN without evidence."""
        return np.where(self.room > _LEAST, ndtr(self.z(skill)), np.nan)

    def above_chance(self) -> FloatArray:
        """p-value of so much agreement for a worker who guesses."""
        return np.where(self.room > _LEAST, ndtr(-self.z(0.0)), np.nan)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Score interval: all κ with ``(X - κ G)² <= z² (a_0 + a_1 κ + a_2 κ²)``, as Wilson's of a share."""
        z2 = float(ndtri((1 + level) / 2)) ** 2
        a, b, c = (
            self.room**2 - z2 * self.variance[2],
            -2 * self.hits * self.room - z2 * self.variance[1],
            self.hits**2 - z2 * self.variance[0],
        )
        known = self.room > _LEAST
        a = np.where(known, a, np.nan)
        root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0))
        return np.clip((-b - root) / (2 * a), -1, 1), np.clip((-b + root) / (2 * a), -1, 1)

    def typical(self) -> float:
        """Median skill, workers weighted by their judged labels; NaN without any."""
        known = np.flatnonzero(~np.isnan(self.skill))
        if not len(known):
            return float("nan")
        order = known[np.argsort(self.skill[known], kind="stable")]
        so_far = np.cumsum(self.n[order])
        return float(self.skill[order[np.searchsorted(so_far, so_far[-1] / 2)]])


def skill_evidence(peers: Peers, n_workers: int) -> SkillEvidence:
    """Sum what each label says of its worker's skill.

    A worker who knows the truth with probability κ and else draws a label from the own label shares f gives label y
    to a task with belief q with probability ``κ q(y) + (1 - κ) f(y)``. Then ``x = q(y) - Σ_c f(c) q(c)`` has mean
    ``κ g`` with ``g = Σ_c q(c)² - Σ_c f(c) q(c)``, and variance
    ``Σ_c P(c) q(c)² - (Σ_c P(c) q(c))²``, quadratic in κ. With gold, κ is Cohen's kappa against gold. With the other
    workers' beliefs it is right as far as these are calibrated; where they are too sure, all workers' skills shrink
    by about the same factor, so verdicts compare with the typical worker.

    Args:
        peers: labels and beliefs.
        n_workers: R.
    """
    known = ~np.isnan(peers.judge[:, 0])
    worker, label, q = peers.worker[known], peers.label[known], peers.judge[known]
    n_classes = q.shape[1]
    cell = worker.astype(np.int64) * n_classes + label
    given = np.bincount(cell, minlength=n_workers * n_classes).reshape(n_workers, n_classes)
    crowd = given.sum(0) / max(given.sum(), 1)
    shares = ((given + crowd) / (given.sum(1, keepdims=True) + 1))[worker]
    squares = q * q
    by_chance, by_chance2 = np.einsum("pc,pc->p", shares, q), np.einsum("pc,pc->p", shares, squares)
    second, third = squares.sum(1), np.einsum("pc,pc->p", squares, q)
    x, g = q[np.arange(len(q)), label] - by_chance, second - by_chance

    def per_worker(values: AnyArray) -> FloatArray:
        return np.bincount(worker, values, n_workers).astype(np.float64)

    variance = np.stack(
        [
            per_worker(by_chance2 - by_chance**2),
            per_worker(third - by_chance2 - 2 * by_chance * g),
            per_worker(-(g**2)),
        ]
    )
    return SkillEvidence(given.sum(1).astype(np.float64), per_worker(x), per_worker(g), variance)


def labels_needed(evidence: SkillEvidence, low: FloatArray, high: FloatArray, below: float, above: float) -> FloatArray:
    """(n_workers,) labels whose interval ends at ``above``, with a third to spare; its width falls as 1 / √n."""
    gap = np.maximum(np.abs(evidence.skill - above), max((above - below) / 2, 1e-3))
    reach = np.where(evidence.skill > above, evidence.skill - low, high - evidence.skill)
    return np.asarray(evidence.n * (4 / 3 * reach / gap) ** 2)
