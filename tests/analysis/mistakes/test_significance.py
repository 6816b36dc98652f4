"""The test of shared mistakes: against shuffling, its error rates by simulation, Benjamini-Hochberg by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control, rankdata

from crowdcore.analysis import shared_mistakes
from crowdcore.analysis.mistakes.significance import sharing_p_values
from crowdcore.analysis.statistics import benjamini_hochberg
from testkit.crowds import simulate_crowd


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
    alarms = [(benjamini_hochberg(p_values(simulated(rng, kind, 0.0)[0])[0]) <= 0.05).any() for _ in range(150)]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize("kind", ["uniform", "own rows", "pair flips"])
def test_common_noise_is_found(kind):
    rng = np.random.default_rng(2)
    found, false = [], []
    for _ in range(20):
        counts, shared = simulated(rng, kind, 0.5)
        called = benjamini_hochberg(p_values(counts)[0]) <= 0.05
        truly = np.zeros_like(called)
        truly[np.arange(6), shared] = True
        found.append(called[truly].mean())
        false.append((called & ~truly).sum() / max(called.sum(), 1))
    assert np.mean(found) > 0.9
    assert np.mean(false) < 0.05


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
