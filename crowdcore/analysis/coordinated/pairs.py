"""Tests of pairs of workers who agree too much: beyond skills and tasks, and more with each other than with the rest.

Workers who copy each other and outvote the rest become the truth of any model, and are then right alike. What still
gives them away is that the others agree with them no more than before (`agreement_beyond`), and that the workers
outside of the group do not explain their agreement (`agreement_by_others`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc

from crowdcore.analysis.coordinated.groups import BEYOND, REST, Group, in_one_group, linked_groups
from crowdcore.analysis.mistakes.pair_mistakes import DRAWN, STEPS, PairMistakes, pair_mistakes, tail_beyond
from crowdcore.analysis.reference import Reference, ReferenceLike
from crowdcore.analysis.statistics import holm
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.counts import vote_counts
from crowdcore.core.latent_classes import LatentClasses, LatentPriors
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

VOTE = "majority-vote"
"""What judges pairs where there is neither gold nor marks."""
RATIO = 2.0  # times as many common mistakes as skills and tasks explain, before anyone is named
_COPIED = 1 / 3  # by gold or marks instead: how many of the labels that would differ are equal


@dataclass(frozen=True, eq=False)
class Copies:
    """The most suspicious partner of each worker; arrays (n_workers,), -1 and NaN for workers without one.

    Attributes:
        partner: worker number.
        adjusted: p-value of the pair after Holm over all pairs that could be tested.
        both: tasks that both labelled.
        alike, expected: tasks that both got wrong alike, and how many of those skills and tasks explain.
        agreed, expected_agreed: tasks with the same label from both, and how many of those skills and tasks explain.
    """

    partner: IntArray
    adjusted: FloatArray
    both: IntArray
    alike: IntArray
    expected: FloatArray
    agreed: IntArray
    expected_agreed: FloatArray


def copy_reference(truth: Reference) -> ReferenceLike:
    """Reference that judges pairs: gold or marks; without any the majority vote, whatever ``truth`` is.

    A model of the same labels takes two workers who always agree for two who are always right, so it cannot contradict
    them. A vote gives each label the same weight, so that the others' labels still do.
    """
    return truth if truth.checked else VOTE


def copy_evidence(dataset: CrowdDataset, truth: Reference) -> PairMistakes:
    """`pair_mistakes` by `copy_reference`."""
    return pair_mistakes(dataset, copy_reference(truth))


def copies(result: PairMistakes, groups: tuple[Group, ...], level: float = 0.05) -> Copies:
    """Pairs who agree more often than their skills and the tasks explain (`pair_mistakes`), by Holm's correction.

    Holm keeps the chance that any pair of independent workers is named at ``level``; a named pair has also at least
    twice as many mistakes in common as expected, or by gold or marks agrees on a third of the tasks on which
    independent workers would differ: where mistakes are many, half copies do not double them. Only pairs within one
    group of coordinated workers are returned: the workers outside of it have acquitted the others.
    """
    named, adjusted = beyond(result, level)
    named &= in_one_group(result, groups)
    order = np.flatnonzero(named)[np.argsort(-result.p_beyond[named], kind="stable")]  # the surest is written last
    n = len(result.worker_ids)
    partner, both, alike, agreed = (np.full(n, -1) for _ in range(4))
    p_value, expected, expected_agreed = (np.full(n, np.nan) for _ in range(3))
    for one, other in ((result.worker_a, result.worker_b), (result.worker_b, result.worker_a)):
        at = one[order]
        better = np.isnan(p_value[at]) | (adjusted[order] <= p_value[at])
        at, pair = at[better], order[better]
        partner[at], both[at], alike[at] = other[pair], result.both_labelled[pair], result.wrong_alike[pair]
        p_value[at], expected[at] = adjusted[pair], result.expected_beyond[pair]
        agreed[at], expected_agreed[at] = result.agreed[pair], result.expected_agreed[pair]
    return Copies(partner, p_value, both, alike, expected, agreed, expected_agreed)


def beyond(result: PairMistakes, level: float = 0.05) -> tuple[BoolArray, FloatArray]:
    """(n_pairs,) the pairs that `copies` names, and their p-values after Holm."""
    adjusted, much = holm(result.p_beyond), result.wrong_alike >= RATIO * result.expected_beyond
    if result.reference != VOTE:
        much |= result.agreed - result.expected_agreed >= _COPIED * (result.both_labelled - result.expected_agreed)
    return (adjusted <= level) & much, adjusted


_FEWEST = 10  # shared tasks of a pair that is tested
_SCATTER = 0.01  # variance beyond noise that a pair is granted in the fit, so that no pair outweighs many others
_OUTLYING = 2.5  # standardised residual from which a pair does not tell of its workers
MARGIN = 3.0
"""Standard deviations of the prediction granted to every pair."""
_STEPS = 10


def agreement_beyond(result: PairMistakes, dataset: CrowdDataset, *margins: float) -> FloatArray:
    """Chance of so many equal labels, were the two workers as far from each other as from the others.

    Labels by chance are equal with c, the sum of squared label shares. The share of equal labels of r and s is taken to
    be ``a_rs = c + (1 - c) u_r u_s`` (workers who know or guess; Ghosh, Kale, McAfee 2011), where hard tasks lower all
    u alike. The u are fitted by least squares to all pairs; pairs that agree far too much are left out in turn, and
    a pair is predicted without itself. The p-value is the binomial tail at the prediction plus a margin of some of its
    standard deviations: the error of u_r and u_s, and how far pairs scatter beyond their noise. Two workers who both
    favour a class agree for that alone: where their own label shares make equal labels more likely than c, the
    prediction takes ``c_rs = Σ_b p_r(b) p_s(b)`` instead.

    Returns:
        (n_margins, n_pairs) p-values, one row for each number of standard deviations granted (default: `MARGIN`); NaN
        for pairs that are not tested.
    """
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    given = np.bincount(dataset.worker.astype(np.int64) * n_classes + dataset.label, minlength=n_workers * n_classes)
    given = given.reshape(n_workers, n_classes)
    chance = float(((given.sum(0) / max(given.sum(), 1)) ** 2).sum())
    shares = given / np.maximum(given.sum(1, keepdims=True), 1)
    tested = result.both_labelled >= _FEWEST
    granted = np.array(margins or (MARGIN,))[:, None]
    out = np.full((len(granted), len(tested)), np.nan)
    if not tested.any() or chance > 1 - 1e-6:
        return out
    n, agreed = result.both_labelled.astype(np.float64), result.agreed.astype(np.float64)
    one, other = result.worker_a, result.worker_b
    own = sum((shares[one, b] * shares[other, b] for b in range(n_classes)), np.zeros(len(n)))
    predicted, doubt = _prediction(one, other, n, agreed / n, chance, np.maximum(own, chance), tested, n_workers)
    limit = np.minimum(predicted + granted * doubt, 1 - 1e-3)
    out[:, tested] = 1.0
    more = tested & (agreed > limit * n)
    pair = np.nonzero(more)[1]
    out[more] = betainc(agreed[pair], n[pair] - agreed[pair] + 1, limit[more])
    return out


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
    """(n_pairs,) the share of equal labels that the fit explains, and its standard deviation."""
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


@dataclass(frozen=True, eq=False)
class AgreementByOthers:
    """Agreement of pairs tested by the labels of others, arrays (n_pairs,).

    Attributes:
        alike, expected_alike: equal labels other than the class most probable by the others, and how many are expected.
        p_value: chance that copying explains the labels of two independent workers as well.
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
    for _ in range(STEPS):
        fit.step()
    by_worker = np.argsort(worker, kind="stable")
    worker_start = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    result, moments = np.zeros((len(one), 3), np.int64), np.zeros((len(one), 5))
    fill_pairs(0, len(one), one, other, by_worker, worker_start, task, tasks, fit.model, result, moments)
    (both, agreed, alike), (expected_agreed, expected_alike) = result.T, moments[:, :2].T
    p_value = tail_beyond(alike, agreed, both, expected_alike, expected_agreed, moments[:, 2:])
    return AgreementByOthers(alike, expected_alike, p_value)


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


