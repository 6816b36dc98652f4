"""Agreement and disagreement of labels, against packages, textbook formulas and loops."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import log

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

import crowdcore as cc
from crowdcore.analysis import agreement
from crowdcore.analysis.labels import agreement as agreement_module
from crowdcore.analysis.labels.agreement import _explain, _too_low, pair_kappa
from crowdcore.analysis.labels.disagreement import label_difference, label_disagreement, p_in_words, task_disagreement
from crowdcore.analysis.reference import Reference
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.mistakes import repeats
from testkit.crowds import simulate_crowd
from testkit.planted import honest_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


def first_labels(crowd) -> np.ndarray:
    """(workers, tasks) with NaN where there is none; of repeats the first."""
    table = np.full((crowd.n_workers, crowd.n_tasks), np.nan)
    for i, r, y in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if np.isnan(table[r, i]):
            table[r, i] = y
    return table


def textbook(crowd) -> tuple[float, float, float]:
    """Raw agreement, Fleiss' kappa and AC1 as Gwet (2014) writes them, with a table of tasks by classes."""
    table = first_labels(crowd)
    counts = np.stack([(table == c).sum(0) for c in range(crowd.n_classes)], axis=1)
    n = counts.sum(1)
    shared = n >= 2
    p_a = np.mean(
        [sum(k * (k - 1) for k in row) / (m * (m - 1)) for row, m in zip(counts[shared], n[shared], strict=True)]
    )
    pi = np.mean([row / m for row, m in zip(counts[n >= 1], n[n >= 1], strict=True)], axis=0)
    kappa_chance = (pi**2).sum()
    ac1_chance = (pi * (1 - pi)).sum() / (crowd.n_classes - 1)
    kappa = (p_a - kappa_chance) / (1 - kappa_chance) if kappa_chance < 1 - 1e-12 else np.nan
    return p_a, kappa, (p_a - ac1_chance) / (1 - ac1_chance)


@given(crowds(min_classes=2))
def test_coefficients_are_the_textbooks(crowd):
    coefficients = agreement(crowd, n_resamples=0, min_overlap=1)
    table = first_labels(crowd)
    if not ((~np.isnan(table)).sum(0) >= 2).any():
        assert all(np.isnan(c.value) and c.state.startswith("not enough overlap") for c in coefficients.coefficients)
        return
    raw, kappa, ac1 = textbook(crowd)
    assert coefficients.raw.value == pytest.approx(raw)
    assert coefficients.ac1.value == pytest.approx(ac1)
    assert coefficients.fleiss.value == pytest.approx(kappa, nan_ok=True, abs=1e-9)
    pairable = table[:, (~np.isnan(table)).sum(0) >= 2]
    if len(np.unique(pairable[~np.isnan(pairable)])) > 1:
        alpha = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
        assert coefficients.alpha.value == pytest.approx(alpha, abs=1e-9)
    else:
        assert np.isnan(coefficients.alpha.value)
        assert "one label" in coefficients.alpha.state


def test_equal_numbers_give_fleiss_own_kappa():
    """The example of Fleiss (1971) as printed in the literature: 10 subjects, 14 raters, 5 categories, 0.210."""
    rows = """0 0 0 0 14|0 2 6 4 2|0 0 3 5 6|0 3 9 2 0|2 2 8 1 1|7 7 0 0 0|3 2 6 3 0|2 5 3 2 2|6 5 2 1 0|0 2 2 3 7"""
    counts = np.array([row.split() for row in rows.split("|")], int)
    label = np.concatenate([np.repeat(np.arange(5), row) for row in counts])
    crowd = make_crowd(np.repeat(np.arange(10), 14), np.tile(np.arange(14), 10), label, 10, 14, 5)
    assert round(agreement(crowd).fleiss.value, 3) == 0.210


def test_intervals_are_those_of_resampled_tasks():
    """Against a plain bootstrap that draws tasks and calls the textbook formulas."""
    crowd = simulate_crowd(n_tasks=80, n_workers=6, n_classes=3, per_task=3, seed=2)
    coefficients = agreement(crowd, n_resamples=2000, level=0.9)
    table, rng = first_labels(crowd), np.random.default_rng(11)
    drawn = []
    for _ in range(600):
        tasks = rng.integers(80, size=80)
        columns = table[:, tasks]
        worker, task = np.nonzero(~np.isnan(columns))
        order = np.argsort(task, kind="stable")
        label = columns[worker, task].astype(int)[order]
        sample = make_crowd(task[order], worker[order], label, 80, 6, 3)
        drawn.append([*textbook(sample), krippendorff.alpha(columns, level_of_measurement="nominal")])
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    for k, c in enumerate((coefficients.raw, coefficients.fleiss, coefficients.ac1, coefficients.alpha)):
        assert c.low == pytest.approx(low[k], abs=0.015)
        assert c.high == pytest.approx(high[k], abs=0.015)
        assert c.low < c.value < c.high


