"""Who copies whom: pairs who agree beyond what everybody else's labels on the same tasks explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from crowdcore.analysis.coordinated.by_others import agreement_by_others
from crowdcore.analysis.coordinated.closeness import SUPPORT, closeness, linked
from crowdcore.analysis.coordinated.groups import COPY, Group, components, group_of
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import holm
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.counts import vote_counts
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

JUDGE = "pooled-dawid-skene"
"""What judges labels where there is neither gold nor marks."""
SHARES = (0.3, 0.5, 0.7, 0.9, 0.98)
"""Shares of copied labels that the evidence is averaged over."""
EXCESS = 0.25
"""Share of the room above chance that a named pair agrees on, at least."""
WITHOUT_GOLD = 0.1
"""Share of the level that is left where no gold judges: what others say of a task is a model, which may not fit."""
LEAST = 8
"""Tasks in common of a pair that is tested."""
_URNS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1e6)
_LINK = 0.05  # p-value of closeness, after Bonferroni over the pairs, from which two do not judge each other
_SUSPECT = 0.05  # p-value from which a pair is looked at again without gold
_SHRINKAGE, _FLOOR = 4.0, 0.5  # pseudo-labels of a worker's row, and of a cell of the crowd's
_USUAL = 2.0  # robust deviations of the excess over all pairs up to which likeness is usual
_MOST_USUAL = 0.6
_MANY = 10  # pairs from which their spread is known
_CELLS = 1 << 22  # numbers held at once


@dataclass(frozen=True, eq=False)
class Copying:
    """Evidence of copying, arrays (n_pairs,) over the pairs of `LEAST` common tasks or more.

    Attributes:
        worker_a, worker_b: worker numbers, a < b.
        both, agreed: tasks of both, and those with the same label from both.
        expected: equal labels that the others' labels explain.
        excess: (agreed - expected) / (both - expected).
        usual: excess that is usual in this crowd, and nobody's fault.
        p_value, adjusted: 1 / e for the evidence e, before and after Holm over the pairs.
        checked: whether gold or marks judged.
        acquitted: whether closeness, or difficulty and foils, explain the agreement (see `copying`).
    """

    worker_a: IntArray
    worker_b: IntArray
    both: IntArray
    agreed: IntArray
    expected: FloatArray
    excess: FloatArray
    usual: float
    p_value: FloatArray
    adjusted: FloatArray
    acquitted: BoolArray
    checked: bool

    def named(self, level: float = 0.05) -> BoolArray:
        """(n_pairs,) who copy, at this chance (without gold a tenth) that any independent pair is among them."""
        strict = level if self.checked else WITHOUT_GOLD * level
        return (self.adjusted <= strict) & (self.excess >= EXCESS) & ~self.acquitted

    def suspects(self, level: float, n_workers: int) -> BoolArray:
        """(n_workers,) who may copy or be copied: p < ``level`` before correction."""
        possible = (self.p_value < level) & (self.excess >= EXCESS) & ~self.acquitted
        return np.isin(np.arange(n_workers), [self.worker_a[possible], self.worker_b[possible]])


def copy_reference(truth: Reference) -> ReferenceLike:
    """Reference that judges copying: gold or marks; without any `JUDGE`, whatever ``truth`` is."""
    return truth if truth.checked else JUDGE


def copying(dataset: CrowdDataset, truth: Reference, peers: Peers | None = None) -> Copying:
    """Weigh for every pair whether one copies the other.

    On a task of both r and s, let k of the other K workers give r's label y. With q the belief in each class c by
    everybody but r and s (or gold), and the confusion π^s counted by such beliefs on the common tasks, s gives the same
    label by itself with probability

    ``P_i = Σ_c q_i(c) (m π^s[c, y] + k + 1) / (m + K + 1)``:

    an urn, whose size m is fitted once to the crowd, says how far tasks have foils and difficulties of their own. A
    worker who copies a share f agrees with probability ``f + (1 - f) P_i``, so ``E_f = Π (f + (1 - f) P_i) /
    (f_0 + (1 - f_0) P_i)`` over equal labels times ``Π (1 - f) / (1 - f_0)`` over the others is evidence with mean at
    most 1 for workers who are no more alike than is usual, f_0. Its mean e over `SHARES`, the geometric mean of both
    directions, bounds the p-value by 1 / e (Markov's inequality), whatever the number of labels.

    f_0 is two robust deviations of the excess over all pairs, beyond noise. Workers who agree very much more with each
    other than with the rest (`closeness`) do not count as others of each other's pairs: several who copy would else
    explain each other. A pair is acquitted if, without gold, both are no closer to each other than to the rest, as able
    workers are who contradict a wrong vote; or if difficulty and foils explain the agreement by the labels of the
    workers outside (`agreement_by_others`), which by gold is asked only of those who are very close.

    Args:
        dataset: the annotations.
        truth: gold or marks judge; instead of any other reference `copy_reference` does.
        peers: `peer_beliefs` by `copy_reference`, to compute them only once.
    """
    if peers is None:
        peers = peer_beliefs(dataset, resolve_reference(dataset, copy_reference(truth)))
    task, worker, label = (x.astype(np.int64) for x in (peers.task, peers.worker, peers.label))
    n_workers, n = dataset.n_workers, dataset.n_classes
    refuse_beyond(8 * 3 * n_workers * n**2, f"Confusions of {n_workers:,} workers", "Merge classes.")
    crowd = _Crowd(task, worker, label, peers, truth.checked)
    one, other = common_labels(task, worker)
    key, of, both = np.unique(worker[one] * n_workers + worker[other], return_inverse=True, return_counts=True)
    often = both >= LEAST
    order = np.flatnonzero(often[of])
    order = order[np.argsort(of[order], kind="stable")]
    one, other, of = one[order], other[order], (np.cumsum(often) - 1)[of[order]]
    key, both = key[often], both[often]
    pairs = key // max(n_workers, 1), key % max(n_workers, 1)

    def total(value: AnyArray) -> FloatArray:
        return np.bincount(of, value, len(key)).astype(np.float64)

    alike = label[one] == label[other]
    agreed = total(alike)
    close = closeness(*pairs, both, agreed, crowd.given)
    n_tested = (~np.isnan(close[1])).sum()
    crowd.set_apart(linked(*pairs, close[1] * n_tested <= _LINK, n_workers))
    chance = np.empty((2, len(one)))
    first, end = 0, np.cumsum(both)
    while first < len(key):
        begin = end[first] - both[first]
        last = max(int(np.searchsorted(end, begin + _CELLS // n)), first + 1)
        last = min(last, first + max(_CELLS // n**2, 1))
        some = slice(begin, end[last - 1])
        chance[:, some] = crowd.chances(one[some], other[some], of[some] - first, last - first)
        first = last
    expected, noise = total(chance.mean(0)), total((chance * (1 - chance)).mean(0))
    noise /= np.maximum(both - expected, 0.5) ** 2
    excess = (agreed - expected) / np.maximum(both - expected, 0.5)
    apart = crowd.group[pairs[0]] >= 0
    apart &= crowd.group[pairs[0]] == crowd.group[pairs[1]]
    usual = _usual(excess[~apart], noise[~apart])
    shares = np.array([share for share in SHARES if share > usual])
    evidence = np.stack([total(_log_ratio(share, usual, alike, chance)) for share in shares])
    log_e = np.logaddexp.reduce(evidence, 0) - np.log(len(shares))
    p_value = np.exp(-np.clip(log_e, 0, 700))
    acquitted = np.zeros(len(key), bool) if truth.checked else close[0] > SUPPORT
    doubtful = apart if truth.checked else ~acquitted  # who else agrees so much is no judge of them
    suspect = np.flatnonzero((p_value < _SUSPECT) & (excess >= EXCESS) & doubtful)
    if len(suspect):
        those = pairs[0][suspect], pairs[1][suspect]
        judges = crowd.group < 0
        judges[np.concatenate(those)] = False
        if 2 * judges.sum() >= n_workers:
            acquitted[suspect] = agreement_by_others(dataset, judges, *those).p_value > SUPPORT
    found = *pairs, both, agreed.astype(np.int64), expected, excess
    return Copying(*found, usual, p_value, holm(p_value), acquitted, truth.checked)


def no_copying() -> Copying:
    """No pairs: of a crowd that tags tokens, since those of a sentence are not independent tasks."""
    none, empty = np.empty(0, np.int64), np.empty(0)
    return Copying(none, none, none, none, empty, empty, 0.0, empty, empty, np.empty(0, bool), True)


@dataclass(frozen=True, eq=False)
class Copies:
    """The most suspicious partner of each worker; arrays (n_workers,), -1 and NaN for workers without one.

    Attributes:
        partner: worker number.
        adjusted: p-value of the pair after Holm over all pairs that could be tested.
        both: tasks that both labelled.
        agreed, expected: tasks with the same label from both, and how many of those the others' labels explain.
    """

    partner: IntArray
    adjusted: FloatArray
    both: IntArray
    agreed: IntArray
    expected: FloatArray


def copies(of: Copying, groups: tuple[Group, ...], n_workers: int, level: float = 0.05) -> Copies:
    """The surest partner of each worker among the named pairs within a group."""
    group = group_of(groups, n_workers)
    one, other = of.worker_a, of.worker_b
    named = np.flatnonzero(of.named(level) & (group[one] >= 0) & (group[one] == group[other]))
    surest = named[np.argsort(-of.p_value[named], kind="stable")]  # written last
    partner, both, agreed = (np.full(n_workers, -1) for _ in range(3))
    adjusted, expected = np.full(n_workers, np.nan), np.full(n_workers, np.nan)
    pair, by, mate = (
        np.repeat(surest, 2),
        np.stack([one, other], 1)[surest].ravel(),
        np.stack([other, one], 1)[surest].ravel(),
    )
    partner[by], both[by], agreed[by] = mate, of.both[pair], of.agreed[pair]
    adjusted[by], expected[by] = of.adjusted[pair], of.expected[pair]
    return Copies(partner, adjusted, both, agreed, expected)


def copying_groups(of: Copying, n_workers: int, level: float = 0.05) -> tuple[Group, ...]:
    """Workers whom named pairs link, the surest first."""
    named = of.named(level)
    one, other = of.worker_a[named], of.worker_b[named]
    component = components(one, other, n_workers)
    groups = []
    for number in np.unique(component[component >= 0]):
        members = np.flatnonzero(component == number)
        inside = named & np.isin(of.worker_a, members)
        groups.append(Group(members, (COPY,), float(of.p_value[inside].min()), float(of.adjusted[inside].min())))
    return tuple(sorted(groups, key=lambda group: (group.p_value, group.members[0])))


def _log_ratio(share: float, usual: float, alike: BoolArray, chance: FloatArray) -> FloatArray:
    """(n,) log of the evidence of each common label that a share is copied, mean of both directions."""
    equal = np.log(share + (1 - share) * chance) - np.log(usual + (1 - usual) * chance)
    return np.asarray(np.where(alike, equal.mean(0), np.log((1 - share) / (1 - usual))))


def _usual(excess: FloatArray, noise: FloatArray) -> float:
    """The excess that is usual: robust deviations over all pairs, beyond noise."""
    if len(excess) < _MANY:
        return 0.0
    deviation = 1.4826 * float(np.median(np.abs(excess / np.sqrt(np.maximum(noise, 1e-12)))))
    return min(_USUAL * float(np.sqrt(max(deviation**2 - 1, 0) * np.median(noise))), _MOST_USUAL)


def common_labels(task: IntArray, worker: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of every two labels of one task (``task`` ascends), that of the lower worker number first."""
    size = np.bincount(task)
    start = np.cumsum(size) - size
    one, other = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for n in np.unique(size[size > 1]):
        i, j = np.triu_indices(n, 1)
        at = start[size == n][:, None]
        one.append((at + i).ravel())
        other.append((at + j).ravel())
    first, second = np.concatenate(one), np.concatenate(other)
    turned = worker[first] > worker[second]
    return np.where(turned, second, first), np.where(turned, first, second)


class _Crowd:
    """Labels, what judges them, and confusions counted by that."""

    def __init__(
        self,
        task: IntArray,
        worker: IntArray,
        label: IntArray,
        peers: Peers,
        checked: bool,
    ) -> None:
        self.task, self.worker, self.label, self.checked = task, worker, label, checked
        self.judge, self.counts = np.nan_to_num(peers.judge), peers.counted[0]
        n_tasks, n_workers, n = len(peers.crowd), *self.counts.shape[:2]
        self.votes = vote_counts(task, label, n_tasks, n).astype(np.float64)
        self.given = np.bincount(worker * n + label, minlength=n_workers * n).reshape(n_workers, n)
        pooled = self.counts.sum(0) + _FLOOR
        self.pooled = pooled / pooled.sum(1, keepdims=True)
        own = self._rows(self.counts).transpose(0, 2, 1)[worker, label]
        self.log_own = np.log(own)
        self.log_task = np.stack([np.bincount(task, self.log_own[:, c], n_tasks) for c in range(n)], 1)
        self.log_task += np.log(self.counts.sum((0, 2)) / max(self.counts.sum(), 1e-9) + 1e-3)
        equal, others = self.votes[task, label] - 1, self.votes.sum(1)[task] - 1
        fit = [
            np.log((self.judge * (m * own + equal[:, None]) / (m + others)[:, None]).sum(1) + 1e-12).sum()
            for m in _URNS
        ]
        self.urn = _URNS[int(np.argmax(fit))]

    def _rows(self, counts: FloatArray) -> FloatArray:
        counts = np.maximum(counts, 0)
        return np.asarray((counts + _SHRINKAGE * self.pooled) / (counts.sum(2, keepdims=True) + _SHRINKAGE))

    def set_apart(self, group: IntArray) -> None:
        """Let workers of one group (n_workers,), -1 for none, not be the others who judge each other's pairs."""
        self.group = group
        of = group[self.worker]
        some = np.flatnonzero(of >= 0)
        key = self.task[some] * (group.max(initial=0) + 1) + of[some]
        self._group_keys, row = np.unique(key, return_inverse=True)
        n, n_classes = len(self._group_keys), self.votes.shape[1]
        cell = row * n_classes + self.label[some]
        self._group_votes = np.bincount(cell, minlength=n * n_classes).reshape(n, n_classes).astype(np.float64)
        logs = [np.bincount(row, self.log_own[some, c], n) for c in range(n_classes)]
        self._group_log = np.stack(logs, 1)

    def chances(self, one: IntArray, other: IntArray, of: IntArray, n_pairs: int) -> FloatArray:
        """(2, n) chance that a label equals its partner's, by the others' labels, in both directions."""
        task, a, b = self.task[one], self.label[one], self.label[other]
        here = np.arange(len(one))
        others, log_others = self.votes[task], self.log_task[task] - self.log_own[one] - self.log_own[other]
        others[here, a] -= 1
        others[here, b] -= 1
        group = self.group[self.worker[one]]
        apart = np.flatnonzero((group >= 0) & (group == self.group[self.worker[other]]))
        row = np.searchsorted(self._group_keys, task[apart] * (self.group.max(initial=0) + 1) + group[apart])
        others[apart] = self.votes[task[apart]] - self._group_votes[row]
        log_others[apart] = self.log_task[task[apart]] - self._group_log[row]
        belief = self.judge[one] if self.checked else softmax(log_others, 1)
        n_others, pair, rows = others.sum(1), np.zeros(n_pairs, np.int64), []
        for at in (one, other):
            pair[of] = self.worker[at]
            counts = self.counts[pair]
            if not self.checked:
                with_own = softmax(log_others + self.log_own[at], 1)
                counts = counts + _counts(of, self.label[at], with_own - self.judge[at], n_pairs)
            rows.append(self._rows(counts))
        chance = []
        for mine, theirs, label in ((rows[1], rows[0], a), (rows[0], rows[1], b)):
            q = belief
            if not self.checked:
                q = belief * theirs[of, :, label]
                q = q / q.sum(1, keepdims=True)
            equal = others[here, label] + 1
            urn = (self.urn * mine[of, :, label] + equal[:, None]) / (self.urn + n_others + 1)[:, None]
            chance.append((q * urn).sum(1))
        return np.asarray(np.clip(np.stack(chance), 1e-3, 1 - 1e-6))


def _counts(of: IntArray, label: IntArray, belief: FloatArray, n: int) -> FloatArray:
    """(n, C, C) beliefs summed by row ``of``, class and label."""
    n_classes = belief.shape[1]
    cell = of * n_classes + label
    summed = [np.bincount(cell, belief[:, c], n * n_classes).reshape(n, n_classes) for c in range(n_classes)]
    return np.stack(summed, 1)
