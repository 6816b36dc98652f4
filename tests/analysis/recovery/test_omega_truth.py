"""`omega_truth` against SciPy, and against the truth itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from crowdcore.analysis import omega_truth
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.simulate import synthetic


@pytest.fixture(scope="module")
def simulated():
    return synthetic(n_tasks=400, n_valid=10, n_test=10, seed=3)


def test_equals_scipy(simulated):
    rng = np.random.default_rng(0)
    true, used = simulated.truth.omega, simulated.truth.used_common
    omega = np.clip(true + rng.normal(0, 0.2, (2, len(true))), 0, 1).round(2)
    found = omega_truth(simulated, omega, seeds=(0, 1), bins=10)
    mean = omega.mean(0)
    assert found.correlation == pytest.approx(scipy.stats.pearsonr(true, mean).statistic)
    assert found.rank_correlation == pytest.approx(scipy.stats.spearmanr(true, mean).statistic)
    u = scipy.stats.mannwhitneyu(mean[used], mean[~used]).statistic
    assert found.auc == pytest.approx(u / (used.sum() * (~used).sum()))
    assert found.auc < found.auc_limit
    expected = np.zeros((10, 10))
    for t, m in zip(true, mean, strict=True):
        expected[min(int(t * 10), 9), min(int(m * 10), 9)] += 1
    np.testing.assert_array_equal(found.counts, expected)
    assert found.frame()["annotations"].sum() == found.n == simulated.n_annotations


def test_the_truth_itself_is_perfect_and_missing_omega_is_left_out(simulated):
    omega = simulated.truth.omega[None].copy()
    omega[0, :50] = np.nan
    found = omega_truth(simulated, omega, seeds=(0,))
    assert found.n == simulated.n_annotations - 50
    assert found.correlation == pytest.approx(1)
    assert found.auc == found.auc_limit > 0.5


def test_refusals(simulated, crowd):
    with pytest.raises(DataError, match="does not say which"):
        omega_truth(crowd, np.ones((1, crowd.n_annotations)), seeds=(0,))
    with pytest.raises(SettingError, match="`omega` must have the shape"):
        omega_truth(simulated, np.ones((1, 2)), seeds=(0,))
