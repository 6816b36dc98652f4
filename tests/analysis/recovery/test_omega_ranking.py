"""`omega_ranking` against loops over tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from crowdcore.analysis import annotation_entropy, omega_ranking
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference


def omegas(crowd, n_seeds: int, seed: int = 0):
    """ω depends on task and worker only, as a model's does."""
    rng = np.random.default_rng(seed)
    return rng.random((n_seeds, crowd.n_tasks, crowd.n_workers))[:, crowd.task, crowd.worker]


@given(crowds(), st.integers(1, 3), st.booleans())
def test_equals_loops(crowd, n_seeds, soft):
    omega = omegas(crowd, n_seeds)
    omega[:, crowd.task % 4 == 1] = np.nan
    if np.isnan(omega).all():
        with pytest.raises(DataError, match="No annotation has"):
            omega_ranking(crowd, omega, seeds=range(n_seeds))
        return
    truth = soft_reference(crowd) if soft else "gold"
    found = omega_ranking(crowd, omega, truth, seeds=range(n_seeds))
    means, spreads = {}, {}
    for i in range(crowd.n_tasks):
        of = {int(crowd.worker[k]): k for k in range(crowd.n_annotations) if crowd.task[k] == i}
        if of and i % 4 != 1:
            per_seed = [np.mean([omega[s, k] for k in of.values()]) for s in range(n_seeds)]
            means[i] = np.mean(per_seed)
            spreads[i] = np.std(per_seed, ddof=1) if n_seeds > 1 else np.nan
            assert found.n_workers[list(found.task).index(i)] == len(of)
    assert sorted(found.task) == sorted(means)
    np.testing.assert_allclose(found.omega, [means[i] for i in found.task])
    np.testing.assert_allclose(found.spread, [spreads[i] for i in found.task], atol=1e-12)
    assert (np.diff(found.omega) <= 1e-12).all()
    half = -(-len(means) // 2)
    assert found.n_top == half
    for tasks, counted in ((found.task[:half], found.top), (found.task[half:], found.bottom)):
        expected = np.zeros(crowd.n_classes)
        for i in tasks:
            if soft:
                expected += np.nan_to_num(truth.posterior[i])
            elif crowd.gold[i] >= 0:
                expected[crowd.gold[i]] += 1
        np.testing.assert_allclose(counted, expected, atol=1e-9)


def test_correlations_are_spearman_s_and_pearson_s(crowd):
    omega = omegas(crowd, 3)
    found = omega_ranking(crowd, omega, seeds=(0, 1, 2))
    assert found.task_correlation == pytest.approx(scipy.stats.spearmanr(found.omega, found.entropy).statistic)
    mean = [found.omega[found.label == c].mean() for c in range(crowd.n_classes)]
    np.testing.assert_allclose(found.class_omega, mean)
    entropy = annotation_entropy(crowd).entropy
    np.testing.assert_array_equal(found.class_entropy, entropy)
    assert found.class_correlation == pytest.approx(scipy.stats.spearmanr(mean, entropy).statistic)
    each = [omega_ranking(crowd, omega[[s]], seeds=(s,)) for s in range(3)]
    means = np.stack([one.omega[np.argsort(one.task)] for one in each])
    between = scipy.stats.spearmanr(means, axis=1).statistic[np.triu_indices(3, 1)].mean()
    assert found.seed_correlation == pytest.approx(between)


def test_one_seed_by_its_name(crowd):
    omega = omegas(crowd, 3)
    found = omega_ranking(crowd, omega, seeds=(7, 8, 9), seed=8)
    np.testing.assert_array_equal(found.omega, omega_ranking(crowd, omega[1:2], seeds=(8,)).omega)
    assert found.seed_correlation == omega_ranking(crowd, omega, seeds=(7, 8, 9)).seed_correlation
    assert np.isnan(omega_ranking(crowd, omega[:1], seeds=(7,)).seed_correlation)
    assert found.combined == "seed 8"
    assert "omega_std" not in found.frame()


def test_histograms_count_every_task_once(crowd):
    found = omega_ranking(crowd, omegas(crowd, 1), seeds=(0,))
    edges, counts = found.histogram(20)
    for c in range(crowd.n_classes):
        np.testing.assert_array_equal(counts[c], np.histogram(found.omega[found.label == c], edges)[0])
    np.testing.assert_array_equal(counts[-1], np.histogram(found.omega, edges)[0])


def test_frames(crowd):
    found = omega_ranking(crowd, omegas(crowd, 2), "majority-vote", seeds=(0, 1))
    frame = found.frame()
    assert list(frame["task"]) == [crowd.task_ids[i] for i in frame.index]
    assert frame["half"].value_counts()["top"] == found.n_top
    assert list(found.halves()["class"]) == list(crowd.classes)
    assert set(frame["majority-vote"]) <= set(crowd.classes)


def test_refusals():
    crowd = simulate_crowd(20)
    with pytest.raises(SettingError, match="`omega` must have the shape"):
        omega_ranking(crowd, np.ones((1, 3)), seeds=(0,))
    with pytest.raises(DataError, match="no gold labels"):
        omega_ranking(replace(crowd, gold=np.full(20, -1)), omegas(crowd, 1), seeds=(0,))
