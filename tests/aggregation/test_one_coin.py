"""One-coin Dawid–Skene against the literal equations and against crowd-kit."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from testkit.crowds import simulate_crowd
from tests.aggregation import literal


def model(iterations, **settings):
    return cc.aggregation.get("one-coin", tolerance=0, max_iterations=iterations, **settings)


@pytest.mark.parametrize("iterations", [1, 12])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_equals_the_literal_equations(iterations, alpha):
    crowd = simulate_crowd(60, 6, 3, per_task=3, seed=1)
    result = model(iterations, smoothing=alpha).fit(crowd)
    T, rates, shares, likelihoods = literal.em(crowd, iterations, literal.one_coin_rates, alpha)
    np.testing.assert_allclose(result.posterior, T, atol=1e-10)
    np.testing.assert_allclose(result.confusion, rates, atol=1e-10)
    np.testing.assert_allclose(result.worker_weight, rates[:, 0, 0], atol=1e-10)
    np.testing.assert_allclose(result.prior, shares, atol=1e-10)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=1e-10)


@pytest.mark.parametrize("name", ["labelme", "bluebird"])
@pytest.mark.filterwarnings("ignore")
def test_equals_crowd_kit(data_folder, name):
    peers = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    theirs = peers.OneCoinDawidSkene(n_iter=5, tol=-np.inf).fit(dataset.annotations.astype(str))
    expected = theirs.probas_.reindex(index=dataset.task_ids, columns=list(dataset.classes), fill_value=0.0)
    annotated = dataset.annotated
    found = model(5, smoothing=0).fit(dataset).posterior[annotated]
    np.testing.assert_allclose(found, expected.to_numpy()[annotated], atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 3.0])
def test_objective_never_falls(alpha):
    crowd = simulate_crowd(120, 15, 5, per_task=3, accuracy=0.5)
    values = model(60, smoothing=alpha).fit(crowd).log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_smoothing_pulls_towards_guessing_and_a_silent_worker_has_no_skill():
    crowd = simulate_crowd(400, 8, 4, per_task=5).without_workers(np.array([2]))
    light, heavy = (model(20, smoothing=alpha).fit(crowd) for alpha in (0.01, 1e6))
    seen = np.arange(8) != 2
    assert light.worker_weight[seen] == pytest.approx(np.full(7, 0.7), abs=0.15)
    assert heavy.worker_weight[seen] == pytest.approx(np.full(7, 0.25), abs=1e-3)
    assert np.isnan(light.worker_weight[2]) and np.isnan(light.confusion[2]).all()
