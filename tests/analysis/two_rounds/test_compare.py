"""Two rounds: changes against their definitions; planted ones are named, unchanged crowds are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis.two_rounds.compare import Clusters, worker_change
from testkit.planted import CHANGED, honest_crowd, two_rounds

EVEN = {"n_tasks": 700, "even": True}


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_a_worse_worker_and_a_mistake_that_went_are_named(reference: str) -> None:
    rounds = analysis.rounds(two_rounds(3, "tasks", EVEN, changes=True), reference, by="round")
    assert rounds.within
    workers = rounds.workers_frame()
    assert workers["change"].loc[CHANGED] == "worse"
    assert (workers["change"] == "").sum() == len(workers) - 1
    mistakes = rounds.mistakes_frame().set_index(["true", "given"])["change"]
    assert mistakes.iloc[0] in {"went", "less often"}
    assert rounds.alarm
    assert ("There is no gold" in rounds.truth) == (reference != "gold")


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
    rounds, same = analysis.compare_rounds(*parts), analysis.rounds(both, "gold", by="round")
    assert rounds.names == ("spring", "autumn")
    np.testing.assert_allclose(rounds.q_workers, same.q_workers)
    np.testing.assert_allclose(rounds.mistakes.p_value, same.mistakes.p_value)


def test_without_gold_who_stays_the_same_looks_better_if_the_others_became_better() -> None:
    gaps = []
    for seed in range(3):
        ds, rng = honest_crowd(seed, n_tasks=400, n_workers=12, even=True), np.random.default_rng(seed)
        second = np.arange(ds.n_tasks)[ds.task] >= 200
        right = rng.random(len(ds.task)) < np.where(ds.worker == 0, 0.85, np.where(second, 0.9, 0.6))
        wrong = (ds.gold[ds.task] + rng.integers(1, 4, len(right))) % 4
        extra = pd.DataFrame({"round": np.where(second, 2, 1)})
        ds = replace(ds, label=np.where(right, ds.gold[ds.task], wrong).astype(np.int32), extra=extra)
        rounds = analysis.rounds(ds, "auto", by="round")
        gaps.append((rounds.workers.second - rounds.workers.first)[0])
    assert np.mean(gaps) > 0.1
    assert "became better" in rounds.truth


def test_rounds_with_other_gold_or_other_classes_are_refused() -> None:
    ds = cc.load_dataset("demo")
    gold = ds.gold.copy()
    gold[np.flatnonzero(gold >= 0)[0]] = (gold[gold >= 0][0] + 1) % 10
    with pytest.raises(cc.DataError, match="Gold"):
        analysis.join_rounds(ds, replace(ds, gold=gold))
    with pytest.raises(cc.DataError, match="common"):
        analysis.join_rounds(ds, replace(ds, classes=tuple("abcdefghij")))


def test_where_no_rounds_are_given_it_is_asked_for_them() -> None:
    """Random halves were compared, with a headline: right labels 66.7 % → 78.5 %."""
    ds = cc.load_dataset("demo")
    with pytest.raises(cc.SettingError, match="separates") as error:
        analysis.rounds(ds, "gold")
    assert error.value.argument == "by"
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


def entries(seed: int = 0, n: int = 400):
    rng = np.random.default_rng(seed)
    task, worker = rng.integers(60, size=n), rng.integers(8, size=n)
    group, weight, second = task % 3, rng.random(n), rng.random(n) < 0.4
    return rng.random(n), group, weight, second, task, worker


def fewest(task, weight, of, second) -> float:
    """Effective tasks of the round that has fewer, less one."""
    shares = []
    for part in (of & second, of & ~second):
        total = np.array([weight[part & (task == i)].sum() for i in np.unique(task[part])])
        shares.append(total.sum() ** 2 / np.square(total).sum())
    return min(shares) - 1


def test_within_workers_the_score_is_of_labels_less_the_worker_s_mean():
    value, group, weight, second, task, worker = entries()
    change = Clusters(group, 3, weight, second, task, worker, True).change(value)
    for g in range(3):
        of = group == g
        score = np.zeros(len(value))
        for r in range(8):
            mine = of & (worker == r)
            mass = weight[mine].sum()
            mean = (weight * value)[mine].sum() / mass
            later = (weight * second)[mine].sum() / mass
            score[mine] = (weight * (second - later) * (value - mean))[mine] * np.sqrt(mass / (mass - 1))
        clusters = [score[of & (task == i)].sum() for i in np.unique(task[of])]
        n = len(clusters)
        variance = n / (n - 1) * np.square(clusters).sum()
        freedom = fewest(task, weight, of, second)
        assert change.p_value[g] == pytest.approx(2 * t.sf(abs(score.sum()) / np.sqrt(variance), freedom))
        assert change.second[g] == pytest.approx(np.average(value[of & second], weights=weight[of & second]))


def test_between_workers_variance_clusters_by_task_and_by_worker():
    value, group, weight, second, task, worker = entries(1)
    change = Clusters(group, 3, weight, second, task, worker, False).change(value)
    for g in range(3):
        of = np.flatnonzero(group == g)
        share = weight * np.where(second, 1 / weight[of][second[of]].sum(), -1 / weight[of][~second[of]].sum())
        u = share * (value - np.average(value[of], weights=weight[of]))
        squares = []
        for unit in (task, worker):
            totals = [u[of][unit[of] == k].sum() for k in np.unique(unit[of])]
            squares.append(np.square(totals).sum() * len(totals) / (len(totals) - 1))
        variance = max(*squares, sum(squares) - np.square(u[of]).sum())
        gap = (share * value)[of].sum()
        freedom = min(fewest(task, weight, group == g, second), len(np.unique(worker[of])) - 1)
        assert change.p_value[g] == pytest.approx(2 * t.sf(abs(gap) / np.sqrt(variance), freedom))
        assert change.second[g] - change.first[g] == pytest.approx(gap)
        assert change.low[g] < gap < change.high[g]


def test_a_worker_s_p_value_is_near_that_of_all_permutations():
    rng = np.random.default_rng(2)
    second = np.repeat([False, True], [25, 15])
    value = (rng.random(40) < np.where(second, 0.5, 0.85)).astype(float)
    zeros = np.zeros(40, int)
    change = worker_change(value, second, zeros, zeros, 1, 1)
    gap = abs(value[second].mean() - value[~second].mean())
    drawn = [rng.permutation(second) for _ in range(4000)]
    exact = np.mean([abs(value[s].mean() - value[~s].mean()) >= gap - 1e-9 for s in drawn])
    assert change.p_value[0] == pytest.approx(exact, abs=0.02)
    assert change.first[0] == value[~second].mean()


def test_too_few_labels_are_not_tested():
    value, second = np.r_[np.ones(6), np.zeros(4)], np.r_[np.zeros(6, bool), np.ones(4, bool)]
    zeros = np.zeros(10, int)
    assert np.isnan(worker_change(value, second, zeros, zeros, 1, 1).p_value[0])
