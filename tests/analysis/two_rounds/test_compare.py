"""Two rounds: planted changes are named, unchanged crowds are not, and rounds are told apart as asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis
from testkit.planted import CHANGED, honest_crowd, two_rounds

EVEN = {"n_tasks": 700, "even": True}


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_a_worse_worker_and_a_mistake_that_went_are_named(reference: str) -> None:
    found = analysis.rounds(two_rounds(3, "tasks", EVEN, changes=True), reference, by="round")
    assert found.within
    workers = found.workers_frame()
    assert workers["change"].loc[CHANGED] == "worse"
    assert (workers["change"] == "").sum() == len(workers) - 1
    mistakes = found.mistakes_frame().set_index(["true", "given"])["change"]
    assert mistakes.iloc[0] in {"went", "less often"}
    assert found.alarm
    assert ("There is no gold" in found.truth) == (reference != "gold")


def test_an_unchanged_crowd_raises_no_alarm() -> None:
    alarms = [analysis.rounds(two_rounds(s, "tasks", {}), "gold", by="round").alarm for s in range(12)]
    assert sum(alarms) <= 2


def test_a_worker_s_repeats_within_a_round_are_no_more_evidence() -> None:
    ds = two_rounds(3, "tasks", EVEN, changes=True)
    twice = np.repeat(np.arange(ds.n_annotations), 2)
    repeated = replace(ds, task=ds.task[twice], worker=ds.worker[twice],
                       label=ds.label[twice], extra=ds.extra.iloc[twice].reset_index(drop=True))  # fmt: skip
    found, same = (analysis.rounds(of, "gold", by="round") for of in (repeated, ds))
    np.testing.assert_allclose(found.q_workers, same.q_workers)


def test_two_datasets_are_the_rounds_of_one() -> None:
    both = two_rounds(3, "tasks", EVEN, changes=True)
    second = both.extra["round"].to_numpy() == 2
    parts = [replace(both.where(~second), name="spring"), replace(both.where(second), name="autumn")]
    found, same = analysis.compare_rounds(*parts), analysis.rounds(both, "gold", by="round")
    assert found.names == ("spring", "autumn")
    np.testing.assert_allclose(found.q_workers, same.q_workers)
    np.testing.assert_allclose(found.mistakes.p_value, same.mistakes.p_value)


def test_without_gold_who_stays_the_same_looks_better_if_the_others_became_better() -> None:
    gaps = []
    for seed in range(6):
        ds, rng = honest_crowd(seed, n_tasks=400, n_workers=12, even=True), np.random.default_rng(seed)
        second = np.arange(ds.n_tasks)[ds.task] >= 200
        right = rng.random(len(ds.task)) < np.where(ds.worker == 0, 0.85, np.where(second, 0.9, 0.6))
        wrong = (ds.gold[ds.task] + rng.integers(1, 4, len(right))) % 4
        extra = pd.DataFrame({"round": np.where(second, 2, 1)})
        ds = replace(ds, label=np.where(right, ds.gold[ds.task], wrong).astype(np.int32), extra=extra)
        found = analysis.rounds(ds, "auto", by="round")
        gaps.append((found.workers.second - found.workers.first)[0])
    assert np.mean(gaps) > 0.1
    assert "look better if the others became better" in found.truth


def test_rounds_with_other_gold_or_other_classes_are_refused() -> None:
    ds = cc.load_dataset("demo")
    gold = ds.gold.copy()
    gold[np.flatnonzero(gold >= 0)[0]] = (gold[gold >= 0][0] + 1) % 10
    with pytest.raises(cc.DataError, match="Gold of task"):
        analysis.join_rounds(ds, replace(ds, gold=gold))
    with pytest.raises(cc.DataError, match="no class in common"):
        analysis.join_rounds(ds, replace(ds, classes=tuple("abcdefghij")))


def test_where_no_rounds_are_given_it_is_asked_for_them() -> None:
    """Random halves were compared, with a headline: right labels 66.7 % → 78.5 %."""
    ds = cc.load_dataset("demo")
    with pytest.raises(cc.SettingError, match="say what separates the rounds") as asked:
        analysis.rounds(ds, "gold")
    assert asked.value.argument == "by"
    given = two_rounds(3, "tasks", EVEN)
    np.testing.assert_array_equal(analysis.in_second(given)[0], given.extra["round"] == 2)
    assert analysis.rounds(ds, "gold", by="halves").by_chance
    assert not analysis.rounds(given, "gold").by_chance


def test_a_column_a_number_a_date_or_halves_tell_rounds_apart() -> None:
    ds = cc.load_dataset("demo")
    n = ds.n_annotations
    days = pd.date_range("2024-01-01", periods=n, freq="h").astype("str")
    ds = replace(ds, extra=pd.DataFrame({"batch": np.arange(n) % 3, "wave": ["a", "b"] * (n // 2), "timestamp": days}))
    assert analysis.in_second(ds, "wave")[0].sum() == n // 2
    assert analysis.in_second(ds, "wave", "a")[1] == ("wave b", "wave a")
    assert analysis.in_second(ds, "batch", "2")[0].sum() == n // 3
    assert analysis.in_second(ds, "date", "2024-01-02")[0].sum() == n - 24
    half = analysis.in_second(ds, "halves", "1")[0]
    assert set(ds.worker[half]) & set(ds.worker[~half]) == set()
    for by, at, match in (("nothing", "", "be one of"), ("wave", "c", "be a value of"), ("date", "x", "be a time")):
        with pytest.raises(cc.SettingError, match=match):
            analysis.in_second(ds, by, at)
    one = ds.where(ds.worker == 0)
    with pytest.raises(cc.DataError, match="demo has 1") as refused:
        analysis.in_second(one, "halves")
    assert "another column" in str(refused.value)
    with pytest.raises(cc.DataError, match="falls into"):
        analysis.in_second(ds, "batch", "1e9")
    with pytest.raises(cc.DataError, match="falls into"):
        analysis.in_second(ds, "date", "2030-01-01")