def test_same_seed_same_intervals(crowd):
    first, second = agreement(crowd, n_resamples=100, seed=3), agreement(crowd, n_resamples=100, seed=3)
    assert first.frame().equals(second.frame())
    assert agreement(crowd, n_resamples=100, seed=4).alpha.low != first.alpha.low


def test_not_enough_overlap_is_a_state():
    crowd = make_crowd([0, 1, 2, 2], [0, 1, 0, 1], [0, 1, 1, 1], 3, 2, 2)
    coefficients = agreement(crowd)
    for coefficient in coefficients.coefficients:
        assert np.isnan([coefficient.value, coefficient.low, coefficient.high]).all()
        assert coefficient.state.startswith("not enough overlap")
    assert coefficients.raw.tasks == 1
    assert coefficients.raw.annotations == 2


def test_one_label_only_is_a_state_not_agreement():
    crowd = make_crowd(np.repeat(np.arange(20), 2), np.tile([0, 1], 20), np.zeros(40, int), 20, 2, 3)
    coefficients = agreement(crowd)
    assert coefficients.raw.value == 1
    assert coefficients.ac1.value == 1
    for coefficient in (coefficients.alpha, coefficients.fleiss):
        assert np.isnan(coefficient.value)
        assert "one label" in coefficient.state
    assert "one label only" in coefficients.cohen.state


def test_one_class_says_nothing():
    crowd = make_crowd(np.repeat(np.arange(20), 2), np.tile([0, 1], 20), np.zeros(40, int), 20, 2, 1)
    assert all("one class" in c.state or "one label" in c.state for c in agreement(crowd).coefficients)


def test_nobody_labelled_anything():
    coefficients = agreement(make_crowd([], [], [], 4, 2, 3))
    assert all(c.state.startswith("not enough overlap") for c in coefficients.coefficients)


def test_skewed_classes_are_explained():
    """Two workers who call almost everything class 0: high agreement, low kappa."""
    label = np.zeros(200, int)
    label[:10:2] = 1
    label[11:21:2] = 1
    crowd = make_crowd(np.repeat(np.arange(100), 2), np.tile([0, 1], 100), label, 100, 2, 2)
    coefficients = agreement(crowd)
    assert coefficients.raw.value == pytest.approx(0.9)
    assert coefficients.fleiss.value < 0
    assert coefficients.ac1.value > 0.85
    assert "kappa paradox" in coefficients.sentence
    assert "'class 0'" in coefficients.sentence


def test_words_only_where_coefficients_differ(crowd):
    assert agreement(simulate_crowd(n_tasks=2000, accuracy=0.9)).sentence == ""
    words = _explain(np.array([0.5, 0.4, 0.5, 0.5, 0.2]), (0.3, 0.3), ("a", 0.3), None)
    assert "weighs tasks" in words
    assert "mean over pairs" in words
    assert "chance" in _explain(np.array([0.5, 0.1, 0.1, 0.4, np.nan]), (0.45, 0.2), ("a", 0.3), None)


def test_frame_has_a_row_for_each_coefficient(crowd):
    frame = agreement(crowd, n_resamples=50).frame()
    assert len(frame) == 5
    assert (frame["low"] <= frame["value"]).all()
    assert agreement(crowd, pairs=False).cohen.state == "not asked for"


def test_pairs_with_hardly_a_rare_label_in_common_are_told():
    """Their mean kappa was -.073 off in such crowds, and its 95 % interval held the truth in half of them."""
    coefficients = agreement(honest_crowd(0, n_tasks=200, n_classes=2, rare=0.03, skill=(0.9, 0.99), difficulty=0.5))
    assert "towards 0" in coefficients.sentence
    assert "drawn towards 0" not in agreement(honest_crowd(0, n_tasks=200, n_classes=2)).sentence


def test_what_is_said_to_be_too_low_is():
    """The mean over pairs with 16 tasks in common is .01 too low, and its interval held the truth in 87 %."""
    settings = {"n_workers": 20, "per_task": 5, "skill": (0.6, 0.9), "even": True}
    few = [agreement(honest_crowd(s, n_tasks=300, **settings), n_resamples=0) for s in range(12)]
    many = [agreement(honest_crowd(s, n_tasks=6000, **settings), n_resamples=0) for s in range(3)]
    low = np.mean([c.cohen.value for c in many]) - np.mean([c.cohen.value for c in few])
    assert low > 0.003
    assert np.mean([_too_low(result.pairs) for result in few]) == pytest.approx(low, abs=0.008)
    assert not any("towards 0" in result.sentence for result in many)


