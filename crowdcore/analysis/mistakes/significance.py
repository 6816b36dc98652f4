"""Test whether more workers share a mistake than independent workers would by chance.

The obvious test asks how likely it is that so many workers are in a cell (a, b) when each of them drew their k
different wrong labels for class a at random. It is exact, but blind where workers label a lot: who made every
possible mistake at least once is in every cell. So the test here conditions on more, on how often each worker gave
each of their wrong labels, and looks at how high b ranks among them. Where a worker gave every wrong label equally
often both are the same test; where not, this one has more power, and it works for five workers as for thousands.

It takes the tasks as given: one task with a wrong gold label puts all its workers into one cell. `task_evidence` takes
the tasks as a sample, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdcore.analysis.mistakes.score_sum import ScoreSum
from crowdcore.core.types import FloatArray, IntArray

NULL = (
    "“By chance” means: every worker keeps how many mistakes they made on each true class, but which wrong class each "
    "went to is shuffled, separately for each worker; and tasks may mislead all their workers, each to a class of its "
    "own."
)


class SharingTest(NamedTuple):
    """The test over workers.

    Attributes:
        p_value: (C, C) chance of a sum of ranks at least as high; NaN where not tested.
        expected: (C, C) workers in the cell to expect by chance; NaN where not tested.
        score: (K,) what each triple adds to its cell's sum: twice the rank less that of labels never given.
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
        worker: (K,) their workers.
        times: (K,) annotations behind each triple.
        n_classes: C.

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
    """What the null keeps of each worker's mistakes on tasks of a class: their scores, not which class has which.

    A score is twice the rank, less that of the classes which the worker never gave (so these score 0). Workers with
    the same scores are told by a random 64-bit sum of them (Zobrist hash).

    Args:
        true: (K,) ascending true classes of the mistakes.
        worker: (K,) workers, ascending within a class.
        times: (K,) annotations, ascending within a worker.
        n_classes: C.
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
        """The sum of scores over the workers who made mistakes on class a; None if fewer than two of them vary."""
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


def benjamini_hochberg(p_value: FloatArray) -> FloatArray:
    """Adjusted p-values (q-values) of Benjamini & Hochberg (1995) over all entries that are not NaN.

    Calling those with q <= 0.05 significant keeps the expected share of false ones among them at most 5 % for
    independent or positively dependent tests.
    """
    adjusted = np.full(p_value.shape, np.nan)
    tested = ~np.isnan(p_value)
    p = p_value[tested]
    order = np.argsort(p)[::-1]
    rank = np.arange(len(p), 0, -1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(np.minimum(p[order] * len(p) / rank, 1.0))
    adjusted[tested] = q
    return adjusted
