"""Metrics against scikit-learn and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from crowdcore.learning.training import metrics


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4) * 0.5, (3, 50)).astype(np.float32)
    truth = rng.integers(-1, 4, 50)
    return p, truth


def test_accuracy_f1_and_nll_are_scikit_learns(case):
    p, truth = case
    known = truth >= 0
    for s in range(3):
        given = p[s, known].argmax(1)
        assert metrics.accuracy(p, truth)[s] == pytest.approx(accuracy_score(truth[known], given))
        assert metrics.macro_f1(p, truth)[s] == pytest.approx(f1_score(truth[known], given, average="macro"))
        q = p[s, known].astype(float)
        expected = log_loss(truth[known], q / q.sum(1, keepdims=True), labels=range(4))
        assert metrics.negative_log_likelihood(p, truth)[s] == pytest.approx(expected, rel=1e-5)
        for c in range(4):
            of = truth == c
            assert metrics.class_accuracy(p, truth)[s, c] == pytest.approx((p[s, of].argmax(1) == c).mean())


def test_a_class_without_tasks_has_no_accuracy_and_does_not_count():
    p = np.eye(3)[[0, 1, 1]]
    truth = np.array([0, 1, 0])
    assert np.isnan(metrics.class_accuracy(p, truth)[2])
    assert metrics.macro_f1(p, truth) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert np.isnan(metrics.accuracy(p, np.array([-1, -1, -1])))


def test_calibration_error_by_hand():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    truth = np.array([0, 1, 0, 1])
    # bins of 1/10: 0.9 twice, half of them right; 0.6 right; 0.7 right
    assert metrics.calibration_error(p, truth, bins=10) == pytest.approx((2 * 0.4 + 0.4 + 0.3) / 4)


def test_recovery_error_is_tannos():
    rng = np.random.default_rng(1)
    true, found = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), (2, 4, 3))
    loops = [
        sum((found[s, r, a, b] - true[r, a, b]) ** 2 for r in range(4) for a in range(3) for b in range(3)) / 12
        for s in range(2)
    ]
    np.testing.assert_allclose(metrics.recovery_error(true, found), loops)
    weighted = metrics.recovery_error(true, found, np.array([1, 0, 0, 0]))
    np.testing.assert_allclose(weighted, ((found[:, 0] - true[0]) ** 2).sum((1, 2)) / 3)
    found[:, 1, 0] = np.nan
    np.testing.assert_allclose(
        metrics.recovery_error(true, found), metrics.recovery_error(true[[0, 2, 3]], found[:, [0, 2, 3]])
    )


def test_correlations_are_numpys():
    rng = np.random.default_rng(2)
    true, found = rng.dirichlet(np.ones(3), (6, 3)), rng.dirichlet(np.ones(3), (2, 6, 3))
    for s in range(2):
        a, b = (np.array([np.trace(m) / 3 for m in ms]) for ms in (true, found[s]))
        assert metrics.skill_correlation(true, found)[s] == pytest.approx(np.corrcoef(a, b)[0, 1])
    omega, estimate = rng.random(20), rng.random((1, 20))
    estimate[0, :5] = np.nan
    assert metrics.omega_correlation(omega, estimate)[0] == pytest.approx(np.corrcoef(omega[5:], estimate[0, 5:])[0, 1])
    assert np.isnan(metrics.omega_correlation(np.ones(4), np.ones((1, 4)))).all()
