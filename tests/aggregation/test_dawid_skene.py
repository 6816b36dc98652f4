"""Dawid–Skene against the literal equations and against crowd-kit."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.testing import widen
from testkit.crowds import simulate_crowd
from tests.aggregation import literal


def model(iterations, **settings):
    return cc.aggregation.get("dawid-skene", tolerance=0, max_iterations=iterations, **settings)


@pytest.mark.parametrize("iterations", [1, 2, 15])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_equals_the_literal_equations(iterations, alpha):
    crowd = simulate_crowd(60, 6, 3, per_task=3, seed=1)
    result = model(iterations, smoothing=alpha).fit(crowd)
    T, rates, shares, likelihoods = literal.em(crowd, iterations, alpha=alpha)
    np.testing.assert_allclose(result.posterior, T, atol=1e-10)
    np.testing.assert_allclose(result.confusion, rates, atol=1e-10)
    np.testing.assert_allclose(result.prior, shares, atol=1e-10)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=1e-10)


def test_equals_the_literal_equations_with_known_and_empty_tasks():
    crowd = widen(simulate_crowd(60, 6, 3, per_task=3, seed=2), tasks=3)
    known = np.where(np.arange(crowd.n_tasks) % 4 == 0, crowd.gold, -1)
    known[-1] = 2
    result = model(10).fit(crowd, known=known)
    T, rates, shares, likelihoods = literal.em(crowd, 10, known=known)
    np.testing.assert_allclose(np.nan_to_num(result.posterior), T, atol=1e-10)
    np.testing.assert_allclose(result.confusion, rates, atol=1e-10)
    np.testing.assert_allclose(result.prior, shares, atol=1e-10)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=1e-10)


def test_dawid_and_skenes_own_data(data_folder):
    """45 patients, 5 anaesthetists, the first of whom rated each three times; maximum likelihood, no smoothing."""
    patients = cc.load_dataset("anaesthesia")
    assert patients.n_annotations == 315
    result = model(12, smoothing=0).fit(patients)
    T, rates, shares, likelihoods = literal.em(patients, 12, alpha=0)
    np.testing.assert_allclose(result.posterior, T, atol=1e-8)  # ours keeps zero counts at 1e-10
    np.testing.assert_allclose(result.confusion, rates, atol=1e-8)
    np.testing.assert_allclose(result.prior, shares, atol=1e-8)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=1e-8)


@pytest.mark.parametrize("name", ["labelme", "music", "leaves", "bluebird"])
@pytest.mark.parametrize("iterations", [1, 7, 30])
@pytest.mark.filterwarnings("ignore")
def test_equals_crowd_kit(data_folder, name, iterations):
    peers = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    theirs = peers.DawidSkene(n_iter=iterations, tol=-np.inf).fit(dataset.annotations.astype(str))
    expected = theirs.probas_.reindex(index=dataset.task_ids, columns=list(dataset.classes), fill_value=0.0)
    found = model(iterations, smoothing=0).fit(dataset)
    assert len(found.log_likelihood) == iterations or found.converged
    annotated = dataset.annotated
    np.testing.assert_allclose(found.posterior[annotated], expected.to_numpy()[annotated], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("settings", [{}, {"smoothing": 0}, {"smoothing": 0.7, "prior_smoothing": 2.0}])
def test_objective_never_falls(seed, settings):
    crowd = simulate_crowd(120, 15, 5, per_task=3, accuracy=0.5, seed=seed)
    values = cc.aggregation.get("dawid-skene", tolerance=0, max_iterations=60, **settings).fit(crowd).log_likelihood
    assert len(values) > 10
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


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


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="smoothing"):
        cc.aggregation.get("dawid-skene", smoothing=-1)
    with pytest.raises(SettingError, match="max_iterations"):
        cc.aggregation.get("dawid-skene", max_iterations=0)
