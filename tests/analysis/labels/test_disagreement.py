"""Disagreement between labellings and within tasks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

import crowdcore as cc
from crowdcore.analysis.labels.disagreement import label_difference, label_disagreement, p_in_words, task_disagreement
from crowdcore.analysis.reference import Reference
from crowdcore.analysis.statistics import mcnemar
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference


def labellings(crowd, seed):
    rng = np.random.default_rng(seed)
    hard = Reference("hard", rng.integers(-1, crowd.n_classes, crowd.n_tasks).astype(np.int32))
    return {"soft": soft_reference(crowd, seed), "hard": hard, "votes": "majority-vote"}


@settings(max_examples=30, deadline=None)
@given(crowds(), st.integers(0, 1000))
def test_equals_a_loop_over_tasks(crowd, seed):
    named = labellings(crowd, seed)
    found = label_disagreement(crowd, named)
    given_ = [cc.analysis.resolve_reference(crowd, which).labels for which in named.values()]
    gold = [g if n else -1 for g, n in zip(crowd.gold, crowd.labels_per_task, strict=True)]
    for a, one in enumerate(given_):
        judged = [x == g for x, g in zip(one, gold, strict=True) if x >= 0 and g >= 0]
        assert found.n_judged[a] == len(judged)
        assert found.accuracy[a] == pytest.approx(np.mean(judged)) if judged else np.isnan(found.accuracy[a])
        for b, other in enumerate(given_):
            pairs = [(x, y, g) for x, y, g in zip(one, other, gold, strict=True) if x >= 0 and y >= 0]
            unlike = [(x, y, g) for x, y, g in pairs if x != y]
            assert (found.compared[a, b], found.differ[a, b]) == (len(pairs), len(unlike))
            assert (
                found.share[a, b] == pytest.approx(len(unlike) / len(pairs)) if pairs else np.isnan(found.share[a, b])
            )
            first = sum(x == g for x, y, g in unlike)
            second = sum(y == g for x, y, g in unlike)
            assert (found.row_right[a, b], found.row_right[b, a]) == (first, second)
            if first + second:
                assert found.p_value[a, b] == pytest.approx(binomtest(first, first + second).pvalue)
            else:
                assert np.isnan(found.p_value[a, b])
    frame = found.frame()
    assert list(zip(frame["first"], frame["second"], strict=True)) == list(combinations(named, 2))


@settings(max_examples=30, deadline=None)
@given(crowds(), st.integers(0, 1000))
def test_the_tasks_where_two_differ(crowd, seed):
    named = labellings(crowd, seed)
    found = label_difference(crowd, named["soft"], named["hard"])
    soft, hard = named["soft"], named["hard"]
    expected = [i for i in range(crowd.n_tasks) if -1 not in (soft.labels[i], hard.labels[i])]
    expected = [i for i in expected if soft.labels[i] != hard.labels[i]]
    assert sorted(found.index) == expected
    assert len(found) == label_disagreement(crowd, named).differ[0, 1]
    for i, row in found.iterrows():
        assert row["task"] == crowd.task_ids[i]
        assert row["first"] == crowd.classes[soft.labels[i]]
        assert row["second"] == crowd.classes[hard.labels[i]]
        assert row["first_probability"] == soft.posterior[i].max()
        assert row["second_probability"] == 1
        known = crowd.gold[i] >= 0 and crowd.annotated[i]
        assert row["gold"] == (crowd.classes[crowd.gold[i]] if known else "")
        assert row["annotations"] == (crowd.task == i).sum()
    assert found["first_probability"].is_monotonic_decreasing


def test_gold_is_a_labelling_too_and_only_chosen_tasks_are_judged(crowd):
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    gold = crowd.gold.copy()
    gold[:100] = -1
    found = label_disagreement(crowd, {"gold": "gold", "ds": result}, gold)
    assert found.n_judged.tolist() == [200, 200]
    assert found.accuracy[1] == (result.labels == crowd.gold)[100:].mean()
    assert found.share[0, 1] == (result.labels != crowd.gold).mean()


def test_labelme(data_folder):
    dataset = cc.load_dataset("labelme")
    found = label_disagreement(dataset, {"mv": "majority-vote", "ds": "dawid-skene"})
    assert found.accuracy[0] == pytest.approx(0.769)
    assert found.compared[0, 1] == 1000
    assert found.accuracy[1] - found.accuracy[0] == pytest.approx(
        (found.row_right[1, 0] - found.row_right[0, 1]) / 1000
    )
    difference = label_difference(dataset, "majority-vote", "dawid-skene")
    assert (difference["second"] == difference["gold"]).sum() == found.row_right[1, 0]


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar(b, c):
    p = mcnemar(np.array(b), np.array(c))
    assert np.isnan(p) if b + c == 0 else p == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)


def test_a_p_value_in_words():
    assert [p_in_words(p) for p in (0.0241, 1.0, 1e-12, 0.0)] == ["p = 0.024", "p = 1", "p < 1e-09", "p < 1e-09"]


def test_refusals(crowd):
    with pytest.raises(SettingError, match="labellings"):
        label_disagreement(crowd, {})
    with pytest.raises(SettingError, match="gold"):
        label_disagreement(crowd, {"mv": "majority-vote"}, crowd.gold[1:])
    with pytest.raises(SettingError, match="reference"):
        label_difference(crowd, Reference("short", crowd.gold[1:]), "majority-vote")


def test_disagreement_of_tasks_equals_a_loop(crowd):
    gold = crowd.gold.copy()
    gold[::7] = -1
    crowd = replace(crowd, gold=gold).where(crowd.task % 5 != 3)
    found = task_disagreement(crowd)
    for i in range(crowd.n_tasks):
        votes = Counter(crowd.label[crowd.task == i].tolist())
        n = sum(votes.values())
        assert found.n_annotations[i] == n
        assert found.n_answers[i] == len(votes)
        if not n:
            assert found.winner[i] == -1
            assert np.isnan([found.share[i], found.entropy[i], found.wrong[i]]).all()
            continue
        top = max(votes.values())
        assert found.winner[i] == min(c for c, k in votes.items() if k == top)
        assert found.share[i] == pytest.approx(top / n)
        assert found.entropy[i] == pytest.approx(-sum(k / n * log(k / n) for k in votes.values()))
        if gold[i] < 0:
            assert np.isnan(found.wrong[i])
        else:
            assert found.wrong[i] == pytest.approx(1 - votes[gold[i]] / n)


def test_frame_lists_annotated_tasks_most_disputed_first(crowd):
    found = task_disagreement(crowd.where(crowd.task > 4), "majority-vote")
    frame = found.frame()
    assert len(frame) == crowd.n_tasks - 5
    assert list(found.frame(annotated=False).index) == [0, 1, 2, 3, 4]
    assert (np.diff(frame["entropy"]) <= 1e-12).all()
    assert list(frame["task"]) == [crowd.task_ids[i] for i in frame.index]
    assert (frame["most_given"] == frame["majority-vote"]).all()
    assert set(frame["most_given"]) <= set(crowd.classes)


def test_needs_gold_when_gold_is_asked_for():
    crowd = simulate_crowd(20)
    with pytest.raises(DataError, match="no gold labels"):
        task_disagreement(replace(crowd, gold=np.full(20, -1)), "gold")
