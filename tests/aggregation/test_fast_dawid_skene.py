"""Fast Dawid–Skene against the literal equations."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from testkit.crowds import simulate_crowd
from tests.aggregation import literal


@pytest.mark.parametrize("iterations", [1, 2, 8])
def test_equals_the_literal_equations(iterations):
    crowd = simulate_crowd(60, 6, 3, per_task=3, seed=1)
    result = cc.aggregation.get("fast-dawid-skene", tolerance=0, max_iterations=iterations).fit(crowd)
    T, rates, shares, likelihoods = literal.em(crowd, iterations, hard=True)
    np.testing.assert_array_equal(result.posterior, T)
    np.testing.assert_allclose(result.confusion, rates, atol=1e-12)
    np.testing.assert_allclose(result.prior, shares, atol=1e-12)
    np.testing.assert_allclose(result.log_likelihood, likelihoods, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_objective_never_falls_and_it_ends_quickly(seed):
    crowd = simulate_crowd(200, 15, 4, per_task=4, accuracy=0.6, seed=seed)
    result = cc.aggregation.get("fast-dawid-skene").fit(crowd)
    values = result.log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()
    assert result.converged
    assert len(values) < len(cc.aggregation.get("dawid-skene").fit(crowd).log_likelihood)
    assert set(np.unique(result.posterior)) == {0.0, 1.0}
