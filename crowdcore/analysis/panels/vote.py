"""Accuracy of a panel's vote without each judge, and of the cheapest sub-panel within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import AnyArray, FloatArray, IntArray

_BLOCK = 2_000_000  # labels at once
_CHOSEN_ON = 10_000  # items at most that choose a part of the panel


def vote_score(votes: AnyArray, truth: IntArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """(n,) score of the vote, 1 if right, (n, m) the same without each judge; NaN where nobody judged.

    Each of k equal first places counts 1/k, so that a panel of odd size does not gain by having no ties.
    """
    n, m = votes.shape
    whole, without = np.empty(n, np.float32), np.empty((n, m), np.float32)
    step = max(1, _BLOCK // m)
    for at in range(0, n, step):
        some = slice(at, at + step)
        whole[some], without[some] = _score(votes[some], truth[some], n_classes)
    return whole, without


def _score(votes: AnyArray, truth: IntArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    n = len(votes)
    row, judge = np.nonzero(votes >= 0)
    label = votes[row, judge].astype(np.int64)
    counts = np.bincount(row * n_classes + label, minlength=n * n_classes).reshape(n, n_classes)
    right = counts[np.arange(n), truth]
    others = counts.copy()
    others[np.arange(n), truth] = -1
    best = others.max(1)
    ties, next_best = (others == best[:, None]).sum(1), (others == (best - 1)[:, None]).sum(1)
    whole = _share(right, best, ties)
    whole[counts.sum(1) == 0] = np.nan
    without = np.repeat(whole[:, None], votes.shape[1], 1)
    r, b, t = right[row], best[row], ties[row]
    own = label == truth[row]
    at_best = ~own & (counts[row, label] == b)
    alone = at_best & (t == 1)
    now = _share(r - own, b - alone, np.where(alone, next_best[row] + 1, t - at_best))
    now[counts.sum(1)[row] == 1] = np.nan
    without[row, judge] = now
    return whole, without


def _share(right: IntArray, best: IntArray, ties: IntArray) -> FloatArray:
    """Chance that the right class wins, by its votes, those of the best wrong classes, and the number of these."""
    return np.where(right > best, 1.0, np.where(right == best, 1 / (1 + np.maximum(ties, 0)), 0.0)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class SubPanel:
    """The cheapest sub-panel whose vote is as accurate, within a tolerance.

    Attributes:
        members: (k,) numbers of the judges who stay, ascending.
        accuracy, low, high: of its vote minus the whole panel's, on items that did not choose it, with the 95 %
            interval; of n items without any difference that is 3 / n wide each way.
        whole: accuracy of the whole panel's vote on these items.
        cost: its cost as a share of the whole panel's.
        n: number of these items.
    """

    members: IntArray
    accuracy: float
    low: float
    high: float
    whole: float
    cost: float
    n: int


def sub_panel(
    votes: AnyArray, truth: IntArray, n_classes: int, cost: FloatArray, tolerance: float, seed: int = 0
) -> SubPanel:
    """Leave out judges in turn, each time the one without whom the vote of one half of the items is best, or a more
    expensive one that costs half the tolerance at most. Of all steps the cheapest within the tolerance of the best vote
    is taken, and judged on the other half.
    """
    order = np.random.default_rng(seed).permutation(len(votes))
    half = min(len(order) // 2, _CHOSEN_ON)
    first, second = order[:half], order[half:]
    here, true = votes[first], truth[first]
    stay = np.arange(votes.shape[1])
    steps = [(float(np.nan_to_num(vote_score(here, true, n_classes)[0]).mean()), stay)]
    while len(stay) > 1:
        means = np.nan_to_num(vote_score(here[:, stay], true, n_classes)[1]).mean(0)
        may = np.flatnonzero(means >= means.max() - tolerance / 2)
        gone = may[np.lexsort((-means[may], -cost[stay[may]]))[0]]
        stay = np.delete(stay, gone)
        steps.append((float(means[gone]), stay))
    best = max(accuracy for accuracy, _ in steps)
    good = [members for accuracy, members in steps if accuracy >= best - tolerance]
    stay = min(good, key=lambda members: float(cost[members].sum()))
    whole = np.nan_to_num(vote_score(votes[second], truth[second], n_classes)[0])
    gap = np.nan_to_num(vote_score(votes[np.ix_(second, stay)], truth[second], n_classes)[0]) - whole
    mean, error = float(gap.mean()), max(1.96 * float(gap.std()), 3 / np.sqrt(len(gap))) / np.sqrt(len(gap))
    share = float(cost[stay].sum() / max(cost.sum(), 1e-300))
    return SubPanel(stay, mean, mean - error, mean + error, float(whole.mean()), share, len(second))
