"""GLAD's sums against loops over annotations, compiled and not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from crowdcore.aggregation.glad import Crowd, e_step, task_sums
from crowdcore.core import compiled
from testkit.crowds import simulate_crowd


@pytest.fixture(params=["numpy", "compiled"])
def given(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(compiled, "LARGE", 0)
    data = simulate_crowd(80, 7, 3, per_task=3, accuracy=0.6)
    data = data.where(data.task != 4)
    known = np.where(np.arange(80) % 10 == 3, data.gold, -1).astype(np.int32)
    crowd = Crowd(data.task_start, data.task, data.worker, data.label, known, data.n_workers)
    rng = np.random.default_rng(0)
    return crowd, rng.normal(1, 1.5, 7), rng.lognormal(0, 1, 80), np.log([0.5, 0.3, 0.2])


def curvature(x):
    return np.tanh(x / 2) / (4 * x)


def test_e_step(given):
    crowd, ability, ease, log_prior = given
    posterior = np.full((80, 3), np.nan)
    likelihood, pull, weight = e_step(crowd, ability, ease, log_prior, posterior)
    expected, value = np.zeros((80, 3)), 0.0
    for i in range(80):
        joint = np.exp(log_prior)
        for j in np.flatnonzero(crowd.task == i):
            right = expit(ability[crowd.worker[j]] * ease[i])
            joint = joint * np.where(np.arange(3) == crowd.label[j], right, (1 - right) / 2)
        if crowd.known[i] >= 0:
            joint = joint * (np.arange(3) == crowd.known[i])
        if crowd.known[i] >= 0 or i != 4:
            expected[i] = joint / joint.sum()
            value += np.log(joint.sum())
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    assert likelihood == pytest.approx(value, rel=1e-12)
    for r in range(7):
        mine = crowd.worker == r
        i = crowd.task[mine]
        assert pull[r] == pytest.approx((ease[i] * (expected[i, crowd.label[mine]] - 0.5)).sum())
        assert weight[r] == pytest.approx((2 * curvature(ability[r] * ease[i]) * ease[i] ** 2).sum())


def test_task_sums(given):
    crowd, ability, ease, _ = given
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 80)
    linear, quadratic = task_sums(crowd, ability, ease, posterior)
    for i in range(80):
        mine = crowd.task == i
        a = ability[crowd.worker[mine]]
        assert linear[i] == pytest.approx((a * (posterior[i, crowd.label[mine]] - 0.5)).sum())
        assert quadratic[i] == pytest.approx((curvature(a * ease[i]) * a**2).sum())


def test_curvature_at_zero_is_its_limit(given):
    crowd, ability, ease, _ = given
    _, quadratic = task_sums(crowd, ability * 1e-9, ease, np.full((80, 3), 1 / 3))
    expected = [((ability[crowd.worker[crowd.task == i]] * 1e-9) ** 2).sum() / 8 for i in range(80)]
    np.testing.assert_allclose(quadratic, expected, rtol=1e-9)
