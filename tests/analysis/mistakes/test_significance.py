"""The test of shared mistakes: p-values, evidence of tasks; mistakes of the guideline, and none of lenient graders."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, false_discovery_control, rankdata

from crowdcore import exhibits
from crowdcore.analysis import shared_mistakes
from crowdcore.analysis.mistakes import significance
from crowdcore.analysis.mistakes.significance import ScoreSum, sharing_p_values
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core import mistakes
from crowdcore.core.mistakes import carried_sums, mistake_triples
from crowdcore.exhibits import verdicts
from testkit import known_truth
from testkit.crowds import simulate_crowd
from testkit.erring import FOOLED, individual
from testkit.known_truth import Known
from tests.analysis.crowds import crowds, make_crowd


def p_values(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``counts`` (R, C, C): annotations of each worker, true class and given label."""
    true, given, worker = np.nonzero(counts.transpose(1, 2, 0))
    of = true * counts.shape[1] + given, worker, counts[worker, true, given], counts.shape[1]
    return sharing_p_values(*of)[:2]


def test_p_values_are_those_of_shuffled_labels():
    """The null literally: shuffle each worker's numbers among the wrong classes, rank, add, compare."""
    rng = np.random.default_rng(0)
    n_classes, draws = 5, 4000
    counts = rng.poisson(0.8, (9, n_classes, n_classes))
    p, expected = p_values(counts)
    for a in range(n_classes):
        others = np.delete(np.arange(n_classes), a)
        mine = counts[:, a, others]
        observed = rankdata(mine, axis=1).sum(0)
        shuffled = rng.permuted(np.tile(mine, (draws, 1, 1)), axis=2)
        sums = rankdata(shuffled, axis=2).sum(1)
        share = (sums >= observed - 1e-9).mean(0)
        np.testing.assert_allclose(p[a, others], share, atol=4 / np.sqrt(draws) * 0.5)
        np.testing.assert_allclose(expected[a, others], (shuffled > 0).sum(1).mean(0), atol=0.15)


def test_one_wrong_label_each_is_a_binomial():
    """Ten workers with one mistake each, seven of them the same one: the plain count decides."""
    from scipy.stats import binom

    counts = np.zeros((10, 4, 4), int)
    counts[:7, 0, 1] = 1
    counts[7:, 0, 2] = 1
    p, expected = p_values(counts)
    np.testing.assert_allclose(p[0, 1:], binom.sf(np.array([7, 3, 0]) - 1, 10, 1 / 3))
    np.testing.assert_allclose(expected[0, 1:], 10 / 3)
    assert np.isnan(p[1:]).all()


def test_workers_who_made_every_mistake_still_count():
    counts = np.ones((6, 5, 5), int)
    assert np.isnan(p_values(counts)[0]).all()
    counts[:, 0, 3] = 9
    p = p_values(counts)[0]
    assert p[0, 3] == pytest.approx(4.0**-6)
    assert np.isnan(p[1:]).all()


def test_nothing_to_test():
    assert np.isnan(p_values(np.zeros((3, 4, 4), int))[0]).all()
    assert np.isnan(p_values(np.full((5, 2, 2), 3))[0]).all()
    alone = np.zeros((3, 4, 4), int)
    alone[0, 0, 1] = 5
    assert np.isnan(p_values(alone)[0]).all()


def simulated(rng, kind: str, common: float, n_workers=40, n_classes=6, per_class=5) -> tuple[np.ndarray, np.ndarray]:
    """Counts of workers with rows of their own, and the common wrong label of each class."""
    counts = np.zeros((n_workers, n_classes, n_classes), int)
    shared = (np.arange(n_classes) + rng.integers(1, n_classes, n_classes)) % n_classes
    for r in range(n_workers):
        error = rng.beta(2, 4)
        for a in range(n_classes):
            others = np.delete(np.arange(n_classes), a)
            own = {
                "uniform": np.full(n_classes - 1, 1 / (n_classes - 1)),
                "own rows": rng.dirichlet(np.full(n_classes - 1, 0.3)),
                "pair flips": np.eye(n_classes - 1)[rng.integers(n_classes - 1)],
            }[kind]
            chance = (1 - common) * own + common * (others == shared[a])
            counts[r, a, others] = rng.multinomial(rng.binomial(per_class, error), chance)
    return counts, shared


@pytest.mark.parametrize("kind", ["uniform", "own rows", "pair flips"])
def test_individual_noise_is_rarely_called_shared(kind):
    """All discoveries are false here, so the false discovery rate is the share of crowds with any."""
    rng = np.random.default_rng(1)
    alarms = [(benjamini_hochberg(p_values(simulated(rng, kind, 0.0)[0])[0]) <= 0.05).any() for _ in range(25)]
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 25)


@pytest.mark.parametrize("reference", ["majority-vote", "dawid-skene"])
def test_ties_of_a_consensus_are_not_called_shared_mistakes(reference):
    """Two labels a task: whenever the workers differ the vote ties, and a rule would decide who was wrong."""
    alarms = []
    for seed in range(30):
        crowd = simulate_crowd(n_tasks=300, n_workers=20, n_classes=5, per_task=2, seed=seed)
        alarms.append((shared_mistakes(crowd, reference).q_value <= 0.05).any())
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 30)


