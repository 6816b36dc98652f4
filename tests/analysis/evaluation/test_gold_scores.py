"""Judgements against plain counts; warnings where they are due and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.analysis.evaluation.gold_scores import calibration, judge, show_gold
from crowdcore.core.errors import SettingError
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds


def certain(labels, n_classes, **parts):
    posterior = np.full((len(labels), n_classes), np.nan)
    known = labels >= 0
    posterior[known] = np.eye(n_classes)[labels[known]]
    return AggregationResult("made-up", {}, posterior, labels.astype(np.int32), **parts)


@given(crowds(), st.integers(0, 1000))
def test_equals_plain_counts(crowd, seed):
    labels = np.random.default_rng(seed).integers(-1, crowd.n_classes, crowd.n_tasks)
    votes = cc.aggregation.get("majority-vote").fit(crowd).labels
    tasks = [i for i in range(crowd.n_tasks) if crowd.gold[i] >= 0 and crowd.annotated[i] and labels[i] >= 0]
    found = judge(crowd, certain(labels, crowd.n_classes))
    assert found.n_judged == len(tasks)
    if not tasks:
        assert np.isnan([found.accuracy, found.majority_accuracy, found.calibration_error, found.p_value]).all()
        return
    right = np.array([labels[i] == crowd.gold[i] for i in tasks])
    voted = np.array([votes[i] == crowd.gold[i] for i in tasks])
    assert found.accuracy == pytest.approx(right.mean())
    assert found.majority_accuracy == pytest.approx(voted.mean())
    assert (found.gained, found.lost) == ((right & ~voted).sum(), (voted & ~right).sum())
    assert found.calibration_error == pytest.approx(1 - right.mean())
    if found.gained + found.lost:
        assert found.p_value == pytest.approx(binomtest(found.lost, found.gained + found.lost).pvalue)
    assert any("loses to majority vote" in w for w in found.warnings) == (found.lost > found.gained)


def test_only_gold_that_was_not_shown_judges(crowd):
    known, judging = show_gold(crowd, 40)
    result = cc.aggregation.get("dawid-skene").fit(crowd, known=known)
    found = judge(crowd, result, judging)
    rest = known < 0
    assert found.n_judged == rest.sum() == 180
    assert found.accuracy == (result.labels == crowd.gold)[rest].mean()
    assert found.calibration_error == calibration(result, judging).error


def test_a_loss_says_whether_chance_explains_it():
    crowd = simulate_crowd(n_tasks=1000, accuracy=0.8)
    votes = cc.aggregation.get("majority-vote").fit(crowd).labels
    right = np.flatnonzero(votes == crowd.gold)
    few, many = votes.copy(), votes.copy()
    few[right[:3]] = (few[right[:3]] + 1) % 4
    many[right[:30]] = (many[right[:30]] + 1) % 4
    (said,) = judge(crowd, certain(few, 4)).warnings
    assert "loses 3" in said and "which chance can explain" in said
    (said,) = judge(crowd, certain(many, 4)).warnings
    assert "loses 30" in said and "chance" not in said
    assert judge(crowd, certain(votes, 4)).warnings == ()


def test_data_that_cannot_carry_confusions(data_folder):
    labelme = cc.load_dataset("labelme")
    (said,) = judge(labelme, cc.aggregation.get("dawid-skene").fit(labelme)).warnings
    assert "Few labels per worker: the median is 3.38 per class" in said
    said = judge(labelme, cc.aggregation.get("one-coin").fit(labelme)).warnings
    assert len(said) == 1 and "loses to majority vote: 76.7 % right against 76.9 %" in said[0]


def test_notes_of_the_method_and_a_cap_that_was_hit(crowd):
    result = cc.aggregation.get("dawid-skene", max_iterations=2).fit(crowd)
    found = judge(crowd, replace(result, notes=("Beware.",)))
    assert found.warnings[0] == "Beware."
    assert found.warnings[1].startswith("It has not converged: cap of 2 iterations reached")


def test_without_gold_there_is_no_accuracy(crowd):
    blind = replace(crowd, gold=np.full(crowd.n_tasks, -1))
    found = judge(blind, cc.aggregation.get("majority-vote").fit(blind))
    assert found.n_judged == 0
    assert np.isnan([found.accuracy, found.majority_accuracy, found.calibration_error]).all()


@given(crowds(), st.integers(0, 100), st.integers(0, 100))
def test_gold_is_shared_out(crowd, small, large):
    split = np.arange(crowd.n_tasks) % 3 - 1  # none, train, valid
    crowd = replace(crowd, split=split)
    small, large = sorted((small, large))
    known, judging = show_gold(crowd, large)
    fewer, _ = show_gold(crowd, small)
    open_to_show = crowd.annotated & (crowd.gold >= 0) & (split <= 0)
    assert ((known >= 0) <= open_to_show).all()
    assert (known >= 0).sum() == round(open_to_show.sum() * large / 100)
    assert ((fewer >= 0) <= (known >= 0)).all()
    assert (np.where(known >= 0, known, judging) == np.where(crowd.annotated, crowd.gold, -1)).all()
    assert not ((known >= 0) & (judging >= 0)).any()


def test_refusals(crowd):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    with pytest.raises(SettingError, match="percent"):
        show_gold(crowd, 101)
    with pytest.raises(SettingError, match="gold"):
        judge(crowd, result, crowd.gold[1:])
    with pytest.raises(SettingError, match="result"):
        judge(crowd, replace(result, labels=result.labels[1:]))