PAIRS = 0.2
"""Share of the level for each of the two tests."""
_VOTED_MARGIN = 0.5  # standard deviations granted to agreement that must support a vote's accusation
_SUPPORT = 0.001  # p-value of another test of pairs that must support an accusation


@dataclass(frozen=True, eq=False)
class PairTest:
    """(n_pairs,) the pairs that a test named, and its p-values before and after correction."""

    named: BoolArray
    p_value: FloatArray
    adjusted: FloatArray
    by: str


def pair_tests(dataset: CrowdDataset, pairs: PairMistakes, level: float) -> list[PairTest]:
    """Run both tests. The less informed one must be supported by the other.

    By a vote, that is agreement beyond skill and tasks; by gold or marks, agreement more than with the others.
    """
    (named, adjusted), voted = beyond(pairs, PAIRS * level), pairs.reference == VOTE
    p_voted, p_rest = agreement_beyond(pairs, dataset, _VOTED_MARGIN, MARGIN)
    adjusted_rest = holm(p_rest)
    closer = adjusted_rest <= PAIRS * level
    if voted:
        named &= ~(p_voted > _SUPPORT)
    else:
        closer &= ~(pairs.p_beyond > _SUPPORT)
    return [
        PairTest(named, pairs.p_beyond, adjusted / PAIRS, BEYOND),
        PairTest(closer, p_rest, adjusted_rest / PAIRS, REST),
    ]


def judged_again(
    dataset: CrowdDataset, pairs: PairMistakes, tests: list[PairTest], out: IntArray, level: float
) -> list[PairTest]:
    """Keep the pairs that the workers who are not ``out`` confirm: the latter may have won the majority vote.

    The labels of the workers outside, without a vote (`agreement_by_others`), must not explain their agreement:
    Bonferroni's correction over all pairs. Among more than two, pairs who do not agree with each other more than with
    the others must also be wrong alike twice as often as expected, or stand out (p ≤ 0.001) if all workers but the two
    judge and the fit uses everybody's labels.
    """
    everybody, named = np.ones(dataset.n_workers, bool), np.any([test.named for test in tests], axis=0)
    if not named.any():
        return tests
    closer = np.any([test.named for test in tests if test.by == REST], axis=0)[named]
    those = pairs.worker_a[named], pairs.worker_b[named]
    result = agreement_by_others(dataset, ~np.isin(np.arange(dataset.n_workers), out), *those)
    sure = result.p_value * (~np.isnan(pairs.p_beyond)).sum() <= PAIRS * level
    much = closer | (result.alike >= RATIO * result.expected_alike) | (len(out) == 2)
    if (sure & ~much).any():
        much |= agreement_by_others(dataset, everybody, *those).p_value <= _SUPPORT
    named[named] = sure & much
    return [replace(test, named=test.named & named) for test in tests]


def linked_by(pairs: PairMistakes, tests: list[PairTest]) -> list[Group]:
    """Groups of workers that each test links."""
    return [group for test in tests for group in linked_groups(pairs, test.named, test.p_value, test.adjusted, test.by)]