@given(arrays(float, st.integers(1, 30), elements=st.floats(0, 1)))
def test_benjamini_hochberg_is_scipys(p):
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p), atol=1e-15)


def test_benjamini_hochberg_leaves_untested_entries_out():
    p = np.array([[np.nan, 0.01], [0.03, np.nan]])
    np.testing.assert_allclose(benjamini_hochberg(p), [[np.nan, 0.02], [0.03, np.nan]])


def build(patterns: list[list[int]], n: list[int]) -> ScoreSum:
    """Each pattern lists the score of every label."""
    tables = [np.unique(p, return_counts=True) for p in patterns]
    start = np.cumsum([0, *(len(values) for values, _ in tables)])
    score, ways = (np.concatenate(part) for part in zip(*tables, strict=True))
    return ScoreSum(score, ways, start, np.array(n), len(patterns[0]))


def convolved(patterns, n):
    mass = np.ones(1)
    for pattern, times in zip(patterns, n, strict=True):
        for _ in range(times):
            mass = np.convolve(mass, np.bincount(pattern) / len(pattern))
    return np.cumsum(mass[::-1])[::-1]


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_tail_is_that_of_all_draws(patterns):
    sums = np.array([sum(draw) for draw in product(*patterns)])
    x = np.arange(0, 26)
    expected = (sums[None, :] >= x[:, None]).mean(1)
    np.testing.assert_allclose(build(patterns, [1] * len(patterns)).tail(x), expected, rtol=1e-12)


def test_two_scores_are_a_binomial_far_into_the_tail():
    tail = build([[0, 0, 0, 5]], [50]).tail(5 * np.arange(51))
    np.testing.assert_allclose(tail, binom.sf(np.arange(51) - 1, 50, 0.25), rtol=1e-9)
    assert tail[-1] < 1e-29


