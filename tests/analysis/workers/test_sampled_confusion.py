"""Intervals with the true labels drawn: their coverage where labels are few or ambiguous, clamping, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.analysis import credible_intervals, sampled_confusion
from tests.aggregation.test_recovery import crowd_with_truth
from tests.conftest import simulate_crowd


def test_they_cover_where_credible_intervals_are_too_narrow():
    held, narrow = [], []
    for seed in range(6):
        truth = 0.4 * np.eye(3) + 0.6 * np.random.default_rng(seed).dirichlet(np.ones(3), (10, 3))
        crowd = crowd_with_truth(300, truth, seed)
        fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd))
        for found, into in ((sampled_confusion(crowd, n_samples=300, burn_in=100), held), (fixed, narrow)):
            into.append(((found.low <= truth) & (truth <= found.high)).mean())
    assert np.mean(held) > 0.9
    assert np.mean(held) > np.mean(narrow)


def test_with_all_labels_known_they_are_the_credible_intervals():
    crowd = simulate_crowd(100, 5, 3)
    fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd, known=crowd.gold))
    drawn = sampled_confusion(crowd, known=crowd.gold, n_samples=3000, burn_in=0)
    np.testing.assert_allclose(drawn.low, fixed.low, atol=0.05)
    np.testing.assert_allclose(drawn.high, fixed.high, atol=0.05)
    again = sampled_confusion(crowd, known=crowd.gold, n_samples=3000, burn_in=0)
    np.testing.assert_array_equal(drawn.low, again.low)


def test_refusals_and_workers_without_labels():
    crowd = simulate_crowd(60, 6, 3).without_workers(np.array([2]))
    found = sampled_confusion(crowd, n_samples=20, burn_in=1)
    assert np.isnan(found.low[2]).all()
    assert not np.isnan(found.low[3]).any()
    with pytest.raises(cc.SettingError, match="n_samples"):
        sampled_confusion(crowd, n_samples=5)
    with pytest.raises(cc.SettingError, match="level"):
        sampled_confusion(crowd, level=1.0)