def literal(table, min_overlap):
    kappas = {}
    for a, b in combinations(range(len(table)), 2):
        both = ~np.isnan(table[a]) & ~np.isnan(table[b])
        if both.sum() >= min_overlap:
            one, other = table[a, both].astype(int), table[b, both].astype(int)
            agree = (one == other).mean()
            chance = sum((one == c).mean() * (other == c).mean() for c in set(one))
            kappa = np.nan if abs(1 - chance) < 1e-12 else (agree - chance) / (1 - chance)
            kappas[a, b] = (int(both.sum()), agree, kappa)
    return kappas


@given(crowds(), st.integers(1, 4))
def test_pairs_are_those_of_a_dense_table(crowd, min_overlap):
    once = crowd.where(~repeats(crowd.task, crowd.worker, crowd.n_workers))
    result = pair_kappa(once, min_overlap)
    expected = literal(first_labels(once), min_overlap)
    pairs = list(zip(result.worker_a.tolist(), result.worker_b.tolist(), strict=True))
    assert pairs == sorted(expected)
    for k, pair in enumerate(pairs):
        overlap, agree, kappa = expected[pair]
        assert result.overlap[k] == overlap
        assert result.agreement[k] == pytest.approx(agree)
        assert result.kappa[k] == pytest.approx(kappa, nan_ok=True, abs=1e-12)
    kappas = [kappa for _, _, kappa in expected.values() if not np.isnan(kappa)]
    assert result.mean == pytest.approx(np.mean(kappas) if kappas else np.nan, nan_ok=True)
    assert result.n_pairs == len(literal(first_labels(once), 1))


def test_error_of_the_mean_is_that_of_a_bootstrap():
    crowd = simulate_crowd(n_tasks=400, n_workers=5, n_classes=3, per_task=3, seed=1)
    result, table = pair_kappa(crowd, 30), first_labels(crowd)
    rng = np.random.default_rng(0)
    means = []
    for _ in range(300):
        kappas = literal(table[:, rng.integers(400, size=400)], 1)
        means.append(np.mean([kappas[pair][2] for pair in zip(result.worker_a, result.worker_b, strict=True)]))
    assert result.mean_error == pytest.approx(np.std(means), rel=0.15)


def test_lookup_without_the_table_of_pairs_is_the_same(monkeypatch, crowd):
    by_table = pair_kappa(crowd, 5)
    monkeypatch.setattr(agreement_module, "_TABLE", 0)
    by_search = pair_kappa(crowd, 5)
    np.testing.assert_array_equal(by_table.kappa, by_search.kappa)
    assert by_table.mean_error == by_search.mean_error


def test_the_most_overlapping_pairs_come_first_when_there_are_too_many(monkeypatch, crowd):
    everything = pair_kappa(crowd, 1)
    monkeypatch.setattr(agreement_module, "_MOST", 4 * 10)
    few = pair_kappa(crowd, 1)
    assert len(few.kappa) == 10
    assert few.overlap.min() >= np.sort(everything.overlap)[-10]
    assert few.n_pairs == everything.n_pairs


def test_frame_names_workers_most_alike_first(crowd):
    frame = pair_kappa(crowd, 5).frame()
    assert frame["kappa"].is_monotonic_decreasing
    assert set(frame["worker"]) <= set(crowd.worker_ids)


def labellings(crowd, seed):
    rng = np.random.default_rng(seed)
    hard = Reference("hard", rng.integers(-1, crowd.n_classes, crowd.n_tasks).astype(np.int32))
    return {"soft": soft_reference(crowd, seed), "hard": hard, "votes": "majority-vote"}


