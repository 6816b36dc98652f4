"""Tests of mistakes that more workers share than independent ones would by chance, and of the guideline's mistakes.

The obvious test asks how likely it is that so many workers are in a cell (a, b) when each of them drew their k
different wrong labels for class a at random. It is exact, but blind where workers label a lot: who made every
possible mistake at least once is in every cell. So `sharing_p_values` conditions on more, on how often each worker gave
each of their wrong labels, and looks at how high b ranks among them. Where a worker gave every wrong label equally
often both are the same test; where not, this one has more power, and it works for five workers as for thousands.

It takes the tasks as given. A wrong gold label, or a task with a foil of its own, puts all its workers into one cell at
once; `task_evidence` takes the tasks as a sample, too, so that the labels of one task are one piece of evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc, ndtr, ndtri

from crowdcore.analysis.statistics import benjamini_hochberg, divide, holm
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.analysis.verdicts.skill import tell_apart
from crowdcore.core.mistakes import CarriedSums
from crowdcore.core.types import BoolArray, FloatArray, IntArray

NULL = (
    "“By chance” means: every worker keeps how many mistakes they made on each true class, but which wrong class each "
    "went to is shuffled, separately for each worker; and tasks may mislead all their workers, each to a class of its "
    "own."
)


class SharingTest(NamedTuple):
    """The test over workers.

    Attributes:
        p_value: (C, C) chance of a sum of ranks at least as high; NaN where not tested.
        expected: (C, C) workers expected in the cell by chance; NaN where not tested.
        score: (K,) contribution of each triple to its cell's sum: twice the rank less that of labels never given.
        variance: (C,) variance of the sum under the null, the same for all cells of a true class.
    """

    p_value: FloatArray
    expected: FloatArray
    score: FloatArray
    variance: FloatArray


def sharing_p_values(cell: IntArray, worker: IntArray, times: IntArray, n_classes: int) -> SharingTest:
    """Test each cell (a, b) against `NULL`.

    For a true class a, each worker ranks the C - 1 wrong classes by how often they gave them (ties share their mean
    rank). The statistic of (a, b) is the sum over workers of b's rank. Under the null a worker's rank of b is any of
    their ranks with probability 1 / (C - 1), so the sum's distribution is known (`ScoreSum`): exact for small
    numbers of workers, a saddlepoint approximation for large ones. Workers are independent under the null whatever
    their own favourite mistakes, error rates and numbers of annotations are.

    Args:
        cell: (K,) int64 ``true * C + given`` of the distinct (true, given, worker) triples.
        worker, times: (K,) worker and number of annotations of each triple.

    Returns:
        NaN on the diagonal and in rows where there is nothing to test: fewer than two workers whose wrong labels
        differ in number; always so if C = 2.
    """
    p_value = np.full((n_classes, n_classes), np.nan)
    expected = np.full((n_classes, n_classes), np.nan)
    true, given = np.divmod(cell, n_classes)
    wrong = np.flatnonzero(true != given)
    order = wrong[np.lexsort((times[wrong], worker[wrong], true[wrong]))]
    true, given, worker, times = true[order], given[order], worker[order], times[order]
    patterns = _Patterns(true, worker, times, n_classes)
    edges = np.searchsorted(true, np.arange(n_classes + 1))
    for a in np.flatnonzero(np.diff(edges)):
        row = slice(edges[a], edges[a + 1])
        total = patterns.of_row(int(a))
        if total is None:
            continue
        others = np.delete(np.arange(n_classes), a)
        sums = np.bincount(given[row], weights=patterns.score[row], minlength=n_classes)[others]
        p_value[a, others] = total.tail(sums.astype(np.int64))
        expected[a, others] = len(given[row]) / (n_classes - 1)
    score, n_labels = np.zeros(len(cell)), max(n_classes - 1, 1)
    score[order] = patterns.score
    of = np.repeat(np.arange(len(patterns.made)), patterns.made)
    mean, square = (np.bincount(of, patterns.score.astype(float) ** k) / n_labels for k in (1, 2))
    variance = np.bincount(patterns.true, square - mean**2, n_classes).astype(np.float64)
    return SharingTest(p_value, expected, score, variance)


class _Patterns:
    """Scores of each worker's mistakes on tasks of a class; the null keeps the scores, and shuffles the classes.

    A score is twice the rank, less that of the classes which the worker never gave (so these score 0). Workers with
    the same scores are recognised by a random 64-bit sum of them (Zobrist hash). Mistakes are sorted by true class,
    worker and number of annotations.
    """

    def __init__(self, true: IntArray, worker: IntArray, times: IntArray, n_classes: int) -> None:
        new = np.ones(len(true), bool)
        new[1:] = (true[1:] != true[:-1]) | (worker[1:] != worker[:-1])
        tie = new.copy()
        tie[1:] |= times[1:] != times[:-1]
        self.first = np.flatnonzero(new)  # of each (class, worker)
        self.made = np.diff(np.append(self.first, len(true)))
        self.true = true[self.first]
        self.n_labels = n_classes - 1
        at = np.arange(len(true))
        ties = np.flatnonzero(tie)
        size = np.diff(np.append(ties, len(true)))
        lowest = np.repeat(at[ties], size) - np.repeat(self.first, self.made)
        twice_rank = 2 * lowest + np.repeat(size, size) + 1
        self.score = twice_rank + np.repeat(self.n_labels - self.made, self.made) - 1
        keys = np.random.default_rng(0).integers(0, 2**64, 2 * n_classes, dtype=np.uint64)
        self.hash = np.add.reduceat(keys[self.score], self.first) if len(true) else np.empty(0, np.uint64)

    def of_row(self, a: int) -> ScoreSum | None:
        """Sum of scores over the workers who made mistakes on class a; None if fewer than two of them vary."""
        rows = np.arange(*np.searchsorted(self.true, [a, a + 1]))
        distinct, n = np.unique(self.hash[rows], return_index=True, return_counts=True)[1:]
        chosen = rows[distinct]
        made = self.made[chosen]
        block = np.repeat(self.first[chosen] - np.cumsum(made) + made, made) + np.arange(made.sum())
        width = 2 * self.n_labels + 1
        key, ways = np.unique(np.repeat(np.arange(len(chosen)), made) * width + self.score[block], return_counts=True)
        never = np.flatnonzero(made < self.n_labels)
        key = np.append(key, never * width)
        ways = np.append(ways, self.n_labels - made[never])
        order = np.argsort(key)
        pattern, score = np.divmod(key[order], width)
        start = np.searchsorted(pattern, np.arange(len(chosen) + 1))
        if n[np.diff(start) > 1].sum() < 2:
            return None
        return ScoreSum(score, ways[order], start, n, self.n_labels)


_BUDGET = 30_000_000  # multiplications up to which the distribution is convolved exactly
_STEPS = 40


@dataclass(frozen=True, eq=False)
class ScoreSum:
    """Sum in which ``n[j]`` terms draw from pattern j: one of ``n_labels`` labels, all equally likely.

    Args:
        score: (E,) int64 the scores of all patterns, one after the other, distinct and ascending within each.
        ways: (E,) number of labels with that score; they add up to ``n_labels`` in each pattern.
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
        """Convolve, in sums of positive numbers, so that relative errors stay small even far in the tail."""
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


