"""Credible, bootstrap and sampled intervals of confusions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import bootstrap_confusion, credible_intervals, sampled_confusion
from crowdcore.analysis.workers.confusion import drawn_prior
from crowdcore.core.errors import SettingError
from testkit.crowds import simulate_crowd
from tests.aggregation.test_recovery import WORKERS, crowd_with_truth, full_confusions


def test_credible_intervals_are_quantiles_of_the_dirichlet_posterior():
    result = cc.aggregation.get("dawid-skene").fit(simulate_crowd(100, 5, 3))
    found = credible_intervals(result, 0.9)
    rng = np.random.default_rng(0)
    for r, c in ((0, 0), (3, 2)):
        row = result.counts[r, c]
        for k in range(3):
            draws = rng.dirichlet([row[k] + 0.5, row.sum() - row[k] + 0.5], 200_000)[:, 0]
            np.testing.assert_allclose(found.low[r, c, k], np.quantile(draws, 0.05), atol=3e-3)
            np.testing.assert_allclose(found.high[r, c, k], np.quantile(draws, 0.95), atol=3e-3)
    wider = credible_intervals(result, 0.99)
    assert (wider.low <= found.low).all() and (wider.high >= found.high).all()


def covered(found, truth):
    return ((found.low <= truth) & (truth <= found.high)).mean()


def test_both_intervals_hold_the_truth_as_often_as_they_say():
    """Well determined labels, so that leaving out the uncertainty of q costs little."""
    coverage = {"credible": [], "bootstrap": []}
    model = cc.aggregation.get("dawid-skene")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = 0.25 * full_confusions(rng) + 0.75 * (np.eye(3) * 0.7 + 0.1)
        crowd = crowd_with_truth(1_000, truth, seed)
        coverage["credible"].append(covered(credible_intervals(model.fit(crowd)), truth))
        coverage["bootstrap"].append(covered(bootstrap_confusion(crowd, model, n_resamples=60), truth))
    assert 0.85 < np.mean(coverage["credible"]) < 0.98
    assert 0.90 < np.mean(coverage["bootstrap"]) < 0.98


@pytest.mark.parametrize("n_labels", [3, 10, 30])
def test_rows_of_few_labels_over_many_classes_are_covered_too(n_labels):
    row = np.r_[0.7, 0.2, np.full(8, 0.0125)]
    counts = np.zeros((2_000, 10, 10))
    counts[:, 0] = np.random.default_rng(0).multinomial(n_labels, row, 2_000)
    model = cc.aggregation.get("dawid-skene").fit(simulate_crowd(60, 4, 3))
    found = credible_intervals(replace(model, counts=counts, confusion=counts / n_labels))
    inside = ((found.low[:, 0] <= row) & (row <= found.high[:, 0])).mean(0)
    assert (inside > 0.87).all()
    assert inside.mean() > 0.92


def test_bootstrap_follows_its_seed_and_shows_what_credible_intervals_leave_out():
    crowd = simulate_crowd(150, 6, 3, per_task=2, accuracy=0.6)  # ambiguous tasks
    model = cc.aggregation.get("dawid-skene", max_iterations=30)
    one, two, other = (bootstrap_confusion(crowd, model, n_resamples=40, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.low, two.low)
    assert (one.low != other.low).any()
    narrow = credible_intervals(model.fit(crowd))
    assert np.mean(one.high - one.low) > 1.2 * np.mean(narrow.high - narrow.low)


def test_known_tasks_make_the_intervals_narrower():
    crowd = simulate_crowd(150, 6, 3, per_task=2, accuracy=0.6)
    model = cc.aggregation.get("dawid-skene", max_iterations=30)
    free = bootstrap_confusion(crowd, model, n_resamples=30)
    clamped = bootstrap_confusion(crowd, model, known=crowd.gold, n_resamples=30)
    assert np.mean(clamped.high - clamped.low) < np.mean(free.high - free.low)
    assert ((clamped.low <= clamped.estimate) & (clamped.estimate <= clamped.high)).mean() > 0.95


def test_no_evidence_no_interval():
    crowd = simulate_crowd(60, 6, 3).without_workers(np.array([2]))
    model = cc.aggregation.get("dawid-skene", max_iterations=10)
    for found in (credible_intervals(model.fit(crowd)), bootstrap_confusion(crowd, model, n_resamples=5)):
        assert np.isnan(found.low[2]).all() and np.isnan(found.high[2]).all()
        seen = np.arange(6) != 2
        assert (found.low[seen] <= found.high[seen]).all()


def test_frame_names_workers_and_classes():
    crowd = simulate_crowd(60, 4, 3)
    found = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd))
    frame = found.frame(crowd)
    assert len(frame) == 4 * 9
    row = frame[(frame["worker"] == "w002") & (frame["true"] == "class 1") & (frame["given"] == "class 0")].iloc[0]
    assert (row["low"], row["estimate"], row["high"]) == (
        found.low[2, 1, 0],
        found.estimate[2, 1, 0],
        found.high[2, 1, 0],
    )


def test_refusals():
    crowd = simulate_crowd(60, 4, 3)
    votes = cc.aggregation.get("majority-vote")
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    with pytest.raises(SettingError, match="expected counts"):
        credible_intervals(votes.fit(crowd))
    with pytest.raises(SettingError, match="estimate confusions"):
        bootstrap_confusion(crowd, votes)
    with pytest.raises(SettingError, match="level"):
        credible_intervals(result, 1.0)
    with pytest.raises(SettingError, match="concentration"):
        credible_intervals(result, concentration=0)
    with pytest.raises(SettingError, match="n_resamples"):
        bootstrap_confusion(crowd, cc.aggregation.get("dawid-skene"), n_resamples=1)


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
