"""Resampling weights and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.analysis.statistics import bootstrap_weights, percentile_interval
from crowdcore.core.errors import SettingError


def test_weights_draw_as_many_units_as_there_are():
    sizes = np.array([5, 1, 94])
    drawn = bootstrap_weights(sizes, 4000, np.random.default_rng(0))
    assert drawn.shape == (3, 4000)
    assert (drawn.sum(0) == 100).all()
    np.testing.assert_allclose(drawn.mean(1), sizes, atol=0.25)
    np.testing.assert_allclose(drawn.var(1), sizes * (1 - sizes / 100), rtol=0.1)


def test_interval_leaves_undefined_resamples_out():
    samples = np.vstack([np.arange(101.0), np.where(np.arange(101) < 50, np.nan, 7.0)])
    low, high = percentile_interval(samples, 0.9)
    np.testing.assert_allclose(low, [5, 7])
    np.testing.assert_allclose(high, [95, 7])


def test_interval_of_nothing_is_nan():
    low, high = percentile_interval(np.array([[np.nan, np.nan], [1.0, np.nan]]), 0.9)
    np.testing.assert_array_equal(low, [np.nan, 1])
    np.testing.assert_array_equal(high, [np.nan, 1])


def test_too_many_weights_are_refused():
    with pytest.raises(SettingError, match="at most 200"):
        bootstrap_weights(np.ones(1_000_000, int), 1000, np.random.default_rng(0))