_LEAST = 1e-300  # smallest p-value that has a normal quantile


class TaskEvidence(NamedTuple):
    """Test over workers, corrected for the variance between tasks.

    Attributes:
        p_value: (C, C) at least that over workers; NaN where not tested.
        carriers: (C, C) effective number of tasks with the cell, ``(Σ_i c_i)² / Σ_i c_i²``: their number if all add as
            much to the sum of ranks, 1 if one adds nearly all, 0 on the diagonal and where nobody made the mistake.
    """

    p_value: FloatArray
    carriers: FloatArray


def task_evidence(test: SharingTest, carried: CarriedSums) -> TaskEvidence:
    """Add the variance between tasks to the test's own.

    A worker's score for a cell is divided into equal parts s, one for each annotation that made the mistake, and
    ``c_i`` is the sum of the parts of task i. If all tasks of the class were alike, it would be κ n_i with n_i labels
    of the task and ``κ = Σ c_i / Σ n_i``. Tasks that mislead add to the variance V of the test's sum the excess
    ``E = max(0, Σ_i (c_i - κ n_i)² - Σ (s - κ)²)``, where the second sum runs over annotations, and the normal quantile
    z of the p-value becomes ``z √(V / (V + E))``. So k tasks alike can hardly reach more than √k.
    ``carried`` holds the sums of c_i, c_i² and so on, of the test's scores.
    """
    n_classes = len(test.variance)
    shape = (n_classes, n_classes)
    total, squares, weighted, parts = (
        x.reshape(shape) for x in (carried.total, carried.squares, carried.weighted, carried.parts)
    )
    labels, labels_squared = carried.labels[:, None], carried.labels_squared[:, None]
    share = total / np.maximum(labels, 1)
    between = squares - 2 * share * weighted + share**2 * labels_squared
    within = parts - share**2 * labels
    variance = test.variance[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.sqrt(variance / (variance + np.maximum(between - within, 0)))
        carriers = np.where(squares > 0, total**2 / squares, 0.0)
    quantile = ndtri(np.maximum(test.p_value, _LEAST))
    return TaskEvidence(np.maximum(test.p_value, ndtr(quantile * kept)), carriers)


CARRIERS = 3
"""Number of workers who surely make a mistake, from which it is the guideline's."""
_FLOOR = 0.05  # rate of a mistake that needs no explanation
_SHARE, _TIMES = 0.2, 2.5  # share of a class, and labels, from which a mistake is one of a worker's
_MANY = 0.1  # share of workers who make a mistake of two classes, above which it is the guideline's
_NEAR = 0.25  # median class's share of mistakes with its neighbours, beyond chance, from which classes are grades


@dataclass(frozen=True, eq=False)
class GuidelineMistakes:
    """Mistakes of the guideline, and the workers who make them.

    Attributes:
        cells: (C, C) bool, whether a mistake (true, given) is the guideline's.
        carriers: (n_workers, C, C) bool, whether a worker surely makes it.
        graded: whether classes are grades, so that mistakes mostly go to the neighbours.
    """

    cells: BoolArray
    carriers: BoolArray
    graded: bool = False


def guideline_mistakes(
    peers: Peers, places: FloatArray | None = None, *, checked: bool, level: float = 0.05
) -> GuidelineMistakes:
    """Find the mistakes that `CARRIERS` workers or more surely make, which are not their own fault.

    A worker carries (a, b) if so many labels b on tasks of class a are improbable at the larger one of three rates: the
    median worker's in this cell, which carriers do not raise while they are fewer than half; the worker's own rate of
    any one other mistake, so that a weak worker carries none; and 0.05. Binomial tails, Benjamini–Hochberg over all
    cells of all workers at ``level``.

    Of ordered classes the second rate is the largest one at which the worker errs in that direction on another class:
    a strict or lenient worker confuses neighbours all along the scale, which is a lean (`worker_lean`).

    With two classes, a worker who gives one of them too readily makes a single mistake, just as by a guideline. So a
    carrier must distinguish the classes, a tenth of the workers must be carriers, and if workers then make both
    mistakes, each is a lean of its own.

    Labels cannot distinguish workers who agreed on a mistake from a guideline that asks for it: in both cases it is one
    mistake of many people, so that it would be wrong to accuse or train one of them.

    Args:
        peers: beliefs that judge each label.
        places: (C,) place of each class in their order; None if they have none.
        checked: whether gold or marks judge; if not, most of those who judge the carriers must not be carriers.
        level: share of false carriers.
    """
    n = peers.judge.shape[1]
    counts, _ = peers.counted
    rows = counts.sum(2, keepdims=True)
    share = divide(counts, np.where(rows >= 1, rows, 0))
    there = ~np.isnan(share)
    ranked = np.sort(np.where(there, share, np.inf), axis=0)
    middle = np.maximum((there.sum(0) - 1) // 2, 0)
    typical = np.take_along_axis(ranked, middle[None], 0)[0]
    wrong = counts * ~np.eye(n, dtype=bool)
    elsewhere = wrong.sum((1, 2), keepdims=True) - wrong
    room = (rows.sum(1, keepdims=True) - rows) * (n - 1) + rows * max(n - 2, 0)
    habit, graded = divide(elsewhere, np.maximum(room, 1e-9)), False
    if places is not None:
        step, graded = places - places[:, None], are_grades(counts, places)
        for towards in (step > 0, step < 0):
            lean = ((wrong * towards).sum(2) + _FLOOR) / (rows[:, :, 0] + 1)
            most = np.sort(lean, 1)[:, -2:]
            other = np.where(lean == most[:, 1:], most[:, :1], most[:, 1:])
            habit = np.where(towards, np.maximum(habit, other[:, :, None]), habit)
    usual = np.maximum(np.where(np.isfinite(typical), typical, 1.0), _FLOOR)
    rate = np.clip(np.maximum(usual, habit), 0, 1 - 1e-9)
    tested = ~np.eye(n, dtype=bool) & (rate**rows <= level) & (rows > 0)
    p_value = np.where(tested, 1.0, np.nan)
    some = np.nonzero(tested & (counts > rate * rows))
    k, of = counts[some], np.broadcast_to(rows, counts.shape)[some]
    p_value[some] = betainc(k, np.maximum(of - k, 0) + 1, rate[some])
    sure: FloatArray = np.nan_to_num(benjamini_hochberg(p_value), nan=1.0)
    carriers = (sure <= level) & (counts >= _SHARE * rows) & (counts >= _TIMES)
    cells = carriers.sum(0) >= CARRIERS
    if n == 2:
        carriers &= tell_apart(counts)[:, None, None]
        cells = carriers.sum(0) >= np.maximum(CARRIERS, _MANY * tested.sum(0))
        cells &= ~cells.T
    if not checked and cells.any():
        cells[cells] = _among_carriers(peers, carriers[:, cells]) <= 0.5
    return GuidelineMistakes(cells, carriers & cells, graded)


def are_grades(counts: FloatArray, places: FloatArray) -> bool:
    """Return whether the classes are grades: mistakes mostly go to neighbours by ``places`` (C,)."""
    n = len(places)
    near, wrong = np.abs(places - places[:, None]) == 1, counts.sum(0) * ~np.eye(n, dtype=bool)
    chance = near.sum(1) / (n - 1)
    beyond = divide(divide((wrong * near).sum(1), wrong.sum(1)) - chance, 1 - chance)
    return bool(wrong.any() and np.median(beyond[~np.isnan(beyond)]) > _NEAR)


def _among_carriers(peers: Peers, carriers: BoolArray) -> FloatArray:
    """(K,) share of the carriers (n_workers, K) among those who label a task beside one: teams judge themselves."""
    n, n_workers = len(peers.crowd), len(carriers)
    every = np.bincount(peers.task, minlength=n)
    start = np.concatenate([[0], every.cumsum()])
    labelled = csr_array((np.ones(len(peers.worker)), peers.worker, start), (n, n_workers))
    share = []
    for one in carriers.T:
        of = labelled @ one.astype(np.float64)
        share.append((of @ of - of.sum()) / max(of @ every - of.sum(), 1))
    return np.array(share)


def guideline_cells(shared_p: FloatArray, own: GuidelineMistakes, *, checked: bool, level: float = 0.01) -> BoolArray:
    """(C, C) mistakes of the guideline: repeated by several workers, or made by more workers than chance explains.

    As somebody is to act on them, the second test bounds the chance of any false one (Holm). It takes all wrong classes
    for equally likely, so it says nothing of grades, where neighbours are mistaken most. Where no gold judges, tasks on
    which most workers make a repeated mistake (a, b) count as b: those who are right then seem to share (b, a), which
    is not counted.

    Args:
        shared_p: (C, C) p-values of `SharedMistakes` against the most probable classes, NaN where not tested.
        own: who repeats which mistake.
        checked: whether gold or marks judge.
        level: chance of a false one by the second test; in honest crowds no mistake that it finds is true.
    """
    mirrored = own.cells.T & (not checked)
    adjusted = holm(shared_p.ravel()).reshape(shared_p.shape)
    if own.graded:
        return own.cells
    return np.asarray(own.cells | ((np.nan_to_num(adjusted, nan=1.0) <= level) & ~mirrored))