@pytest.mark.parametrize(
    ("patterns", "n"),
    [
        ([[0, 0, 0, 9], [0, 0, 9, 9]], [700, 300]),
        ([[0, 0, 0, 3], [0, 0, 2, 4], [1, 2, 3, 4]], [300, 150, 200]),
        ([[0, 2, 5, 7]], [400]),
    ],
)
def test_the_approximation_meets_the_exact_tail(monkeypatch, patterns, n):
    exact = convolved(patterns, n)
    monkeypatch.setattr(significance, "_BUDGET", 0)
    x = np.flatnonzero((exact > 1e-12) & (exact < 0.999))[:: max(1, len(exact) // 60)]
    lattice = np.gcd.reduce(np.concatenate([np.subtract(p, min(p)) for p in patterns]))
    x = x - x % lattice
    np.testing.assert_allclose(build(patterns, n).tail(x), exact[x], rtol=2e-3)


def test_ends_of_the_approximation(monkeypatch):
    monkeypatch.setattr(significance, "_BUDGET", 0)
    total = build([[0, 1, 2]], [30])
    np.testing.assert_allclose(total.tail(np.array([-1, 0, 60, 61])), [1, 1, 3.0**-30, 0], rtol=1e-9)


DENSE = (20, 120, 6, 20)


def summed(crowd):
    n, n_workers = crowd.n_classes, crowd.n_workers
    table = crowd.task, crowd.worker, crowd.label, crowd.gold
    triples = mistake_triples(*table, n_workers, n)
    score = sharing_p_values(triples.cell, triples.worker, triples.times, n).score
    return triples, score, carried_sums(*table, triples, score, n_workers, n)


@given(crowds())
def test_sums_are_literal(crowd):
    triples, score, sums = summed(crowd)
    n = crowd.n_classes
    part = dict(zip(zip(triples.cell, triples.worker, strict=True), score / triples.times, strict=True))
    carried, parts, labels = np.zeros((crowd.n_tasks, n)), np.zeros(n * n), np.zeros(crowd.n_tasks)
    for i, r, b in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        labels[i] += 1
        if crowd.gold[i] not in (-1, b):
            s = part[crowd.gold[i] * n + b, r]
            carried[i, b] += s
            parts[crowd.gold[i] * n + b] += s**2
    for a in range(n):
        of = crowd.gold == a
        np.testing.assert_allclose(sums.total[a * n : (a + 1) * n], carried[of].sum(0))
        np.testing.assert_allclose(sums.squares[a * n : (a + 1) * n], (carried[of] ** 2).sum(0))
        np.testing.assert_allclose(sums.weighted[a * n : (a + 1) * n], labels[of] @ carried[of])
        assert (sums.labels[a], sums.labels_squared[a]) == (labels[of].sum(), (labels[of] ** 2).sum())
    np.testing.assert_allclose(sums.parts, parts)


def test_compiled_sums_are_the_same(monkeypatch):
    crowd, _ = individual(DENSE, "own rows", 0.2, (0.01, 0.1), np.random.default_rng(0))
    plain = summed(crowd)[2]
    monkeypatch.setattr(mistakes, "_LARGE", 0)
    for one, two in zip(plain, summed(crowd)[2], strict=True):
        np.testing.assert_allclose(one, two)


def test_one_task_with_wrong_gold_is_no_shared_mistake_and_many_tasks_are():
    """Fifteen workers, three mistakes each: one task misleads all of them, or each of 24 tasks some of them."""
    rng = np.random.default_rng(0)
    task, worker = np.repeat(np.arange(30), 15), np.tile(np.arange(15), 30)
    alone = np.where(task == 0, 1, np.where(rng.random(450) < 0.1, rng.integers(1, 6, 450), 0))
    many = np.where((task < 24) & (rng.random(450) < 0.2), 1, np.where(task == 0, 0, alone))
    one, several = (
        shared_mistakes(make_crowd(task, worker, label, 30, 15, 6, np.zeros(30, int))) for label in (alone, many)
    )
    assert one.p_workers[0, 1] < 1e-4 < 0.05 < one.p_value[0, 1]
    assert one.carriers[0, 1] < 4
    assert several.q_value[0, 1] < 0.01
    assert several.carriers[0, 1] > 8


@pytest.mark.parametrize("fooled", ["2 % wrong gold", "10 % foils"])
def test_wrong_gold_and_foils_do_not_fool_it(fooled):
    rng = np.random.default_rng(0)
    mistakes = [shared_mistakes(individual(DENSE, "pair flips", 0.0, FOOLED[fooled], rng)[0]) for _ in range(30)]
    assert np.mean([(benjamini_hochberg(r.p_workers) <= 0.05).any() for r in mistakes]) > 0.5
    assert np.mean([(r.q_value <= 0.05).any() for r in mistakes]) <= 0.1


def test_common_mistakes_are_found_nearly_as_often_as_without_evidence_over_tasks():
    rng = np.random.default_rng(1)
    powers = []
    for _ in range(15):
        crowd, shared = individual(DENSE, "own rows", 0.3, (0, 0), rng)
        mistakes = shared_mistakes(crowd)
        powers.append([(q[shared] <= 0.05).mean() for q in (benjamini_hochberg(mistakes.p_workers), mistakes.q_value)])
    before, after = np.mean(powers, axis=0)
    assert before > 0.8
    assert after >= 0.8 * before


def cells(known: Known, reference: str) -> list[tuple[int, int]]:
    of = exhibits.view((known if reference == "gold" else known.without_gold()).dataset, reference)
    return [(int(a), int(b)) for a, b in np.argwhere(verdicts.guideline_cells(of))]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_strict_and_lenient_graders_make_no_mistake_of_the_guideline(reference: str) -> None:
    kinds = ({}, {"n_tasks": 200, "per_task": 20})
    crowds = [known_truth.graders(np.random.default_rng([1, seed]), **kind) for kind in kinds for seed in range(4)]
    assert not [cell for known in crowds for cell in cells(known, reference)]


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_a_mistake_between_neighbouring_grades_is_found_with_and_without_leans(reference: str) -> None:
    for seed in range(3):
        known, rng = known_truth.guideline(np.random.default_rng(seed)), np.random.default_rng(seed)
        assert (0, 1) in cells(replace(known, dataset=replace(known.dataset, classes=tuple("12345"))), reference)
        graded = known_truth.graders(rng, n_tasks=600)
        ds, carriers = graded.dataset, np.arange(20) < 7
        misled = carriers[ds.worker] & (graded.true[ds.task] == 2) & (rng.random(ds.n_annotations) < 0.9)
        label = np.where(misled, 1, ds.label).astype(np.int32)
        values = cells(replace(graded, dataset=replace(ds, label=label)), reference)
        assert values == [(2, 1)] if reference == "gold" else values in ([], [(2, 1)])


def test_teams_whose_tasks_differ_make_no_mistake_of_the_guideline() -> None:
    crowds = [known_truth.teams(np.random.default_rng([1, seed])) for seed in range(20)]
    assert sum(bool(cells(known, "majority-vote")) for known in crowds) <= 3


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_of_two_classes_a_guideline_is_found_and_readiness_for_one_class_is_none(reference: str) -> None:
    for seed in range(3):
        rng, able = np.random.default_rng(seed), {"n_tasks": 400, "per_task": 6, "skill": (0.85, 0.95), "even": True}
        known = known_truth.honest(rng, n_workers=24, n_classes=2, **able)
        ds, half = known.dataset, rng.random(known.dataset.n_annotations) < 0.5
        misled = half & (ds.worker < 8) & (known.true[ds.task] == 0)
        leaning = np.where(half & (ds.worker < 16), ds.worker < 8, ds.label)
        for label, shared in (
            (np.where(misled, 1, ds.label), [(0, 1)]),
            (np.where(ds.worker < 4, 1, ds.label), []),
            (leaning, []),
        ):
            assert cells(replace(known, dataset=replace(ds, label=label.astype(np.int32))), reference) == shared