@settings(max_examples=30, deadline=None)
@given(crowds(), st.integers(0, 1000))
def test_equals_a_loop_over_tasks(crowd, seed):
    named = labellings(crowd, seed)
    diff = label_disagreement(crowd, named)
    given_ = [cc.analysis.resolve_reference(crowd, which).labels for which in named.values()]
    gold = [g if n else -1 for g, n in zip(crowd.gold, crowd.labels_per_task, strict=True)]
    for a, one in enumerate(given_):
        judged = [x == g for x, g in zip(one, gold, strict=True) if x >= 0 and g >= 0]
        assert diff.n_judged[a] == len(judged)
        assert diff.accuracy[a] == pytest.approx(np.mean(judged)) if judged else np.isnan(diff.accuracy[a])
        for b, other in enumerate(given_):
            pairs = [(x, y, g) for x, y, g in zip(one, other, gold, strict=True) if x >= 0 and y >= 0]
            unlike = [(x, y, g) for x, y, g in pairs if x != y]
            assert (diff.compared[a, b], diff.differ[a, b]) == (len(pairs), len(unlike))
            assert diff.share[a, b] == pytest.approx(len(unlike) / len(pairs)) if pairs else np.isnan(diff.share[a, b])
            first = sum(x == g for x, y, g in unlike)
            second = sum(y == g for x, y, g in unlike)
            assert (diff.row_right[a, b], diff.row_right[b, a]) == (first, second)
            if first + second:
                assert diff.p_value[a, b] == pytest.approx(binomtest(first, first + second).pvalue)
            else:
                assert np.isnan(diff.p_value[a, b])
    frame = diff.frame()
    assert list(zip(frame["first"], frame["second"], strict=True)) == list(combinations(named, 2))


@settings(max_examples=30, deadline=None)
@given(crowds(), st.integers(0, 1000))
def test_the_tasks_where_two_differ(crowd, seed):
    named = labellings(crowd, seed)
    difference = label_difference(crowd, named["soft"], named["hard"])
    soft, hard = named["soft"], named["hard"]
    expected = [i for i in range(crowd.n_tasks) if -1 not in (soft.labels[i], hard.labels[i])]
    expected = [i for i in expected if soft.labels[i] != hard.labels[i]]
    assert sorted(difference.index) == expected
    assert len(difference) == label_disagreement(crowd, named).differ[0, 1]
    for i, row in difference.iterrows():
        assert row["task"] == crowd.task_ids[i]
        assert row["first"] == crowd.classes[soft.labels[i]]
        assert row["second"] == crowd.classes[hard.labels[i]]
        assert row["first_probability"] == soft.posterior[i].max()
        assert row["second_probability"] == 1
        known = crowd.gold[i] >= 0 and crowd.annotated[i]
        assert row["gold"] == (crowd.classes[crowd.gold[i]] if known else "")
        assert row["annotations"] == (crowd.task == i).sum()
    assert difference["first_probability"].is_monotonic_decreasing


def test_gold_is_a_labelling_too_and_only_chosen_tasks_are_judged(crowd):
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    gold = crowd.gold.copy()
    gold[:100] = -1
    disagreement = label_disagreement(crowd, {"gold": "gold", "ds": result}, gold)
    assert disagreement.n_judged.tolist() == [200, 200]
    assert disagreement.accuracy[1] == (result.labels == crowd.gold)[100:].mean()
    assert disagreement.share[0, 1] == (result.labels != crowd.gold).mean()


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
    disagreement = task_disagreement(crowd)
    for i in range(crowd.n_tasks):
        votes = Counter(crowd.label[crowd.task == i].tolist())
        n = sum(votes.values())
        assert disagreement.n_annotations[i] == n
        assert disagreement.n_answers[i] == len(votes)
        if not n:
            assert disagreement.winner[i] == -1
            assert np.isnan([disagreement.share[i], disagreement.entropy[i], disagreement.wrong[i]]).all()
            continue
        top = max(votes.values())
        assert disagreement.winner[i] == min(c for c, k in votes.items() if k == top)
        assert disagreement.share[i] == pytest.approx(top / n)
        assert disagreement.entropy[i] == pytest.approx(-sum(k / n * log(k / n) for k in votes.values()))
        if gold[i] < 0:
            assert np.isnan(disagreement.wrong[i])
        else:
            assert disagreement.wrong[i] == pytest.approx(1 - votes[gold[i]] / n)


def test_frame_lists_annotated_tasks_most_disputed_first(crowd):
    disagreement = task_disagreement(crowd.where(crowd.task > 4), "majority-vote")
    frame = disagreement.frame()
    assert len(frame) == crowd.n_tasks - 5
    assert list(disagreement.frame(annotated=False).index) == [0, 1, 2, 3, 4]
    assert (np.diff(frame["entropy"]) <= 1e-12).all()
    assert list(frame["task"]) == [crowd.task_ids[i] for i in frame.index]
    assert (frame["most_given"] == frame["majority-vote"]).all()
    assert set(frame["most_given"]) <= set(crowd.classes)


def test_needs_gold_when_gold_is_asked_for():
    crowd = simulate_crowd(20)
    with pytest.raises(DataError, match="gold"):
        task_disagreement(replace(crowd, gold=np.full(20, -1)), "gold")
