"""Skill of each worker with its tests, and the confusion that each worker should be trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv, ndtr, ndtri

from crowdcore.analysis.statistics import benjamini_hochberg, divide
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

_LEAST = 1e-9  # evidence below which skill is unknown
ENOUGH = 8.0
"""Room from which a worker can be said to guess."""


@dataclass(frozen=True, eq=False)
class SkillEvidence:
    """Sufficient statistics of each worker's skill κ; arrays (n_workers,).

    Attributes:
        n: labels that could be judged.
        hits: X = Σ_i x_i, belief in the worker's labels less its expectation by chance.
        room: G = Σ_i g_i, expected X of a perfect worker.
        variance: (3, n_workers) a_0, a_1, a_2 of the variance ``a_0 + a_1 κ + a_2 κ²`` of X.
        beside: κ of the other workers on this worker's tasks, NaN where it is not known.
    """

    n: FloatArray
    hits: FloatArray
    room: FloatArray
    variance: FloatArray
    beside: FloatArray

    @property
    def skill(self) -> FloatArray:
        """κ = X / G, 0 for guessing and 1 for a perfect worker; NaN without evidence."""
        return np.clip(divide(self.hits, np.where(self.room > _LEAST, self.room, 0)), -1, 1)

    def z(self, skill: float | FloatArray) -> FloatArray:
        """Standardised X under this skill; 0 where X cannot vary."""
        spread = np.sqrt(np.maximum(self.variance[0] + self.variance[1] * skill + self.variance[2] * skill**2, 0))
        gap = self.hits - skill * self.room
        return np.asarray(np.divide(gap, spread, out=np.zeros(len(self.n)), where=spread > _LEAST))

    def below(self, skill: float | FloatArray) -> FloatArray:
        """p-value of "skill at least this"; NaN without evidence."""
        return np.where(self.room > _LEAST, ndtr(self.z(skill)), np.nan)

    def usual(self) -> FloatArray:
        """(n_workers,) the typical skill, or that of the others on the worker's own tasks if smaller."""
        return np.clip(np.fmin(self.typical(), self.beside), 0, 1)

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
    """Sum the evidence of each label on its worker's skill.

    A worker who knows the truth with probability κ, and else draws a label from their own label shares f, gives label y
    to a task with belief q with probability ``P(y) = κ q(y) + (1 - κ) f(y)``. Then ``x = q(y) - Σ_c f(c) q(c)`` has
    mean ``κ g`` with ``g = Σ_c q(c)² - Σ_c f(c) q(c)``, and variance ``Σ_c P(c) q(c)² - (Σ_c P(c) q(c))²``, quadratic
    in κ. With gold, κ is Cohen's kappa against gold. Otherwise it is right if the other workers' beliefs are
    calibrated; where they are too sure, all workers' skills shrink by about the same factor, so verdicts compare with
    the typical worker.
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

    terms = by_chance2 - by_chance**2, third - by_chance2 - 2 * by_chance * g, -(g**2)
    variance = np.stack([per_worker(term) for term in terms])
    n_tasks, task = len(peers.crowd), peers.task[known]

    def of_others(values: FloatArray) -> FloatArray:
        return per_worker(np.bincount(task, values, n_tasks)[task] - values)

    room = of_others(g)
    beside = divide(of_others(x), np.where(room >= ENOUGH, room, 0))
    return SkillEvidence(given.sum(1).astype(np.float64), per_worker(x), per_worker(g), variance, beside)


_DRAWS = 400


def no_knowledge(peers: Peers, worker: int, *, ordered: bool = False) -> float:
    """p-value of "the labels are independent of the truth", by permuting them over the worker's own tasks.

    The statistics are agreement and mutual information with the judge, and for ordered classes the absolute
    correlation; the smallest p-value counts, times their number. A worker who is strict, lenient or mixes up classes
    knows something.
    """
    own = np.flatnonzero((peers.worker == worker) & ~np.isnan(peers.judge[:, 0]))
    belief, label = peers.judge[own], peers.label[own]
    n, n_classes = len(own), belief.shape[1]
    if n < 2:
        return 1.0
    rng, given = np.random.default_rng(worker), np.bincount(label, minlength=n_classes)
    independent = np.maximum(np.outer(belief.sum(0), given) / n, 1e-12)
    numbers = belief @ np.arange(n_classes)
    numbers = numbers - numbers.mean()

    def statistics(labels: IntArray) -> FloatArray:
        joint = np.stack([np.bincount(labels, belief[:, c], n_classes) for c in range(n_classes)])
        values = [joint.trace(), (joint * np.log(np.maximum(joint, 1e-12) / independent)).sum()]
        return np.array([*values, abs(numbers @ labels)] if ordered else values)

    here = statistics(label) - 1e-9
    beyond = sum((statistics(rng.permutation(label)) >= here).astype(int) for _ in range(_DRAWS))
    return float(min(1.0, len(here) * (1 + np.min(beyond)) / (_DRAWS + 1)))


def labels_needed(evidence: SkillEvidence, low: FloatArray, high: FloatArray, below: float, above: float) -> FloatArray:
    """(n_workers,) labels whose interval ends at ``above``, with a third to spare; its width falls as 1 / √n."""
    gap = np.maximum(np.abs(evidence.skill - above), max((above - below) / 2, 1e-3))
    reach = np.where(evidence.skill > above, evidence.skill - low, high - evidence.skill)
    return np.asarray(evidence.n * (4 / 3 * reach / gap) ** 2)


_FLOOR_RATE = 0.02  # rates up to this are not worth training
_TIMES = 2.5  # labels from which a confusion counts as repeated
_TAIL = 0.05  # of the lower limit, one-sided


@dataclass(frozen=True, eq=False)
class Confused:
    """Surest confusion of each worker; arrays (n_workers,), -1 and NaN where there is none to test.

    Attributes:
        true, given: classes a and b.
        times, of: (expected) labels b on tasks of class a, and all labels on these tasks.
        low: one-sided 95 % Clopper–Pearson limit of the worker's rate.
        others: the rate of all other workers.
        q_value: after Benjamini–Hochberg over all workers' cells.
        back, back_of: the same of labels a on tasks of class b, where that is as large and sure, else NaN.
    """

    true: IntArray
    given: IntArray
    times: FloatArray
    of: FloatArray
    low: FloatArray
    others: FloatArray
    q_value: FloatArray
    back: FloatArray
    back_of: FloatArray


def tell_apart(counts: FloatArray) -> BoolArray:
    """(n_workers,) bool, whether a worker clearly tells two classes apart, by (n_workers, 2, 2) counts.

    That is, Youden's J is above 0 at 5 %, one-sided, by the normal approximation; one class for all tasks has J = 0.
    """
    n = counts.sum(2)
    right = divide(np.diagonal(counts, axis1=1, axis2=2), n)
    noise = np.sqrt(divide(right * (1 - right) + 1 / (n + 2), n).sum(1))
    return np.asarray(right.sum(1) - 1 > 1.645 * noise)


def common_mistakes(peers: Peers, least: float) -> BoolArray:
    """(C, C) bool, mistakes of most workers who saw a class (five at least), each on the share ``least`` of it."""
    counts = peers.counted[0]
    rows = counts.sum(2, keepdims=True)
    saw = rows >= _TIMES
    makers = ((counts >= least * rows) & saw).sum(0)
    return np.asarray((2 * makers > saw.sum(0)) & (makers >= 5))


def confused_cells(
    peers: Peers, n_workers: int, least: float, level: float, shared: BoolArray | None = None
) -> Confused:
    """Test every cell (a, b) of every worker: is it one mistake, made again and again, and not everyone's?

    Of n_a labels n_ab are b. The p-value is the larger one of two: ``P(Bin(n_a, p_0) >= n_ab)``, where p_0 is the
    others' rate in the same cell, in the crowd or on this worker's own tasks, or 0.02 if that is larger; and
    ``P(Bin((n_ab + m) / v, s) >= n_ab / v)``, where m are the worker's other mistakes (with three classes or more
    without those that mix up the same pair), and s is the share of n_ab + m that would fall into the cell if the worker
    made all these mistakes equally often. That compares two rates given their sum, which allows for chance in m; v is 1
    less their common rate, as mistakes vary less the more frequent they are. Counts are expected ones where the truth
    is a belief. Cells that could not reach p <= 0.05 are not tested. A worker's cell is the least probable of those
    with ``n_ab >= least · n_a``, without the mistakes ``shared`` (C, C) of the guideline; the reverse confusion is
    given if its q-value is at most ``level``. Of two classes, only workers who `tell_apart` the classes confuse them.
    """
    n_classes = peers.judge.shape[1]
    counts, on_own_tasks = peers.counted
    rows = counts.sum(2, keepdims=True)
    rest, rest_rows = counts.sum(0) - counts, rows.sum(0) - rows
    others = np.divide(rest, rest_rows, out=np.zeros_like(rest), where=rest_rows > 1e-9)
    wrong = ~np.eye(n_classes, dtype=bool)

    def elsewhere(of: AnyArray) -> FloatArray:
        """(R, C, C) sum over a worker's mistakes without a cell and, with three classes or more, its reverse."""
        of = of * wrong
        back = of.transpose(0, 2, 1) * (n_classes > 2)
        return np.asarray(of.sum((1, 2), keepdims=True) - of - back)

    rate = np.clip(np.maximum(np.maximum(others, on_own_tasks), _FLOOR_RATE), 0, 1 - 1e-9)
    n = np.broadcast_to(rows, counts.shape)
    m, of_m = elsewhere(counts), elsewhere(n)
    share = n / np.maximum(n + of_m, 1e-9)
    tested = wrong & (n > 0) & (rate**n <= 0.05) & (betainc(np.maximum(n, 1e-9), m + 1, share) <= 0.05)
    some = np.nonzero(tested & (counts > rate * n))
    p_value = np.where(tested, 1.0, np.nan)
    k, n, m, of_m = counts[some], n[some], m[some], of_m[some]
    v = 1 - np.minimum((k + m) / (n + of_m), 0.95)
    p_value[some] = np.maximum(betainc(k, np.maximum(n - k, 0) + 1, rate[some]), betainc(k / v, m / v + 1, share[some]))
    q_value = benjamini_hochberg(p_value)
    own = np.ones_like(wrong) if shared is None else ~shared
    if n_classes == 2:
        own = own & tell_apart(counts)[:, None, None]
    large = tested & own & (counts >= least * rows) & (counts >= _TIMES)
    flat = np.where(large, p_value, np.inf).reshape(n_workers, -1).argmin(1)
    true, given = np.divmod(flat, n_classes)
    at = np.arange(n_workers), true, given
    there, turned = large[at], (np.arange(n_workers), given, true)
    mutual = there & large[turned] & (q_value[turned] <= level)
    times = np.asarray(counts[at], np.float64)
    of = np.asarray(rows[np.arange(n_workers), true, 0], np.float64)
    low = np.where(times > 0, betaincinv(np.maximum(times, 1e-9), np.maximum(of - times, 0) + 1, _TAIL), 0.0)
    return Confused(
        np.where(there, true, -1),
        np.where(there, given, -1),
        times,
        of,
        np.where(there, low, np.nan),
        others[at],
        np.where(there, q_value[at], np.nan),
        np.where(mutual, counts[turned], np.nan),
        np.where(mutual, rows[np.arange(n_workers), given, 0], np.nan),
    )
