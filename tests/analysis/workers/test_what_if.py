"""What if workers were removed: literal removal, all single removals at once, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import crowdcore as cc
from crowdcore.analysis import what_if, without_each
from crowdcore.analysis.statistics import majority_of_others
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd


def majority(crowd, keep):
    """Lowest of the most voted classes by plain loops, -1 without votes."""
    labels = np.full(crowd.n_tasks, -1)
    for i in range(crowd.n_tasks):
        votes = np.bincount(crowd.label[(crowd.task == i) & keep], minlength=crowd.n_classes)
        if votes.sum():
            labels[i] = votes.argmax()
    return labels


def accuracy(labels, gold):
    judged = (labels >= 0) & (gold >= 0)
    return (labels == gold)[judged].mean() if judged.any() else np.nan


@given(crowds())
def test_each_removal_is_literal(crowd):
    result = without_each(crowd, "gold")
    before = majority(crowd, np.ones(crowd.n_annotations, bool))
    assert result.accuracy == pytest.approx(accuracy(before, crowd.gold), nan_ok=True)
    for r in range(crowd.n_workers):
        after = majority(crowd, crowd.worker != r)
        assert result.changed[r] == ((before != after) & (after >= 0)).sum()
        assert result.unlabelled[r] == ((before >= 0) & (after < 0)).sum()
        change = accuracy(after, crowd.gold) - accuracy(before, crowd.gold)
        assert result.accuracy_change[r] == pytest.approx(change, nan_ok=True, abs=1e-12)


@given(crowds())
def test_votes_of_the_others_are_literal(crowd):
    others = majority_of_others(crowd)
    np.testing.assert_array_equal(others.majority, majority(crowd, np.ones(crowd.n_annotations, bool)))
    pairs = sorted(set(zip(crowd.task.tolist(), crowd.worker.tolist(), strict=True)))
    assert list(zip(others.task.tolist(), others.worker.tolist(), strict=True)) == pairs
    for (i, r), label in zip(pairs, others.without, strict=True):
        assert label == majority(crowd, crowd.worker != r)[i]
    np.testing.assert_array_equal(others.task[others.pair_of], crowd.task)
    np.testing.assert_array_equal(others.worker[others.pair_of], crowd.worker)


@given(crowds())
def test_what_if_agrees_with_the_removal_of_each(crowd):
    r = int(crowd.worker[0])
    assume((crowd.worker != r).any())
    one, each = what_if(crowd, [r]), without_each(crowd)
    assert len(one.changed) == each.changed[r]
    assert len(one.unlabelled) == each.unlabelled[r]
    assert one.accuracy_after - one.accuracy_before == pytest.approx(each.accuracy_change[r], nan_ok=True, abs=1e-12)
    assert one.n_annotations == (crowd.worker == r).sum()


def test_removing_spammers_helps_whatever_aggregates():
    crowd = simulate_crowd(n_tasks=200, n_workers=9, per_task=5, accuracy=0.75)
    label = np.where(crowd.worker < 3, 0, crowd.label)
    spammed = make_crowd(crowd.task, crowd.worker, label, 200, 9, 4, crowd.gold)
    for aggregator in ("majority-vote", cc.aggregation.get("dawid-skene")):
        result = what_if(spammed, ["w0", "w1", "w2"], aggregator)
        assert result.accuracy_after > result.accuracy_before - (0.02 if result.aggregator == "dawid-skene" else -0.02)
        assert result.workers.tolist() == [0, 1, 2]
        assert result.reference == "gold"
        rest = spammed.without_workers(np.array([0, 1, 2]))
        np.testing.assert_array_equal(result.after, cc.aggregation.get(result.aggregator).fit(rest).labels)


def test_lost_tasks_are_listed():
    crowd = make_crowd([0, 0, 1], [0, 1, 0], [1, 0, 1], 2, 2, 2, gold=np.array([1, 1]))
    result = what_if(crowd, [0])
    assert result.changed.tolist() == [] and result.unlabelled.tolist() == [1]
    assert (result.accuracy_before, result.accuracy_after) == (0.5, 0.0)
    assert result.frame().to_dict("records") == [{"task": "t1", "before": "class 1", "after": ""}]
    frame = without_each(crowd).frame()
    assert frame["unlabelled"].tolist() == [1, 0]
    assert frame["changed"].tolist() == [0, 1]


def test_without_gold_there_is_no_accuracy():
    crowd = make_crowd([0, 0, 1], [0, 1, 0], [1, 0, 1], 2, 2, 2)
    assert np.isnan(what_if(crowd, [1], reference="gold").accuracy_before)
    assert what_if(crowd, [1], reference="gold").reference == ""
    assert np.isnan(without_each(crowd, "gold").accuracy_change).all()
    assert what_if(crowd, [1], reference="majority-vote").accuracy_before == 1.0


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (["w7"], "`workers` must be among the 2 workers, but got 'w7'"),
        ([2], "`workers` must be among the 2 workers, but got 2"),
        ([0, 1], "`workers` must leave some annotations, but got '2 workers'"),
    ],
)
def test_refusals(workers, words):
    crowd = make_crowd([0, 0], [0, 1], [1, 0], 1, 2, 2)
    with pytest.raises(cc.SettingError, match=words):
        what_if(crowd, workers)


def test_nobody_removed_changes_nothing():
    result = what_if(simulate_crowd(), [])
    assert len(result.changed) == len(result.unlabelled) == 0
    assert result.accuracy_after == result.accuracy_before
