"""ω, planted matrices, and several seeds combined."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from crowdcore.analysis import (
    annotation_entropy,
    band,
    band_frame,
    judge_omega,
    omega_ranking,
    omega_spread,
    omega_truth,
    planted,
    seeds_comparable,
    smoothed,
)
from crowdcore.analysis.recovery.omega import QUANTILES
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate import synthetic
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference


@pytest.mark.parametrize(
    ("spread", "correlation", "agreement", "sentence"),
    [
        (0.2, 0.8, "good", ""),
        (0.2, 0.79, "moderate", "read the ends of the ranking"),
        (0.2, 0.49, "poor", "Seeds rank the tasks differently (rank correlation 0.49): the ranking is not reliable."),
        (0.2, float("nan"), "", ""),
        (0.006, 0.99, "good", "ω hardly varies (standard deviation 0.006 over annotations): tasks cannot be ranked"),
        (float("nan"), float("nan"), "", "tasks cannot be ranked"),
    ],
)
def test_the_ranking_is_judged(spread, correlation, agreement, sentence):
    omega = judge_omega(spread, correlation)
    assert omega.agreement == agreement
    assert sentence in omega.words
    assert bool(omega.words) == bool(sentence)


def omegas(crowd, n_seeds: int, seed: int = 0):
    """ω depends on task and worker only, as a model's does."""
    rng = np.random.default_rng(seed)
    return rng.random((n_seeds, crowd.n_tasks, crowd.n_workers))[:, crowd.task, crowd.worker]


