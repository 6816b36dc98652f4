"""Calibration against a loop over tasks, and on posteriors whose calibration is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.analysis.evaluation.gold_scores import calibration, calibration_of_seeds
from crowdcore.core.errors import DataError, SettingError


def judged(posterior):
    labels = np.where(np.isnan(posterior[:, 0]), -1, np.nan_to_num(posterior).argmax(1)).astype(np.int32)
    return AggregationResult("made-up", {}, posterior, labels)


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([0.4, 0.4, 0.4], 400)
    posterior[:3] = [[1, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]]
    posterior[7] = np.nan
    gold = np.where(rng.random(400) < 0.8, np.nan_to_num(posterior).argmax(1), rng.integers(3, size=400))
    gold[rng.random(400) < 0.2] = -1
    return posterior, gold


@pytest.mark.parametrize("n_bins", [1, 7, 10])
def test_equals_a_loop_over_tasks(case, n_bins):
    posterior, gold = case
    groups = [[] for _ in range(n_bins)]
    for q, true in zip(posterior, gold, strict=True):
        if true >= 0 and not np.isnan(q[0]):
            b = next(b for b in range(n_bins) if q.max() <= (b + 1) / n_bins + 1e-12)
            groups[b].append((q.max(), q.argmax() == true))
    total = sum(map(len, groups))
    found = calibration(judged(posterior), gold, n_bins)
    error = 0.0
    for b, group in enumerate(groups):
        assert found.n_tasks[b] == len(group)
        if not group:
            assert np.isnan([found.bin_accuracy[b], found.bin_confidence[b], found.low[b], found.high[b]]).all()
            continue
        confidence, accuracy = np.mean(group, 0)
        interval = binomtest(sum(bool(right) for _, right in group), len(group)).proportion_ci(0.95, "exact")
        assert found.bin_confidence[b] == pytest.approx(confidence)
        assert found.bin_accuracy[b] == pytest.approx(accuracy)
        assert (found.low[b], found.high[b]) == pytest.approx((interval.low, interval.high))
        error += len(group) / total * abs(accuracy - confidence)
    assert found.error == pytest.approx(error)
    assert found.accuracy == pytest.approx(np.mean([right for group in groups for _, right in group]))
    frame = found.frame()
    assert len(frame) == n_bins and frame["tasks"].sum() == total


def test_a_posterior_that_says_how_often_it_is_right_has_no_error():
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet([1, 1, 1], 200_000)
    gold = (rng.random((200_000, 1)) > posterior.cumsum(1)[:, :-1]).sum(1)
    assert calibration(judged(posterior), gold).error < 0.005
    boast = np.eye(3)[posterior.argmax(1)]
    found = calibration(judged(boast), gold)
    assert found.error == pytest.approx(1 - found.accuracy)


def test_dawid_skene_on_labelme_is_overconfident(data_folder):
    dataset = cc.load_dataset("labelme")
    found = calibration(cc.aggregation.get("dawid-skene").fit(dataset), np.where(dataset.annotated, dataset.gold, -1))
    assert found.n_tasks.sum() == 1000
    assert found.confidence > found.accuracy + 0.1
    assert found.error == pytest.approx(found.confidence - found.accuracy, abs=0.02)


def test_refusals(case):
    posterior, gold = case
    with pytest.raises(SettingError, match="gold"):
        calibration(judged(posterior), gold[:-1])
    with pytest.raises(SettingError, match="n_bins"):
        calibration(judged(posterior), gold, 0)
    with pytest.raises(DataError, match="both a label and gold"):
        calibration(judged(posterior), np.full(400, -1))


def test_seeds_together_are_the_seeds_one_by_one(crowd):
    rng = np.random.default_rng(3)
    posterior = rng.dirichlet(np.ones(4), (3, 300)).astype(np.float32)
    gold = np.where(rng.random(300) < 0.8, crowd.gold, -1)
    found = calibration_of_seeds("conal", posterior, gold, 10)
    known = gold >= 0
    sizes, rights, errors = np.zeros(10), np.zeros(10), []
    for p in posterior.astype(float):
        error = 0.0
        for b in range(10):
            inside = [i for i in np.flatnonzero(known) if b / 10 < p[i].max() <= (b + 1) / 10]
            hits = [float(p[i].argmax() == gold[i]) for i in inside]
            sizes[b] += len(inside)
            rights[b] += sum(hits)
            if inside:
                error += abs(np.mean(hits) - np.mean([p[i].max() for i in inside])) * len(inside) / known.sum()
        errors.append(error)
    assert found.error == pytest.approx(np.mean(errors))
    assert found.n_tasks.tolist() == sizes.tolist()
    some = sizes > 0
    assert found.bin_accuracy[some] == pytest.approx(rights[some] / sizes[some])
    assert found.accuracy == pytest.approx((posterior[:, known].argmax(-1) == gold[known]).mean())


def test_more_of_the_same_seed_makes_nobody_surer(crowd):
    posterior = np.random.default_rng(4).dirichlet(np.ones(4), (1, 300))
    once, thrice = (calibration_of_seeds("conal", np.repeat(posterior, k, 0), crowd.gold) for k in (1, 3))
    assert np.allclose(once.low, thrice.low, equal_nan=True)
    assert np.allclose(once.high, thrice.high, equal_nan=True)
    assert once.error == pytest.approx(thrice.error)


def test_gold_of_another_length_is_refused(crowd):
    with pytest.raises(SettingError, match="`gold` must have the shape"):
        calibration_of_seeds("conal", np.full((2, 300, 4), 0.25), crowd.gold[:9])
