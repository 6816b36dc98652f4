"""Intervals with the true labels drawn: their coverage where labels are few or ambiguous, clamping, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import credible_intervals, sampled_confusion
from crowdcore.analysis.workers.uncertainty import drawn_prior
from testkit.crowds import simulate_crowd
from tests.aggregation.test_recovery import WORKERS, crowd_with_truth


def test_they_cover_where_credible_intervals_are_too_narrow():
    held, narrow = [], []
    for seed in range(6):
        truth = 0.4 * np.eye(3) + 0.6 * np.random.default_rng(seed).dirichlet(np.ones(3), (10, 3))
        crowd = crowd_with_truth(300, truth, seed)
        fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd))
        for found, into in ((sampled_confusion(crowd, n_samples=300, burn_in=100), held), (fixed, narrow)):
            into.append(((found.low <= truth) & (truth <= found.high)).mean())
    assert 0.92 < np.mean(held) < 0.985
    assert np.mean(held) > np.mean(narrow)


def test_with_all_labels_known_they_are_the_credible_intervals():
    crowd = simulate_crowd(100, 5, 3)
    fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd, known=crowd.gold))
    drawn = sampled_confusion(crowd, known=crowd.gold, n_samples=3000, burn_in=0)
    np.testing.assert_allclose(drawn.low, fixed.low, atol=0.05)
    np.testing.assert_allclose(drawn.high, fixed.high, atol=0.05)
    again = sampled_confusion(crowd, known=crowd.gold, n_samples=3000, burn_in=0)
    np.testing.assert_array_equal(drawn.low, again.low)


def test_the_crowd_s_prior_is_found_and_a_worker_unlike_the_others_is_not_drawn_to_them():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(8 * np.array([0.8, 0.1, 0.1]), 600)  # weight 8, 80 % right, on class 0; by turns on the others
    counts = np.stack([np.roll(rng.multinomial(12, row), c % 3) for c, row in enumerate(rows)]).reshape(200, 3, 3)
    drawn = np.mean([drawn_prior(counts.astype(float), rng) for _ in range(200)], 0)
    assert 4 < drawn.sum(1)[0] < 16
    assert np.diag(drawn / drawn.sum(1)).mean() == pytest.approx(0.8, abs=0.04)
    truth = np.repeat([0.94 * np.eye(3) + 0.02], WORKERS, 0)
    truth[0, 0] = [0.38, 0.6, 0.02]
    found = sampled_confusion(crowd_with_truth(400, truth, 0), n_samples=200, burn_in=100)
    assert found.low[0, 0, 1] < 0.6 < found.high[0, 0, 1]
    assert found.low[0, 0, 1] > 0.3


def test_refusals_and_workers_without_labels():
    crowd = simulate_crowd(60, 6, 3).without_workers(np.array([2]))
    found = sampled_confusion(crowd, n_samples=20, burn_in=1)
    assert np.isnan(found.low[2]).all()
    assert not np.isnan(found.low[3]).any()
    with pytest.raises(cc.SettingError, match="n_samples"):
        sampled_confusion(crowd, n_samples=5)
    with pytest.raises(cc.SettingError, match="level"):
        sampled_confusion(crowd, level=1.0)


def test_intervals_of_mistakes_that_were_not_seen_begin_at_zero():
    crowd = simulate_crowd(100, 5, 3)
    fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd, known=crowd.gold))
    drawn = sampled_confusion(crowd, known=crowd.gold, n_samples=20, burn_in=0)
    counts = analysis.worker_confusion(crowd, "gold").counts
    for found in (fixed, drawn):
        np.testing.assert_array_equal(found.low == 0, counts == 0)
        assert (found.high[counts == counts.sum(2, keepdims=True)] == 1).all()
