"""Confusions, counted, expected and shrunken, and their credible, bootstrap and sampled intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.stats import beta

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import (
    bootstrap_confusion,
    confusion_of_counts,
    count_interval,
    credible_intervals,
    sampled_confusion,
    shrunken_confusion,
    spread_of_workers,
    worker_confusion,
    worker_distance,
)
from crowdcore.analysis.workers.confusion import drawn_prior, refuse_beyond
from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@given(crowds())
def test_counts_are_literal_and_rows_are_their_shares(crowd):
    result = worker_confusion(crowd, "gold")
    counts = np.zeros((crowd.n_workers, crowd.n_classes, crowd.n_classes))
    for task, worker, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if crowd.gold[task] >= 0:
            counts[worker, crowd.gold[task], label] += 1
    np.testing.assert_array_equal(result.counts, counts)
    for r in range(crowd.n_workers):
        for a in range(crowd.n_classes):
            if counts[r, a].sum() == 0:
                assert np.isnan(result.matrices[r, a]).all()
            else:
                np.testing.assert_allclose(result.matrices[r, a], counts[r, a] / counts[r, a].sum())
    np.testing.assert_array_equal(result.evidence, counts.sum(2))
    np.testing.assert_array_equal(result.crowd_counts, counts.sum(0))


@given(crowds())
def test_soft_counts_add_the_posterior(crowd):
    reference = soft_reference(crowd)
    counts = np.zeros((crowd.n_workers, crowd.n_classes, crowd.n_classes))
    for task, worker, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        counts[worker, :, label] += np.nan_to_num(reference.posterior[task])
    result = worker_confusion(crowd, reference)
    np.testing.assert_allclose(result.counts, counts, atol=1e-12)
    assert result.reference == "soft"


def test_the_frame_holds_the_cells_with_annotations():
    crowd = make_crowd([0, 1, 2], [0, 0, 1], [0, 1, 1], 3, 2, 2, gold=np.array([0, 0, 1]))
    frame = worker_confusion(crowd).frame()
    assert frame.to_dict("list") == {
        "worker": ["w0", "w0", "w1"],
        "true": ["class 0", "class 0", "class 1"],
        "given": ["class 0", "class 1", "class 1"],
        "count": [1.0, 1.0, 1.0],
        "share": [0.5, 0.5, 1.0],
    }


def test_too_large_is_refused_before_allocating():
    crowd = CrowdDataset(
        "wide",
        tuple(map(str, range(10_000))),
        pd.Index(["t"]),
        pd.Index([f"w{r}" for r in range(500)]),
        np.array([0]),
        np.array([0]),
        np.array([0]),
        gold=np.array([0]),
    )
    with pytest.raises(cc.DataError, match="10,000 classes"):
        worker_confusion(crowd)
    refuse_beyond(1, "Little", "")


def rows_of(counts, n_classes=2):
    """A crowd whose workers gave these counts of labels to tasks of class 0, and one label right of class 1."""
    worker, label = [], []
    for r, row in enumerate(counts):
        worker += [r] * sum(row)
        label += np.repeat(np.arange(n_classes), row).tolist()
    gold = np.zeros(len(label) + 1, int)
    gold[-1] = 1
    task = np.arange(len(gold))
    return make_crowd(task, [*worker, 0], [*label, 1], len(gold), len(counts), n_classes, gold)


def test_the_moments_by_hand():
    # three workers, 4, 2 and 2 labels, shares of class 0: 1, .5, 0; the crowd's: 5 / 8
    confusion = worker_confusion(rows_of([[4, 0], [1, 1], [0, 2]]))
    between = 2 * (4 * (3 / 8) ** 2 + 2 * (1 / 8) ** 2 + 2 * (5 / 8) ** 2) / 2
    within = 2 * (2 * 0.25) / (3 + 1 + 1)
    per_worker = (8 - (16 + 4 + 4) / 8) / 2
    rho = (between - within) / (between + (per_worker - 1) * within)
    assert spread_of_workers(confusion) == pytest.approx([rho, 0])
    kappa = (1 - rho) / rho
    expected = [[(4 + kappa * 5 / 8) / (4 + kappa), (kappa * 3 / 8) / (4 + kappa)], [0, 1]]
    np.testing.assert_allclose(shrunken_confusion(confusion)[0], expected)


@given(crowd=crowds(), soft=st.booleans())
def test_rows_are_probabilities_between_the_workers_and_the_crowds(crowd, soft):
    confusion = worker_confusion(crowd, soft_reference(crowd) if soft else "gold")
    spread, shrunken = spread_of_workers(confusion), shrunken_confusion(confusion)
    assert ((spread >= 0) & (spread <= 1)).all()
    labelled = confusion.evidence.sum(0) > 0
    np.testing.assert_allclose(shrunken.sum(2), np.broadcast_to(labelled, shrunken.shape[:2]), atol=1e-9)
    own, crowds_row = np.nan_to_num(confusion.matrices), np.nan_to_num(confusion.crowd)
    own = np.where(confusion.evidenced[..., None], own, crowds_row)
    assert (shrunken >= np.minimum(own, crowds_row) - 1e-9).all()
    assert (shrunken <= np.maximum(own, crowds_row) + 1e-9).all()


def planted(spread, seed=0, workers=200, labels=60):
    """Counts of class 0 by workers whose rows are drawn from a Dirichlet distribution with that spread."""
    rng = np.random.default_rng(seed)
    mean = np.array([0.6, 0.3, 0.1])
    rows = rng.dirichlet(mean * (1 - spread) / spread, workers) if spread else np.tile(mean, (workers, 1))
    volume = np.maximum(rng.poisson(rng.exponential(labels, workers)), 1)
    return [rng.multinomial(n, row) for n, row in zip(volume, rows, strict=True)]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.2, 0.6])
def test_a_planted_spread_is_found(spread):
    spreads = [spread_of_workers(worker_confusion(rows_of(planted(spread, seed), 3)))[0] for seed in range(5)]
    assert np.mean(spreads) == pytest.approx(spread, abs=0.03)


def test_far_from_the_crowd_is_who_errs_differently_not_who_labelled_little():
    # 30 honest workers, of whom ten gave 3 labels, and two who call class 0 class 1
    rng = np.random.default_rng(0)
    volume = np.r_[np.full(20, 120), np.full(10, 3), 80, 80]
    worker = np.repeat(np.arange(32), volume)
    gold = rng.integers(4, size=len(worker))
    label = np.where(rng.random(len(worker)) < 0.75, gold, (gold + rng.integers(1, 4, len(worker))) % 4)
    label[(worker >= 30) & (gold == 0)] = 1
    crowd = make_crowd(np.arange(len(worker)), worker, label, len(worker), 32, 4, gold)
    shrunken, plain = (worker_distance(crowd, kind=kind).matrix.mean(1) for kind in ("shrunken-mse", "mse"))
    assert set(np.argsort(shrunken)[-2:]) == {30, 31}
    assert (volume[np.argsort(plain)[-4:-1]] == 3).all()


def test_workers_who_differ_by_chance_alone_are_at_no_distance():
    crowd = simulate_crowd(n_tasks=40, per_task=1, accuracy=1.0)
    assert not worker_distance(crowd, kind="shrunken-mse").matrix.any()


RNG = np.random.default_rng(0)


def counts_of(skills: np.ndarray, labels: int, n_classes: int = 4) -> np.ndarray:
    """Workers with one skill each, who err in one direction."""
    c = n_classes
    rows = np.array([s * np.eye(c) + (1 - s) * np.roll(np.eye(c), 1, 1) for s in skills])
    return np.array([[RNG.multinomial(labels, row) for row in rows_of] for rows_of in rows], float)


def test_cells_that_nobody_uses_stay_empty() -> None:
    counts = counts_of(np.array([0.9, 0.6, 0.3]), 20)
    confusion = confusion_of_counts(counts)
    np.testing.assert_allclose(confusion.sum(2), 1)
    assert (confusion[:, counts.sum(0) == 0] == 0).all()


def test_a_row_without_labels_has_the_skill_that_the_worker_shows_elsewhere() -> None:
    counts = counts_of(np.linspace(0.2, 0.95, 12), 30)
    whole = np.diagonal(confusion_of_counts(counts), axis1=1, axis2=2)
    unseen = counts.copy()
    unseen[:, 0] *= np.arange(12)[:, None] % 2  # every second worker labelled no task of class 0
    confusion = confusion_of_counts(unseen)[::2, 0, 0]
    assert np.corrcoef(confusion, whole[::2, 0])[0, 1] > 0.9
    assert np.ptp(confusion) > 0.5


def test_workers_and_classes_without_labels_are_unknown() -> None:
    counts = counts_of(np.array([0.9, 0.6]), 5)
    counts[1] = 0
    counts[:, 2] = 0
    confusion, (low, high) = confusion_of_counts(counts), count_interval(counts)
    assert np.isnan(confusion[1]).all() and np.isnan(low[1]).all()
    assert np.isnan(confusion[0, 2]).all()
    assert np.isfinite(confusion[0, [0, 1, 3]]).all()
    assert (low[0, 2] == 0).all() and (high[0, 2] == 1).all()


def test_intervals_are_of_the_beta_posterior_of_an_entry_against_the_rest() -> None:
    counts = np.array([[[7.5, 2.5, 0.0], [0.4, 3.0, 0.6], [0.0, 0.0, 4.0]]])
    low, high = count_interval(counts, 0.9)
    assert low[0, 0, 0] == pytest.approx(beta.ppf(0.05, 8, 3))
    assert high[0, 0, 1] == pytest.approx(beta.ppf(0.95, 3, 8))
    assert low[0, 1, 0] == 0, "a label that was probably never given"
    assert high[0, 2, 2] == 1, "a label that was probably the only one"
    with pytest.raises(SettingError):
        count_interval(counts, 1.0)


WORKERS, CLASSES, PER_TASK = 10, 3, 5


def crowd_with_truth(n_tasks: int, confusion: np.ndarray, seed: int) -> cc.CrowdDataset:
    """Labels drawn from known confusions; class shares (0.5, 0.3, 0.2)."""
    rng = np.random.default_rng(seed)
    gold = rng.choice(CLASSES, n_tasks, p=[0.5, 0.3, 0.2])
    task = np.repeat(np.arange(n_tasks), PER_TASK)
    worker = rng.permuted(np.tile(np.arange(WORKERS), (n_tasks, 1)), axis=1)[:, :PER_TASK].ravel()
    cumulative = confusion[worker, gold[task]].cumsum(1)
    label = (rng.random(len(task))[:, None] > cumulative[:, :-1]).sum(1)
    ids = (pd.Index([f"{prefix}{i}" for i in range(n)]) for prefix, n in (("t", n_tasks), ("w", WORKERS)))
    return cc.CrowdDataset("known", ("a", "b", "c"), *ids, task, worker, label, gold=gold)


def full_confusions(rng):
    confusion = rng.dirichlet(np.ones(CLASSES), (WORKERS, CLASSES)) * 0.4
    confusion[:, range(CLASSES), range(CLASSES)] += 0.6
    return confusion


def covered(intervals, truth):
    return ((intervals.low <= truth) & (truth <= intervals.high)).mean()


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
    intervals = credible_intervals(replace(model, counts=counts, confusion=counts / n_labels))
    inside = ((intervals.low[:, 0] <= row) & (row <= intervals.high[:, 0])).mean(0)
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
    for interval in (credible_intervals(model.fit(crowd)), bootstrap_confusion(crowd, model, n_resamples=5)):
        assert np.isnan(interval.low[2]).all() and np.isnan(interval.high[2]).all()
        seen = np.arange(6) != 2
        assert (interval.low[seen] <= interval.high[seen]).all()


def test_frame_names_workers_and_classes():
    crowd = simulate_crowd(60, 4, 3)
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    intervals, given = credible_intervals(result), result.counts[2, 1]
    assert intervals.high[2, 1, 0] == pytest.approx(beta.ppf(0.975, given[0] + 0.5, given[1:].sum() + 0.5))
    frame = intervals.frame(crowd)
    assert len(frame) == 4 * 9
    row = frame[(frame["worker"] == "w002") & (frame["true"] == "class 1") & (frame["given"] == "class 0")].iloc[0]
    assert (row["low"], row["estimate"], row["high"]) == (
        intervals.low[2, 1, 0],
        intervals.estimate[2, 1, 0],
        intervals.high[2, 1, 0],
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
    coverage, narrow = [], []
    for seed in range(6):
        truth = 0.4 * np.eye(3) + 0.6 * np.random.default_rng(seed).dirichlet(np.ones(3), (10, 3))
        crowd = crowd_with_truth(300, truth, seed)
        fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd))
        for confusion, into in ((sampled_confusion(crowd, n_samples=300, burn_in=100), coverage), (fixed, narrow)):
            into.append(((confusion.low <= truth) & (truth <= confusion.high)).mean())
    assert 0.92 < np.mean(coverage) < 0.985
    assert np.mean(coverage) > np.mean(narrow)


def test_with_all_labels_known_they_are_the_credible_intervals():
    crowd = simulate_crowd(100, 5, 3)
    fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd, known=crowd.gold))
    drawn = sampled_confusion(crowd, known=crowd.gold, n_samples=1500, burn_in=0)
    np.testing.assert_allclose(drawn.low, fixed.low, atol=0.05)
    np.testing.assert_allclose(drawn.high, fixed.high, atol=0.05)
    once, again = (sampled_confusion(crowd, known=crowd.gold, n_samples=50, burn_in=0) for _ in range(2))
    np.testing.assert_array_equal(once.low, again.low)


def test_the_crowd_s_prior_is_found_and_a_worker_unlike_the_others_is_not_drawn_to_them():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(8 * np.array([0.8, 0.1, 0.1]), 600)  # weight 8, 80 % right, on class 0; by turns on the others
    counts = np.stack([np.roll(rng.multinomial(12, row), c % 3) for c, row in enumerate(rows)]).reshape(200, 3, 3)
    drawn = np.mean([drawn_prior(counts.astype(float), rng) for _ in range(200)], 0)
    assert 4 < drawn.sum(1)[0] < 16
    assert np.diag(drawn / drawn.sum(1)).mean() == pytest.approx(0.8, abs=0.04)
    truth = np.repeat([0.94 * np.eye(3) + 0.02], WORKERS, 0)
    truth[0, 0] = [0.38, 0.6, 0.02]
    confusion = sampled_confusion(crowd_with_truth(400, truth, 0), n_samples=200, burn_in=100)
    assert confusion.low[0, 0, 1] < 0.6 < confusion.high[0, 0, 1]
    assert confusion.low[0, 0, 1] > 0.3


def test_refusals_and_workers_without_labels():
    crowd = simulate_crowd(60, 6, 3).without_workers(np.array([2]))
    confusion = sampled_confusion(crowd, n_samples=20, burn_in=1)
    assert np.isnan(confusion.low[2]).all()
    assert not np.isnan(confusion.low[3]).any()
    with pytest.raises(cc.SettingError, match="n_samples"):
        sampled_confusion(crowd, n_samples=5)
    with pytest.raises(cc.SettingError, match="level"):
        sampled_confusion(crowd, level=1.0)


def test_intervals_of_mistakes_that_were_not_seen_begin_at_zero():
    crowd = simulate_crowd(100, 5, 3)
    fixed = credible_intervals(cc.aggregation.get("dawid-skene").fit(crowd, known=crowd.gold))
    drawn = sampled_confusion(crowd, known=crowd.gold, n_samples=20, burn_in=0)
    counts = analysis.worker_confusion(crowd, "gold").counts
    for intervals in (fixed, drawn):
        np.testing.assert_array_equal(intervals.low == 0, counts == 0)
        assert (intervals.high[counts == counts.sum(2, keepdims=True)] == 1).all()
