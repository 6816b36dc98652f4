"""Pairs of workers who copy: they agree beyond what all other labels on the same tasks explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtr, ndtri

from crowdcore.analysis.coordinated.copy_loops import (
    Crowd,
    Labels,
    count_common,
    fill_chances,
    fill_common,
    fill_evidence,
    urn_likelihoods,
)
from crowdcore.analysis.coordinated.groups import COPY, Group, components, group_of
from crowdcore.analysis.mistakes.pair_mistakes import DRAWN, tail_beyond
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import holm, row_shares
from crowdcore.analysis.verdicts.peers import Peers, peer_beliefs
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.beliefs import add_up
from crowdcore.core.compiled import n_ranges, run_ranges
from crowdcore.core.counts import vote_counts
from crowdcore.core.latent_classes import LatentClasses, LatentPriors
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_FEWEST = 10  # shared tasks of a tested pair
_SCATTER = 0.01  # variance beyond noise that a pair is granted in the fit, so that no pair outweighs many others
_OUTLYING = 2.5  # standardised residual from which a pair is left out of the fit
_STEPS = 10
MARGINS = 0.5, 3.0
"""Standard deviations of the prediction granted to every pair: to support an accusation, and to link workers."""
SUPPORT = 0.001
"""p-value, at the smaller margin, up to which closeness supports an accusation."""


def closeness(one: IntArray, other: IntArray, both: IntArray, agreed: FloatArray, given: IntArray) -> FloatArray:
    """(2, n_pairs) chance of so many equal labels if two are as far from each other as from the rest; for `MARGINS`.

    Labels are equal by chance with probability c, the sum of squared label shares. The model of the share of equal
    labels of r and s is ``a_rs = c + (1 - c) u_r u_s`` (workers who know or guess; Ghosh, Kale, McAfee 2011), where
    hard tasks lower all u alike. The u are fitted by least squares to all pairs; pairs that agree far too much are left
    out in turn, and a pair is predicted without itself. The p-value is the binomial tail at the prediction plus a
    margin of some of its standard deviations. Two workers who both favour a class agree for that reason alone: where
    their own label shares make equal labels more likely than c, the prediction uses ``c_rs = Σ_b p_r(b) p_s(b)``.

    Args:
        one, other: (n_pairs,) worker numbers.
        both, agreed: (n_pairs,) tasks of both, and those with equal labels.
        given: (n_workers, C) labels of each worker.

    Returns:
        NaN for pairs of few common tasks.
    """
    n_workers, n_classes = given.shape
    chance = float(((given.sum(0) / max(given.sum(), 1)) ** 2).sum())
    tested = both >= _FEWEST
    if not tested.any() or chance > 1 - 1e-6:
        return np.full((len(MARGINS), len(one)), np.nan)
    shares, n = given / np.maximum(given.sum(1, keepdims=True), 1), both.astype(np.float64)
    own = sum((shares[one, b] * shares[other, b] for b in range(n_classes)), np.zeros(len(n)))
    expected, doubt = _prediction(one, other, n, agreed / n, chance, np.maximum(own, chance), tested, n_workers)
    limit = np.minimum(expected + np.array(MARGINS)[:, None] * doubt, 1 - 1e-3)
    tail = np.where(agreed > limit * n, betainc(np.maximum(agreed, 1e-9), n - agreed + 1, limit), 1.0)
    return np.where(tested, tail, np.nan)


def linked(one: IntArray, other: IntArray, close: BoolArray, n_workers: int) -> IntArray:
    """(n_workers,) number of the group that close pairs link, -1 for none, or for more than half of all workers.

    Members of a group are not accused: they only do not judge each other.
    """
    group = components(one[close], other[close], n_workers)
    size = np.bincount(group + 1)[group + 1]
    return np.where(2 * size <= n_workers, group, -1)


def _prediction(
    one: IntArray,
    other: IntArray,
    n: FloatArray,
    rate: FloatArray,
    chance: float,
    own_chance: FloatArray,
    tested: BoolArray,
    n_workers: int,
) -> tuple[FloatArray, FloatArray]:
    """(n_pairs,) share of equal labels that the fit explains, and its standard deviation."""
    scale = 1 - chance
    excess = (rate - chance) / scale
    typical = float(np.sqrt(np.clip((n * excess).sum() / n.sum(), 0.01, 1)))
    u, scatter, used = np.full(n_workers, typical), 0.0, np.ones(len(n), bool)
    expected = np.full(len(n), chance + scale * typical**2)
    for _ in range(_STEPS):
        noise = expected * (1 - expected)
        weight = used * scale**2 / (noise / n + _SCATTER)
        above, below = (
            np.bincount(one, weight * to_other, n_workers) + np.bincount(other, weight * to_one, n_workers) + prior
            for to_other, to_one, prior in (
                (excess * u[other], excess * u[one], typical / _SCATTER),
                (u[other] ** 2, u[one] ** 2, 1 / _SCATTER),
            )
        )
        first, second = (
            np.clip((above[a] - weight * excess * u[b]) / (below[a] - weight * u[b] ** 2), 0.02, 1.0)
            for a, b in ((one, other), (other, one))
        )
        expected = np.clip(chance + scale * first * second, 1e-3, 1 - 1e-3)
        noise = expected * (1 - expected)
        unsure = scale**2 * (second**2 / below[one] + first**2 / below[other])
        gap = rate - expected
        scatter = max(float(np.median((gap**2 / 0.455 - noise / n - unsure)[tested])), 0.0)
        used = gap <= _OUTLYING * np.sqrt(noise / n + unsure + scatter)
        u = (u + np.clip(above / below, 0.02, 1.0)) / 2
    expected = own_chance + (1 - own_chance) * first * second
    return expected, np.asarray(np.sqrt(unsure + scatter))


_ROUNDS = 12  # accelerated, equivalent to 30 plain ones
_MOST, _EACH = 100_000, 200  # labels, and labels of a worker, that the fit uses at least


@dataclass(frozen=True, eq=False)
class AgreementByOthers:
    """Agreement of pairs tested by the labels of others, arrays (n_pairs,).

    Attributes:
        alike, expected_alike: equal labels other than the class most probable by the others, and their expected number.
        p_value: chance that copying explains the labels of two independent workers equally well.
    """

    alike: IntArray
    expected_alike: FloatArray
    p_value: FloatArray


def agreement_by_others(dataset: CrowdDataset, judges: BoolArray, one: IntArray, other: IntArray) -> AgreementByOthers:
    """Test whether pairs agree beyond both skills and the tasks, by the judges' labels of each task.

    Let a task have a true class z, a difficulty and perhaps a foil, all latent, and a worker confusions as in
    `core.latent_classes`. By EM, classes and types of tasks follow from the judges' labels alone, skills and shares
    of wrong labels of everybody from those. β of a worker's classes is drawn to their mean, as if normal around
    it. For a pair, the labels of the other judges on task i give q_i(z, t), and so for each label b the chance that
    both give it, ``E_i(b) = Σ q_i(z, t) P(b | r, z, t) P(b | s, z, t)``, and that either does, ``m_i^r(b)``. The
    statistic is the log likelihood ratio of copying half of the labels,
    ``log(1/2 + √(m_i^r(b) m_i^s(b)) / (2 E_i(b)))`` for equal labels b and ``log(1/2)`` else; its tail is that of
    `pair_mistakes`.

    The model is that of `core.latent_classes`: able workers who contradict a vote that is wrong on hard tasks, or on
    tasks whose foil won it, speak for another class, and are expected to agree on it.

    Args:
        judges: (n_workers,) whether the worker's labels are evidence on the tasks.
        one, other: (n_pairs,) worker numbers.

    Raises:
        DataError: arrays too large.
    """
    n, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(8 * 4 * n_workers * n**2, f"Confusions of {n_workers:,} workers", "Merge classes.")
    dataset = _enough(dataset, one, other)
    kept = np.unique(dataset.task.astype(np.int64) * n_workers + dataset.worker, return_index=True)[1]
    task, worker, label = (x[kept].astype(np.int64) for x in (dataset.task, dataset.worker, dataset.label))
    candidate = np.unique(np.concatenate([task * (n + 1) + label, np.unique(task) * (n + 1) + n]))
    every = np.arange(dataset.n_tasks + 1)
    candidate_start = np.searchsorted(candidate // (n + 1), every)
    tasks = np.searchsorted(task, every), worker, label, judges, candidate_start, candidate % (n + 1)
    vote = _by_vote(dataset.n_tasks, n_workers, n, task, worker, label, judges)
    priors = LatentPriors(
        class_deviation=1.0, worker_mean=0.0, worker_deviation=3.0, drawn=DRAWN, even=0.0, alone_drawn=np.inf
    )
    fit = LatentClasses(tasks, *vote, priors)
    for _ in range(_ROUNDS):
        fit.accelerated_step()
    by_worker = np.argsort(worker, kind="stable")
    worker_start = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    result, moments = np.zeros((len(one), 3), np.int64), np.zeros((len(one), 5))
    fill_pairs(0, len(one), one, other, by_worker, worker_start, task, tasks, fit.model, result, moments)
    (both, agreed, alike), (expected_agreed, expected_alike) = result.T, moments[:, :2].T
    p_value = tail_beyond(alike, agreed, both, expected_alike, expected_agreed, moments[:, 2:])
    return AgreementByOthers(alike, expected_alike, p_value)


def _enough(dataset: CrowdDataset, one: IntArray, other: IntArray) -> CrowdDataset:
    """All tasks of the pairs and, of a large crowd, enough others, evenly spaced, to estimate its workers' skills."""
    most = max(_MOST, _EACH * dataset.n_workers)
    if dataset.n_annotations <= most:
        return dataset
    of_pair = np.zeros(dataset.n_tasks, np.int64)
    for some in (one, other):
        of_pair[np.unique(dataset.task[np.isin(dataset.worker, some)])] += 1
    step = -(-dataset.n_annotations // most)
    wanted = (of_pair == 2) | (np.arange(dataset.n_tasks) % step == 0)
    return dataset.where(wanted[dataset.task])


def _by_vote(
    n_tasks: int, n_workers: int, n: int, task: IntArray, worker: IntArray, label: IntArray, judges: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """(n_workers, C, C) labels by the judges' vote, where tied classes share it, and (C,) its shares of tasks."""
    judged = judges[worker]
    votes = vote_counts(task[judged], label[judged], n_tasks, n)
    won = (votes == votes.max(1, keepdims=True)) & (votes > 0)
    vote = won / np.maximum(won.sum(1, keepdims=True), 1)
    counts = np.stack(
        [np.bincount(worker * n + label, vote[task, z], n_workers * n).reshape(n_workers, n) for z in range(n)], 1
    )
    return np.asarray(counts, np.float64), (vote.sum(0) + 1) / (vote.sum() + n)


JUDGE = "pooled-dawid-skene"
"""Reference of the labels where there is neither gold nor marks."""
SHARES = (0.3, 0.5, 0.7, 0.9, 0.98)
"""Shares of copied labels that the evidence is averaged over."""
EXCESS = 0.25
"""Least share of the room above chance on which a named pair agrees."""
WITHOUT_GOLD = 0.1
"""Share of the level that is used without gold, as the model of the others' labels may not fit."""
CONFIRMED = 1e-7
"""p-value by difficulty and foils below which these confirm copies that are less sure by the others' labels alone."""
LEAST = 8
"""Least number of common tasks of a tested pair."""
_URNS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1e6)
_MOSTLY = 0.5  # share of labels on tasks of known truth from which gold judges; else the others do on the rest
_LINK = 0.05  # p-value of closeness, after Bonferroni over the pairs, from which two do not judge each other
_SUSPECT = 0.05  # p-value below which a pair is tested again without gold
_SHRINKAGE, _FLOOR = 4.0, 0.5  # pseudo-labels of a worker's row, and of a cell of the crowd's
_USUAL = 2.0  # robust deviations of the excess over all pairs up to which likeness is usual
_MOST_USUAL = 0.6
_OFTEN = 0.95  # quantile of the pairs' excess that measures how alike workers are beyond chance
_MANY = 10  # pairs from which their spread is estimated


@dataclass(frozen=True, eq=False)
class Copying:
    """Evidence of copying, arrays (n_pairs,) over the pairs of `LEAST` common tasks or more.

    Attributes:
        worker_a, worker_b: worker numbers, a < b.
        both, agreed: tasks of both, and those with the same label from both.
        expected, deviation: equal labels that the others' labels explain, and their standard deviation.
        excess: (agreed - expected) / (both - expected).
        usual: excess that is usual in this crowd, and not suspicious.
        p_value, adjusted: 1 / e for the evidence e, before and after Holm over the pairs.
        by_others: p-value of `agreement_by_others`, after Bonferroni over the pairs; 1 where it was not needed.
        acquitted: whether closeness, or difficulty and foils, explain the agreement (see `copying`).
        checked: whether gold or marks judged most labels.
    """

    worker_a: IntArray
    worker_b: IntArray
    both: IntArray
    agreed: IntArray
    expected: FloatArray
    deviation: FloatArray
    excess: FloatArray
    usual: float
    p_value: FloatArray
    adjusted: FloatArray
    by_others: FloatArray
    acquitted: BoolArray
    checked: bool

    def named(self, level: float = 0.05) -> BoolArray:
        """(n_pairs,) pairs who copy, at this chance (without gold a tenth) that any independent pair is among them.

        Without gold, three times the level suffices if difficulty and foils also speak against chance, and the others'
        labels explain most of the agreement: two able workers among weak ones agree on what nobody else says.
        """
        mostly_expected = 2 * self.expected >= self.agreed
        both_models = (self.by_others <= CONFIRMED) & (self.adjusted <= 3 * level) & mostly_expected
        sure = self.adjusted <= level if self.checked else (self.adjusted <= WITHOUT_GOLD * level) | both_models
        return sure & (self.excess >= EXCESS) & ~self.acquitted

    def enough(self, level: float) -> FloatArray:
        """(n_pairs,) common tasks from which equal labels on all of them are named at about this level; see `named`."""
        level *= 1 if self.checked else WITHOUT_GOLD
        chance = np.clip(self.expected / np.maximum(self.both, 1), 1e-9, 1 - 1e-9)
        return np.asarray(np.log(level / max(len(chance), 1)) / np.log(chance))

    def possible(self, n_workers: int) -> FloatArray:
        """(n_pairs,) chance that a worker has a partner as alike, by the excess of all pairs; or 2 / e if smaller.

        It withholds praise, and accuses nobody: some pairs' labels are too few to show copies of half of them.
        """
        z = (self.agreed - self.expected) / np.maximum(self.deviation, 1e-3)
        spread = np.quantile(np.abs(z), _OFTEN) / ndtri((1 + _OFTEN) / 2) if len(z) >= _MANY else 1.0
        copied = np.where((self.excess >= EXCESS) & ~self.acquitted, 2 * self.p_value, 1.0)
        return np.asarray(np.minimum(ndtr(-z / max(spread, 1.0)) * (n_workers - 1), copied))


def copy_reference(truth: Reference) -> ReferenceLike:
    """Return the reference that judges copying: gold or marks, else `JUDGE`, whatever ``truth`` is."""
    return truth if truth.checked else JUDGE


def copying(dataset: CrowdDataset, truth: Reference, peers: Peers | None = None) -> Copying:
    """Weigh the evidence of every pair that one copies the other.

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
    workers outside (`agreement_by_others`), which by gold is asked only of those who are very close. Without gold the
    same labels that acquit may confirm.

    Args:
        truth: gold or marks judge, on tasks without them the others; instead of any other reference
            `copy_reference` does.
        peers: `peer_beliefs` by `copy_reference`, to compute them only once.
    """
    if peers is None:
        peers = peer_beliefs(dataset, resolve_reference(dataset, copy_reference(truth)))
    n_workers, n = dataset.n_workers, dataset.n_classes
    refuse_beyond(8 * 3 * n_workers * n**2, f"Confusions of {n_workers:,} workers", "Merge classes.")
    given = peers.task, peers.worker, peers.label
    labels, pairs, begin, agreed, common = common_labels(*given, n_workers, dataset.n_tasks)
    crowd = _crowd(labels, peers)
    both = np.diff(begin)
    shares = np.bincount(peers.worker * np.int64(n) + peers.label, minlength=n_workers * n).reshape(n_workers, n)
    close = closeness(*pairs, both, agreed.astype(np.float64), shares)
    n_tested = (~np.isnan(close[1])).sum()
    group = linked(*pairs, close[1] * n_tested <= _LINK, n_workers)
    known = truth.labels if truth.checked else np.full(dataset.n_tasks, -1, np.int32)
    checked = bool(len(peers.task)) and (known[peers.task] >= 0).mean() >= _MOSTLY
    chance, moments = np.empty((len(common), 2)), np.zeros((len(both), 2))
    ranges = n_ranges(len(common) * n, 1)
    chances_of = labels, *pairs, begin, common, group, known, crowd, chance, moments
    run_ranges(len(both), ranges, lambda _, first, last: fill_chances(first, last, *chances_of))
    expected, variance = moments.T
    noise = variance / np.maximum(both - expected, 0.5) ** 2
    excess = (agreed - expected) / np.maximum(both - expected, 0.5)
    apart = (group[pairs[0]] >= 0) & (group[pairs[0]] == group[pairs[1]])
    usual = _usual_excess(excess[~apart], noise[~apart])
    copied = np.array([share for share in SHARES if share > usual])
    evidence = np.empty((len(copied), len(both)))
    evidence_of = labels[3], begin, common, chance, copied, usual, evidence
    run_ranges(len(both), ranges, lambda _, first, last: fill_evidence(first, last, *evidence_of))
    log_e = np.logaddexp.reduce(evidence, 0) - np.log(len(copied))
    p_value = np.exp(-np.clip(log_e, 0, 700))
    by_others = np.ones(len(both))
    acquitted = np.zeros(len(both), bool) if checked else close[0] > SUPPORT
    doubtful = apart if checked else ~acquitted
    suspect = np.flatnonzero((p_value < _SUSPECT) & (excess >= EXCESS) & doubtful)
    if len(suspect):
        those = pairs[0][suspect], pairs[1][suspect]
        judges = group < 0
        judges[np.concatenate(those)] = False
        if 2 * judges.sum() >= n_workers:
            by_others[suspect] = agreement_by_others(dataset, judges, *those).p_value
            acquitted[suspect] = by_others[suspect] > SUPPORT
            by_others[suspect] *= len(both)
    columns = *pairs, both, agreed, expected, np.sqrt(variance), excess
    return Copying(*columns, usual, p_value, holm(p_value), by_others, acquitted, checked)


def no_copying() -> Copying:
    """Return no pairs, for a crowd that tags tokens, since those of a sentence are not independent tasks."""
    none, empty = np.empty(0, np.int64), np.empty(0)
    return Copying(none, none, none, none, empty, empty, empty, 0.0, empty, empty, empty, np.empty(0, bool), True)


@dataclass(frozen=True, eq=False)
class Copies:
    """The most suspicious partner of each worker; arrays (n_workers,), -1 and NaN for workers without one.

    Attributes:
        partner: worker number.
        adjusted: p-value of the pair after Holm over all pairs that could be tested; of possible copies `possible`.
        both: tasks that both labelled.
        agreed, expected: tasks with the same label from both, and their number by the others' labels.
    """

    partner: IntArray
    adjusted: FloatArray
    both: IntArray
    agreed: IntArray
    expected: FloatArray


def copies(of: Copying, groups: tuple[Group, ...], n_workers: int, level: float = 0.05) -> Copies:
    """Find the surest partner of each worker among the named pairs within a group."""
    group = group_of(groups, n_workers)
    within = (group[of.worker_a] >= 0) & (group[of.worker_a] == group[of.worker_b])
    return _partners(of, of.named(level) & within, of.p_value, of.adjusted, n_workers)


def possible_copies(of: Copying, n_workers: int, level: float = 0.05) -> Copies:
    """Find the surest partner of each worker who may copy or be copied (`Copying.possible`), named or not."""
    chance = of.possible(n_workers)
    return _partners(of, chance < level, chance, chance, n_workers)


def _partners(of: Copying, some: BoolArray, chance: FloatArray, adjusted: FloatArray, n_workers: int) -> Copies:
    those = np.flatnonzero(some)
    surest = those[np.argsort(-chance[those], kind="stable")]  # written last
    partner, both, agreed = (np.full(n_workers, -1) for _ in range(3))
    p_value, expected = np.full(n_workers, np.nan), np.full(n_workers, np.nan)
    pair, mates = np.repeat(surest, 2), np.stack([of.worker_a, of.worker_b], 1)[surest]
    by = mates.ravel()
    partner[by], both[by], agreed[by] = mates[:, ::-1].ravel(), of.both[pair], of.agreed[pair]
    p_value[by], expected[by] = adjusted[pair], of.expected[pair]
    return Copies(partner, p_value, both, agreed, expected)


def copying_groups(of: Copying, n_workers: int, level: float = 0.05) -> tuple[Group, ...]:
    """Groups of workers whom named pairs link, the surest first."""
    named = of.named(level)
    one, other = of.worker_a[named], of.worker_b[named]
    component = components(one, other, n_workers)
    groups = []
    for number in np.unique(component[component >= 0]):
        members = np.flatnonzero(component == number)
        inside = named & np.isin(of.worker_a, members)
        groups.append(Group(members, (COPY,), float(of.p_value[inside].min()), float(of.adjusted[inside].min())))
    return tuple(sorted(groups, key=lambda group: (group.p_value, group.members[0])))


def _usual_excess(excess: FloatArray, noise: FloatArray) -> float:
    """Usual excess: robust deviations over all pairs, beyond noise."""
    if len(excess) < _MANY:
        return 0.0
    deviation = 1.4826 * float(np.median(np.abs(excess / np.sqrt(np.maximum(noise, 1e-12)))))
    return min(_USUAL * float(np.sqrt(max(deviation**2 - 1, 0) * np.median(noise))), _MOST_USUAL)


def common_labels(
    task: IntArray, worker: IntArray, label: IntArray, n_workers: int, n_tasks: int, least: int = LEAST
) -> tuple[Labels, tuple[IntArray, IntArray], IntArray, IntArray, IntArray]:
    """Labels for `copy_loops`, pairs of ``least`` common tasks or more, and their common tasks.

    Returns:
        Labels; (n_pairs,) workers of each pair, the lower number first; (n_pairs + 1,) begin of its common tasks;
        (n_pairs,) equal labels; (n, 2) positions of the labels of both on each common task.
    """
    by_worker = np.argsort(worker, kind="stable")
    start = np.searchsorted(task, np.arange(n_tasks + 1))
    of_worker = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    labels = start, task, worker, label, by_worker, of_worker
    ranges = n_ranges(int((np.diff(start) ** 2).sum()), n_workers)
    sizes = np.zeros((n_workers, 2), np.int64)
    run_ranges(n_workers, ranges, lambda _, first, last: count_common(first, last, labels, least, sizes))
    n_pairs, n = sizes.sum(0)
    other, begin, agreed = (np.zeros(n_pairs + extra, np.int64) for extra in (0, 1, 0))
    common = np.empty((n, 2), np.int32)
    begin[-1] = n
    to = least, *(np.cumsum(sizes, 0) - sizes).T, other, begin, agreed, common
    run_ranges(n_workers, ranges, lambda _, first, last: fill_common(first, last, labels, *to))
    return labels, (np.repeat(np.arange(n_workers), sizes[:, 0]), other), begin, agreed, common


def _crowd(labels: Labels, peers: Peers) -> Crowd:
    """Beliefs that judge labels, for `fill_chances`."""
    _, task, worker, label, _, _ = labels
    counts = peers.count(peers.judge)[0]
    n_tasks, n = peers.crowd.shape
    judge, votes = np.nan_to_num(peers.judge), vote_counts(task, label, n_tasks, n)
    pooled = row_shares(counts.sum(0) + _FLOOR)
    rows = (counts + _SHRINKAGE * pooled) / (counts.sum(2, keepdims=True) + _SHRINKAGE)
    own = rows.transpose(0, 2, 1)[worker, label]
    prior = counts.sum((0, 2)) / max(counts.sum(), 1e-9) + 1e-3
    by_all = np.zeros((n_tasks, n))
    add_up(labels[0], np.log(own), by_all)
    by_all += np.log(prior)
    by_all = np.exp(by_all - by_all.max(1, keepdims=True))
    urn = _URNS[int(urn_likelihoods(labels, judge, own, votes, np.array(_URNS)).argmax())]
    return judge, own, by_all, prior, counts, pooled, _SHRINKAGE, urn