@given(crowds(), st.integers(1, 3), st.booleans())
def test_equals_loops(crowd, n_seeds, soft):
    omega = omegas(crowd, n_seeds)
    omega[:, crowd.task % 4 == 1] = np.nan
    if np.isnan(omega).all():
        with pytest.raises(DataError, match="annotation"):
            omega_ranking(crowd, omega, seeds=range(n_seeds))
        return
    truth = soft_reference(crowd) if soft else "gold"
    ranking = omega_ranking(crowd, omega, truth, seeds=range(n_seeds))
    means, spreads = {}, {}
    for i in range(crowd.n_tasks):
        of = {int(crowd.worker[k]): k for k in range(crowd.n_annotations) if crowd.task[k] == i}
        if of and i % 4 != 1:
            per_seed = [np.mean([omega[s, k] for k in of.values()]) for s in range(n_seeds)]
            means[i] = np.mean(per_seed)
            spreads[i] = np.std(per_seed, ddof=1) if n_seeds > 1 else np.nan
            assert ranking.n_workers[list(ranking.task).index(i)] == len(of)
    assert sorted(ranking.task) == sorted(means)
    np.testing.assert_allclose(ranking.omega, [means[i] for i in ranking.task])
    np.testing.assert_allclose(ranking.spread, [spreads[i] for i in ranking.task], atol=1e-12)
    assert (np.diff(ranking.omega) <= 1e-12).all()
    half = -(-len(means) // 2)
    assert ranking.n_top == half
    for tasks, counted in ((ranking.task[:half], ranking.top), (ranking.task[half:], ranking.bottom)):
        expected = np.zeros(crowd.n_classes)
        for i in tasks:
            if soft:
                expected += np.nan_to_num(truth.posterior[i])
            elif crowd.gold[i] >= 0:
                expected[crowd.gold[i]] += 1
        np.testing.assert_allclose(counted, expected, atol=1e-9)


def test_correlations_are_spearman_s_and_pearson_s(crowd):
    omega = omegas(crowd, 3)
    ranking = omega_ranking(crowd, omega, seeds=(0, 1, 2))
    assert ranking.task_correlation == pytest.approx(scipy.stats.spearmanr(ranking.omega, ranking.entropy).statistic)
    mean = [ranking.omega[ranking.label == c].mean() for c in range(crowd.n_classes)]
    np.testing.assert_allclose(ranking.class_omega, mean)
    entropy = annotation_entropy(crowd).entropy
    np.testing.assert_array_equal(ranking.class_entropy, entropy)
    assert ranking.class_correlation == pytest.approx(scipy.stats.spearmanr(mean, entropy).statistic)
    each = [omega_ranking(crowd, omega[[s]], seeds=(s,)) for s in range(3)]
    means = np.stack([one.omega[np.argsort(one.task)] for one in each])
    between = scipy.stats.spearmanr(means, axis=1).statistic[np.triu_indices(3, 1)].mean()
    assert ranking.seed_correlation == pytest.approx(between)


def test_one_seed_by_its_name(crowd):
    omega = omegas(crowd, 3)
    ranking = omega_ranking(crowd, omega, seeds=(7, 8, 9), seed=8)
    np.testing.assert_array_equal(ranking.omega, omega_ranking(crowd, omega[1:2], seeds=(8,)).omega)
    assert ranking.seed_correlation == omega_ranking(crowd, omega, seeds=(7, 8, 9)).seed_correlation
    assert np.isnan(omega_ranking(crowd, omega[:1], seeds=(7,)).seed_correlation)
    assert ranking.combined == "seed 8"
    assert "omega_std" not in ranking.frame()


def test_histograms_count_every_task_once(crowd):
    ranking = omega_ranking(crowd, omegas(crowd, 1), seeds=(0,))
    edges, counts = ranking.histogram(20)
    for c in range(crowd.n_classes):
        np.testing.assert_array_equal(counts[c], np.histogram(ranking.omega[ranking.label == c], edges)[0])
    np.testing.assert_array_equal(counts[-1], np.histogram(ranking.omega, edges)[0])


def test_frames(crowd):
    ranking = omega_ranking(crowd, omegas(crowd, 2), "majority-vote", seeds=(0, 1))
    frame = ranking.frame()
    assert list(frame["task"]) == [crowd.task_ids[i] for i in frame.index]
    assert frame["half"].value_counts()["top"] == ranking.n_top
    assert list(ranking.halves()["class"]) == list(crowd.classes)
    assert set(frame["majority-vote"]) <= set(crowd.classes)


def test_refusals():
    crowd = simulate_crowd(20)
    with pytest.raises(SettingError, match="`omega`"):
        omega_ranking(crowd, np.ones((1, 3)), seeds=(0,))
    with pytest.raises(DataError, match="gold"):
        omega_ranking(replace(crowd, gold=np.full(20, -1)), omegas(crowd, 1), "gold", seeds=(0,))


@given(crowds(), st.sampled_from(["class", "worker"]), st.booleans())
def test_equals_numpy_group_by_group(crowd, by, coarse):
    rng = np.random.default_rng(crowd.n_annotations)
    omega = rng.random((2, crowd.n_annotations))
    omega = omega.round(1) if coarse else omega
    omega[:, crowd.worker == 1] = np.nan
    spread = omega_spread(crowd, omega, by, seeds=(0, 1), n_bins=7)
    mean = omega.mean(0)
    group = crowd.worker if by == "worker" else crowd.gold[crowd.task]
    assert len(spread.names) == (crowd.n_workers if by == "worker" else crowd.n_classes)
    for k in range(len(spread.names)):
        mine = mean[(group == k) & ~np.isnan(mean)]
        assert spread.n[k] == len(mine) == spread.counts[k].sum()
        if not len(mine):
            assert np.isnan(spread.mean[k])
            assert np.isnan(spread.quantiles[k]).all()
            continue
        assert spread.mean[k] == pytest.approx(mine.mean())
        np.testing.assert_allclose(spread.quantiles[k], np.quantile(mine, QUANTILES), atol=1e-12)
        if not coarse:  # on an edge rounding decides
            np.testing.assert_array_equal(spread.counts[k], np.histogram(mine, spread.edges)[0])
    assert len(spread.frame()) == len(spread.names)


def test_a_constant_omega_has_a_bin_of_some_width(crowd):
    spread = omega_spread(crowd, np.full((1, crowd.n_annotations), 0.5), seeds=(0,))
    assert spread.edges[0] < 0.5 < spread.edges[-1]
    assert spread.counts.sum() == crowd.n_annotations


def test_spread_refusals(crowd):
    omega = np.ones((1, crowd.n_annotations))
    with pytest.raises(SettingError, match="`by`"):
        omega_spread(crowd, omega, "task", seeds=(0,))
    with pytest.raises(SettingError, match="`omega`"):
        omega_spread(crowd, omega[:, :4], seeds=(0,))


@pytest.fixture(scope="module")
def simulated():
    return synthetic(n_tasks=400, n_valid=10, n_test=10, seed=3)


def test_equals_scipy(simulated):
    rng = np.random.default_rng(0)
    true, used = simulated.truth.omega, simulated.truth.used_common
    omega = np.clip(true + rng.normal(0, 0.2, (2, len(true))), 0, 1).round(2)
    truth = omega_truth(simulated, omega, seeds=(0, 1), n_bins=10)
    mean = omega.mean(0)
    assert truth.correlation == pytest.approx(scipy.stats.pearsonr(true, mean).statistic)
    assert truth.rank_correlation == pytest.approx(scipy.stats.spearmanr(true, mean).statistic)
    u = scipy.stats.mannwhitneyu(mean[used], mean[~used]).statistic
    assert truth.auc == pytest.approx(u / (used.sum() * (~used).sum()))
    assert truth.auc < truth.auc_limit
    expected = np.zeros((10, 10))
    for t, m in zip(true, mean, strict=True):
        expected[min(int(t * 10), 9), min(int(m * 10), 9)] += 1
    np.testing.assert_array_equal(truth.counts, expected)
    assert truth.frame()["annotations"].sum() == truth.n == simulated.n_annotations


def test_the_truth_itself_is_perfect_and_missing_omega_is_left_out(simulated):
    omega = simulated.truth.omega[None].copy()
    omega[0, :50] = np.nan
    truth = omega_truth(simulated, omega, seeds=(0,))
    assert truth.n == simulated.n_annotations - 50
    assert truth.correlation == pytest.approx(1)
    assert truth.auc == truth.auc_limit > 0.5


def test_truth_refusals(simulated, crowd):
    with pytest.raises(DataError, match="does not say which"):
        omega_truth(crowd, np.ones((1, crowd.n_annotations)), seeds=(0,))
    with pytest.raises(SettingError, match="`omega`"):
        omega_truth(simulated, np.ones((1, 2)), seeds=(0,))


SMALL = {"n_tasks": 1500, "n_valid": 200, "n_test": 200}


def test_counts_by_hand() -> None:
    crowd = CrowdDataset(
        "by hand",
        ("a", "b", "c"),
        pd.Index(["t1", "t2", "t3"]),
        pd.Index(["w1", "w2", "w3"]),
        np.array([0, 0, 0, 1, 1, 2]),
        np.array([0, 1, 2, 0, 1, 2]),
        np.array([0, 0, 1, 2, 2, 1]),
        gold=np.array([0, 1, -1]),
    )
    plants = planted(crowd)
    assert plants.confusion[0] == pytest.approx([2 / 3, 1 / 3, 0])
    assert plants.confusion[1] == pytest.approx([0, 0, 1])
    assert np.isnan(plants.confusion[2]).all()
    assert plants.right == pytest.approx(2 / 5)
    assert plants.majority == pytest.approx(1 / 2)
    assert plants.misleading.tolist() == [1]
    assert "In 1 of 3 classes" in plants.sentence and "b is mostly" in plants.sentence
    assert plants.frame()["most frequent label"].tolist() == ["a", "c", "–"]


@pytest.mark.parametrize(("strength", "misled"), [(0.2, False), (0.95, True)])
def test_strong_common_noise_makes_another_label_the_most_frequent_one(strength: float, misled: bool) -> None:
    crowd = simulate.synthetic(common_strength=strength, individual_strength=strength, **SMALL)
    assert bool(len(planted(crowd).misleading)) == misled
    assert ("cannot identify" in planted(crowd).sentence) == misled


def test_labels_are_right_as_often_as_the_settings_say() -> None:
    crowd = simulate.synthetic(common_strength=0.4, individual_strength=0.3, proportion=0.5, omega_spread=0.0, **SMALL)
    assert planted(crowd).right == pytest.approx(0.5 * 0.6 + 0.5 * 0.7, abs=0.03)


def test_without_gold_nothing_can_be_said() -> None:
    crowd = simulate.synthetic(**SMALL)
    with pytest.raises(DataError, match="gold"):
        planted(replace(crowd, gold=np.full(crowd.n_tasks, -1)))


CLASSES = ("cat", "dog", "fox", "owl")
SEEDS = (4, 7, 9)


def crowd(rng, n_workers: int = 8, skill: float = 0.6, noise: float = 0.1):
    """(3, R, 4, 4) the same workers, recovered with some noise by every seed."""
    own = skill * np.eye(4) + (1 - skill) * rng.dirichlet(np.ones(4), (n_workers, 4))
    return (1 - noise) * own + noise * rng.dirichlet(np.ones(4), (3, n_workers, 4))


def judge(confusion, epochs=(10, 20, 30), **more):
    return seeds_comparable(confusion, epochs, seeds=SEEDS, classes=CLASSES, **more)


@pytest.mark.parametrize("n_workers", [1, 8])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_workers_are_comparable(seed, n_workers):
    scores = judge(crowd(np.random.default_rng(seed), n_workers))
    assert scores
    assert scores.reason == ""


def test_classes_in_another_order_are_not():
    confusion = crowd(np.random.default_rng(0))
    confusion[2] = confusion[2][:, [0, 2, 1, 3]]
    scores = judge(confusion)
    assert not scores
    assert all(word in scores.reason for word in ("seed 9", "seed 4", "dog", "fox"))


def test_a_cycle_of_classes_among_strong_noise_is_found():
    confusion = crowd(np.random.default_rng(1), skill=0.4, noise=0.3)
    confusion[1] = confusion[1][:, [1, 2, 0, 3]]
    assert "seed 7" in judge(confusion).reason


def test_rows_that_are_alike_may_be_swapped():
    confusion = np.full((3, 5, 4, 4), 0.25) + np.random.default_rng(2).normal(0, 0.01, (3, 5, 4, 4))
    assert judge(confusion)


def test_unknown_rows_do_not_matter():
    confusion = crowd(np.random.default_rng(3))
    confusion[:, :, 3] = np.nan
    assert judge(confusion)


@pytest.mark.parametrize(("epochs", "fine"), [((10, 20, 30), True), ((3, 16, 21), False), ((0, 3, 2), True)])
def test_epochs_differ_by_a_factor_of_three_at_most(epochs, fine):
    confusion = crowd(np.random.default_rng(0))
    assert bool(judge(confusion, epochs)) == fine
    assert judge(confusion, epochs, at_last=True)
    if not fine:
        assert "(3, 16 and 21)" in judge(confusion, epochs).reason


def test_mean_and_sample_deviation_of_what_there_is():
    values = np.array([[1.0, 2.0, 6.0], [4.0, np.nan, 5.0], [7.0, np.nan, np.nan], [np.nan] * 3])
    curve = band("a run", "conal", [1, 2, 3, 4], values)
    assert curve.mean[:3].tolist() == [3.0, 4.5, 7.0]
    assert curve.std[:2].tolist() == pytest.approx([statistics.stdev([1, 2, 6]), statistics.stdev([4, 5])])
    assert np.isnan(curve.std[2:]).all()
    assert np.isnan(curve.mean[3])
    assert curve.n.tolist() == [3, 2, 1, 0]


def test_positions_may_hold_different_numbers_of_values():
    curve = band("a run", "conal", ["a", "b"], [np.array([1.0, 3.0]), np.array([5.0])])
    assert (curve.mean.tolist(), curve.n.tolist()) == ([2.0, 5.0], [2, 1])


def test_one_row_of_values_per_position():
    with pytest.raises(SettingError, match=r"`values`.*2 rows"):
        band("a run", "conal", [1, 2], np.ones((3, 2)))


def test_the_table_is_long():
    bands = [band("one", "conal", [1, 2], np.ones((2, 3))), band("other", "trace", [1], np.zeros((1, 2)))]
    frame = band_frame(bands, "epoch", "loss")
    assert list(frame.columns) == ["run", "method", "epoch", "loss mean", "loss std", "values"]
    assert frame["run"].tolist() == ["one", "one", "other"]
    assert frame["loss mean"].tolist() == [1, 1, 0]
    assert list(band_frame([], "epoch", "loss").columns) == list(frame.columns)


def test_smoothing_takes_the_mean_around_each_position() -> None:
    values = np.array([[1.0, 2.0], [4.0, 4.0], [np.nan, np.nan], [0.0, 2.0]])
    b = band("one", "conal", [1, 2, 3, 4], values)
    means = smoothed(b, 3)
    np.testing.assert_allclose(means.mean, [2.75, 2.75, np.nan, 1.0])
    np.testing.assert_allclose(means.std, [b.std[:2].mean(), b.std[:2].mean(), np.nan, b.std[3]])
    assert smoothed(b, 1) is b
    for wrong in (0, 2, -1):
        with pytest.raises(SettingError, match="odd"):
            smoothed(b, wrong)
