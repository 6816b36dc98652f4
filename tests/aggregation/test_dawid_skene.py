"""Dawid–Skene, plain, fast, one-coin and ordinal, against the literal equations and crowd-kit; EM in general."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import crowdcore as cc
from crowdcore.aggregation._em import start_posterior
from crowdcore.core.em import Sums
from crowdcore.data import CrowdDataset
from crowdcore.testing import widen
from testkit.crowds import simulate_crowd
from tests.aggregation import literal


def model(iterations, **settings):
    return cc.aggregation.get("dawid-skene", tolerance=0, max_iterations=iterations, **settings)


def one_coin(iterations, **settings):
    return cc.aggregation.get("one-coin", tolerance=0, max_iterations=iterations, **settings)


def same(result, expected, atol=1e-10):
    T, rates, shares, likelihoods = expected
    np.testing.assert_allclose(np.nan_to_num(result.posterior), T, atol=atol)
    np.testing.assert_allclose(result.confusion, rates, atol=atol)
    np.testing.assert_allclose(result.prior, shares, atol=atol)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=atol)


@pytest.mark.parametrize(("iterations", "alpha"), [(1, 0.01), (2, 1.0), (12, 0.01)])
def test_equals_the_literal_equations(iterations, alpha):
    crowd = simulate_crowd(60, 6, 3, per_task=3, seed=1)
    same(model(iterations, smoothing=alpha).fit(crowd), literal.em(crowd, iterations, alpha=alpha))
    one = one_coin(iterations, smoothing=alpha).fit(crowd)
    same(one, literal.em(crowd, iterations, literal.one_coin_rates, alpha))
    np.testing.assert_allclose(one.worker_weight, one.confusion[:, 0, 0], atol=1e-10)
    hard = cc.aggregation.get("fast-dawid-skene", tolerance=0, max_iterations=iterations).fit(crowd)
    same(hard, literal.em(crowd, iterations, hard=True), 1e-12)


def test_equals_the_literal_equations_with_known_and_empty_tasks():
    crowd = widen(simulate_crowd(60, 6, 3, per_task=3, seed=2), tasks=3)
    known = np.where(np.arange(crowd.n_tasks) % 4 == 0, crowd.gold, -1)
    known[-1] = 2
    same(model(10).fit(crowd, known=known), literal.em(crowd, 10, known=known))


def test_dawid_and_skenes_own_data(data_folder):
    """45 patients, 5 anaesthetists, the first of whom rated each three times; maximum likelihood, no smoothing."""
    patients = cc.load_dataset("anaesthesia")
    assert patients.n_annotations == 315
    result = model(12, smoothing=0).fit(patients)
    same(result, literal.em(patients, 12, alpha=0), 1e-8)  # ours keeps zero counts at 1e-10


@pytest.mark.parametrize(("name", "iterations"), [("labelme", 7), ("bluebird", 1)])
@pytest.mark.filterwarnings("ignore")
def test_equals_crowd_kit(data_folder, name, iterations):
    peers = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    annotated, frame = dataset.annotated, dataset.annotations.astype(str)
    for ours, theirs in ((model, peers.DawidSkene), (one_coin, peers.OneCoinDawidSkene)):
        probas = theirs(n_iter=iterations, tol=-np.inf).fit(frame).probas_
        expected = probas.reindex(index=dataset.task_ids, columns=list(dataset.classes), fill_value=0.0)
        result = ours(iterations, smoothing=0).fit(dataset)
        assert len(result.log_likelihood) == iterations or result.converged
        np.testing.assert_allclose(result.posterior[annotated], expected.to_numpy()[annotated], atol=1e-8)


def test_objective_includes_the_priors_it_names():
    """The recorded value is log-likelihood + α Σ log π + β Σ log ρ, at the parameters before the last M-step."""
    crowd = simulate_crowd(50, 5, 3, seed=3)
    before, after = (model(n, smoothing=0.5, prior_smoothing=2).fit(crowd) for n in (3, 4))
    joint = np.log(before.prior) + np.zeros((crowd.n_tasks, 3))
    for i, r, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        joint[i] += np.log(before.confusion[r, :, label])
    likelihood = np.log(np.exp(joint).sum(1)).sum()
    expected = likelihood + 0.5 * np.log(before.confusion).sum() + 2 * np.log(before.prior).sum()
    assert after.log_likelihood[-1] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(before.prior, (before.posterior.sum(0) + 2) / (crowd.n_tasks + 6), atol=1e-12)


def test_stopping_rule_is_reported():
    crowd = simulate_crowd()
    stopped = cc.aggregation.get("dawid-skene", tolerance=1e-4).fit(crowd)
    gains = np.diff(stopped.log_likelihood) / crowd.n_annotations
    assert stopped.converged
    assert "0.0001" in stopped.stopped and str(len(stopped.log_likelihood)) in stopped.stopped
    assert (gains[:-1] >= 1e-4).all() and gains[-1] < 1e-4
    capped = model(2).fit(crowd)
    assert capped.converged is False
    assert "cap of 2" in capped.stopped


def test_restarts_keep_the_best_objective():
    crowd = simulate_crowd(80, 20, 4, per_task=2, accuracy=0.45, seed=4)
    settings = {"tolerance": 1e-8, "max_iterations": 300, "seed": 5}
    alone = cc.aggregation.get("dawid-skene", **settings).fit(crowd)
    best = cc.aggregation.get("dawid-skene", restarts=15, **settings).fit(crowd)
    again = cc.aggregation.get("dawid-skene", restarts=15, **settings).fit(crowd)
    other = cc.aggregation.get("dawid-skene", restarts=15, **(settings | {"seed": 6})).fit(crowd)
    assert best.log_likelihood[-1] > alone.log_likelihood[-1] + 1e-3
    np.testing.assert_array_equal(best.posterior, again.posterior)
    assert other.log_likelihood[-1] != best.log_likelihood[-1]
    np.testing.assert_array_equal(best.labels, best.posterior.argmax(1))


def test_restarts_keep_clamps_and_empty_tasks():
    crowd = widen(simulate_crowd(80, 20, 4, per_task=2, accuracy=0.45, seed=4), tasks=1)
    known = np.where(np.arange(crowd.n_tasks) < 5, 3, -1)
    result = cc.aggregation.get("dawid-skene", restarts=5).fit(crowd, known=known)
    np.testing.assert_array_equal(result.posterior[:5], np.eye(4)[[3] * 5])
    assert np.isnan(result.posterior[-1]).all()


def test_large_and_small_paths_agree(monkeypatch):
    crowd = simulate_crowd(2_000, 20, 4, per_task=3)
    small = cc.aggregation.get("dawid-skene").fit(crowd)
    monkeypatch.setattr("crowdcore.core.compiled.LARGE", 0)
    large = cc.aggregation.get("dawid-skene").fit(crowd)
    np.testing.assert_allclose(large.posterior, small.posterior, atol=1e-11)
    np.testing.assert_allclose(large.log_likelihood, small.log_likelihood, rtol=1e-12)


def test_rows_without_evidence_are_nan_and_counts_say_why():
    crowd = simulate_crowd(100, 8, 4, seed=6)
    result = cc.aggregation.get("dawid-skene").fit(crowd.without_workers(np.array([3])))
    assert np.isnan(result.confusion[3]).all()
    assert (result.counts[3] == 0).all()
    assert result.counts.sum() == pytest.approx((crowd.worker != 3).sum())


def test_few_labels_are_warned_of_in_words():
    few, many = simulate_crowd(60, 30, 4), simulate_crowd(600, 8, 4)  # 1.5 and 56 per worker and class
    assert "1.5 per class" in cc.aggregation.get("dawid-skene").fit(few).notes[0]
    assert cc.aggregation.get("one-coin").fit(few).notes == ()  # 6 per worker
    assert "the median is 3. " in cc.aggregation.get("one-coin").fit(few.where(few.task < 30)).notes[0]
    assert cc.aggregation.get("dawid-skene").fit(many).notes == ()


def test_smoothing_pulls_towards_guessing_and_a_silent_worker_has_no_skill():
    crowd = simulate_crowd(400, 8, 4, per_task=5).without_workers(np.array([2]))
    light, heavy = (one_coin(20, smoothing=alpha).fit(crowd) for alpha in (0.01, 1e6))
    seen = np.arange(8) != 2
    assert light.worker_weight[seen] == pytest.approx(np.full(7, 0.7), abs=0.15)
    assert heavy.worker_weight[seen] == pytest.approx(np.full(7, 0.25), abs=1e-3)
    assert np.isnan(light.worker_weight[2]) and np.isnan(light.confusion[2]).all()


def near_misses(n_tasks: int = 400, n_workers: int = 40, n_classes: int = 5) -> CrowdDataset:
    """Workers see the true position shifted, scaled and blurred, and give the nearest class."""
    rng = np.random.default_rng(0)
    truth, worker = rng.integers(n_classes, size=n_tasks), rng.integers(n_workers, size=4 * n_tasks)
    shift, scale, blur = (
        rng.normal(0, 0.7, n_workers),
        rng.uniform(0.6, 1.2, n_workers),
        rng.uniform(0.4, 1.5, n_workers),
    )
    task, middle = np.repeat(np.arange(n_tasks), 4), (n_classes - 1) / 2
    seen = shift[worker] + scale[worker] * (truth[task] - middle) + blur[worker] * rng.normal(size=len(task))
    label = np.clip(np.round(seen + middle), 0, n_classes - 1)
    ids = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    return CrowdDataset("near", tuple(map(str, range(1, n_classes + 1))), *ids, task, worker, label, gold=truth)


def test_the_m_step_is_the_best_discretised_normal():
    model = cc.aggregation.OrdinalDawidSkene(smoothing=0.5)
    counts = np.random.default_rng(0).uniform(0, 5, (3, 4, 4))  # worker, given, true
    estimate = model.m_step(Sums(counts.reshape(12, 4), np.ones(4), np.nan), 3).confusion.transpose(0, 2, 1)
    x = np.arange(4) - 1.5

    def confusion(shift: float, scale: float, log_sigma: float) -> np.ndarray:
        density = np.exp(-((x - shift - scale * x[:, None]) ** 2) / 2 / np.exp(2 * log_sigma))
        return density / density.sum(1, keepdims=True)

    for r in range(3):
        both = counts[r].T + 0.5 * confusion(0, 1, 0)
        best = minimize(lambda p, both=both: -(both * np.log(confusion(*p))).sum(), [0, 1, 0], method="Nelder-Mead")
        if best.x[2] < 5:  # a worker who contradicts the order has no finite normal
            np.testing.assert_allclose(estimate[r], confusion(*best.x), atol=1e-3)
        assert (both * np.log(estimate[r])).sum() >= -best.fun - 1e-6


def test_it_beats_free_confusions_where_mistakes_are_near_misses():
    crowd = near_misses()
    ordinal, free = (cc.aggregation.get(name).fit(crowd) for name in ("ordinal-dawid-skene", "dawid-skene"))
    assert (ordinal.labels == crowd.gold).mean() > (free.labels == crowd.gold).mean() + 0.05
    assert np.diff(ordinal.log_likelihood).min() > -1e-6
    assert "from '1' to '5'" in ordinal.notes[0]


def test_without_smoothing_there_is_no_finite_answer():
    with pytest.raises(cc.SettingError, match="smoothing"):
        cc.aggregation.OrdinalDawidSkene(smoothing=0)


def test_start_is_vote_shares_then_an_earlier_result_then_known_classes():
    crowd = widen(simulate_crowd(20, 5, 3, per_task=4), tasks=2)
    known = np.full(22, -1)
    known[[0, 20]] = 2
    votes = start_posterior(crowd, known)
    for i in range(1, 20):
        labels = crowd.label[crowd.task == i]
        np.testing.assert_allclose(votes[i], [(labels == c).mean() for c in range(3)])
    np.testing.assert_array_equal(votes[[0, 20]], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(votes[21], 0)
    earlier = cc.aggregation.get("dawid-skene").fit(crowd)
    earlier.posterior[5] = np.nan
    warm = start_posterior(crowd, known, earlier)
    np.testing.assert_array_equal(warm[5], votes[5])
    np.testing.assert_array_equal(warm[6:20], earlier.posterior[6:20])
    np.testing.assert_array_equal(warm[[0, 20, 21]], votes[[0, 20, 21]])


@pytest.mark.parametrize(
    ("values", "cap", "expected", "converged"),
    [
        ([-9.0, -5.0, -4.0, -3.95, -1.0], 10, [-9, -5, -4, -3.95], True),
        ([-9.0, -5.0, -4.0, -3.95], 3, [-9, -5, -4], False),
        ([-9.0, -10.0, 0.0], 10, [-9, -10], True),
        ([-9.0, 0.0], 1, [-9], False),
    ],
)
def test_iterate_stops_when_the_gain_per_annotation_is_small(values, cap, expected, converged):
    model = cc.aggregation.get("dawid-skene", tolerance=0.01, max_iterations=cap)
    trace = model.iterate(iter(values).__next__, n_annotations=10)
    np.testing.assert_array_equal(trace.log_likelihood, expected)
    assert trace.converged is converged
    assert ("cap" in trace.stopped) is not converged
