"""References, and scores and calibration on gold."""

from __future__ import annotations

import inspect
import types
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.aggregation import AggregationResult
from crowdcore.analysis import Reference, available_references, resolve_reference
from crowdcore.analysis.gold_scores import calibration, calibration_of_seeds, judge, show_gold
from crowdcore.analysis.reference import note_on_inferred
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import simulate_crowd, simulated
from tests.analysis.crowds import crowds, make_crowd


def test_gold_is_hard_and_first(crowd):
    reference = resolve_reference(crowd, "gold")
    assert (reference.name, reference.soft) == ("gold", False)
    np.testing.assert_array_equal(reference.labels, crowd.gold)
    assert available_references(crowd)[:1] == ["gold"]
    assert "majority-vote" in available_references(crowd)


def test_an_aggregator_is_fitted_by_name_or_given_as_result(crowd):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    for reference in (resolve_reference(crowd, "majority-vote"), resolve_reference(crowd, result)):
        assert reference.name == "majority-vote"
        np.testing.assert_array_equal(reference.posterior, result.posterior)
    ready = Reference("run:7", crowd.gold)
    assert resolve_reference(crowd, ready) is ready


def test_gold_on_tasks_without_annotations_is_no_reference():
    crowd = make_crowd([0], [0], [0], 2, 1, 2, gold=np.array([-1, 1]))
    assert "gold" not in available_references(crowd)
    with pytest.raises(cc.DataError, match="gold"):
        resolve_reference(crowd, "gold")


def test_refusals(crowd):
    with pytest.raises(cc.SettingError, match="majority-vote"):
        resolve_reference(crowd, "majority-votes")
    with pytest.raises(cc.SettingError, match="300 tasks"):
        resolve_reference(crowd, Reference("short", np.zeros(5, np.int32)))


def test_functions_win_over_files_of_their_name():
    from crowdcore.analysis import shared_mistakes as again

    assert inspect.isfunction(again)
    modules = [name for name in analysis.__all__ if isinstance(getattr(analysis, name), types.ModuleType)]
    assert modules == []


ALONE = "shares no task with others, and 'auto' repeats their labels: without gold their accuracy is unknown."


def test_nothing_is_measured_by_the_labels_of_a_single_worker():
    crowd = make_crowd([0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 0, 1], 4, 1, 2)
    stats, good = analysis.summary(crowd, "auto"), analysis.worker_quality(crowd, "auto")
    unknown = [stats.worker_accuracy, stats.majority_vote_accuracy, stats.noise.wrong_annotations]
    unknown += [stats.noise.tasks_without_truth, *good.accuracy, *good.accuracy_low, *good.skill, *good.information]
    assert np.isnan(unknown).all() and good.n_judged.tolist() == [0]
    assert good.notes[-1] == f"1 worker {ALONE}"
    assert stats.balance.tasks.sum() == 4
    seen = cc.exhibits.view(crowd, "auto")
    for exhibit in (cc.exhibits.overview.overview(seen), cc.exhibits.mistakes.shared_mistakes(seen)):
        assert exhibit.notes[-1] == f"1 worker {ALONE}"


def test_workers_who_share_no_task_are_not_judged_and_others_as_before():
    task, worker, label = [0, 0, 1, 1, 2, 3, 3], [0, 1, 0, 1, 2, 3, 3], [0, 0, 1, 0, 1, 0, 1]
    good = analysis.worker_quality(make_crowd(task, worker, label, 4, 4, 2), "majority-vote")
    assert good.n_judged.tolist() == [2, 2, 0, 0]
    without = analysis.worker_quality(make_crowd(task[:4], worker[:4], label[:4], 2, 2, 2), "majority-vote")
    np.testing.assert_array_equal(good.accuracy, [*without.accuracy, np.nan, np.nan])
    assert good.notes[-1].startswith("2 workers ")


@pytest.mark.parametrize("name", ["gold", "run:7"])
def test_what_does_not_come_of_the_labels_judges_a_single_worker(name):
    crowd = make_crowd([0, 1], [0, 0], [0, 1], 2, 1, 2)
    good = analysis.worker_quality(crowd, Reference(name, np.array([0, 0], np.int32)))
    assert good.accuracy.tolist() == [0.5] and not any("shares no task" in note for note in good.notes)


def shift(kind: str, name: str) -> tuple[float, str]:
    """Accuracy by an aggregator less that by gold, in the mean over labels, and the note on that truth."""
    crowd = simulated(kind, 0)
    truth = resolve_reference(crowd, name)
    inferred, gold = (analysis.worker_quality(crowd, of) for of in (truth, "gold"))
    return np.average(inferred.accuracy - gold.accuracy, weights=gold.n_judged), note_on_inferred(truth)


@pytest.mark.parametrize("name", ["majority-vote", "wawa", "zero-based-skill", "dawid-skene", "auto", "glad", "mace"])
def test_the_note_on_an_inferred_truth_says_in_which_direction_accuracy_is_wrong(name):
    """True accuracies of .823 were shown as .700 by votes, and called too high."""
    (independent, note), (alike, _) = shift("plain", name), shift("common confusion", name)
    assert alike > 0.05
    if "too low" in note:
        assert independent < -0.05
    else:
        assert abs(independent) < 0.03


def test_gold_has_no_note_and_predictions_no_direction(crowd):
    assert note_on_inferred(resolve_reference(crowd, "gold")) == ""
    assert "too" not in note_on_inferred(Reference("run:7", crowd.gold))


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
    scores = judge(crowd, certain(labels, crowd.n_classes))
    assert scores.n_judged == len(tasks)
    if not tasks:
        assert np.isnan([scores.accuracy, scores.majority_accuracy, scores.calibration_error, scores.p_value]).all()
        return
    right = np.array([labels[i] == crowd.gold[i] for i in tasks])
    voted = np.array([votes[i] == crowd.gold[i] for i in tasks])
    assert scores.accuracy == pytest.approx(right.mean())
    assert scores.majority_accuracy == pytest.approx(voted.mean())
    assert (scores.gained, scores.lost) == ((right & ~voted).sum(), (voted & ~right).sum())
    assert scores.calibration_error == pytest.approx(1 - right.mean())
    if scores.gained + scores.lost:
        assert scores.p_value == pytest.approx(binomtest(scores.lost, scores.gained + scores.lost).pvalue)
    assert any("loses to majority vote" in w for w in scores.warnings) == (scores.lost > scores.gained)


def test_only_gold_that_was_not_shown_judges(crowd):
    known, judging = show_gold(crowd, 40)
    result = cc.aggregation.get("dawid-skene").fit(crowd, known=known)
    scores = judge(crowd, result, judging)
    rest = known < 0
    assert scores.n_judged == rest.sum() == 180
    assert scores.accuracy == (result.labels == crowd.gold)[rest].mean()
    assert scores.calibration_error == calibration(result, judging).error


def test_a_loss_says_whether_chance_explains_it():
    crowd = simulate_crowd(n_tasks=1000, accuracy=0.8)
    votes = cc.aggregation.get("majority-vote").fit(crowd).labels
    right = np.flatnonzero(votes == crowd.gold)
    few, many = votes.copy(), votes.copy()
    few[right[:3]] = (few[right[:3]] + 1) % 4
    many[right[:30]] = (many[right[:30]] + 1) % 4
    (warning,) = judge(crowd, certain(few, 4)).warnings
    assert "loses 3" in warning and "which chance can explain" in warning
    (warning,) = judge(crowd, certain(many, 4)).warnings
    assert "loses 30" in warning and "chance" not in warning
    assert judge(crowd, certain(votes, 4)).warnings == ()


def test_data_that_cannot_carry_confusions(data_folder):
    labelme = cc.load_dataset("labelme")
    warnings, sure = judge(labelme, cc.aggregation.get("dawid-skene").fit(labelme)).warnings
    assert "96 % sure" in sure and "79 % of its labels" in sure
    assert "3.38 per class" in warnings
    warnings = judge(labelme, cc.aggregation.get("one-coin").fit(labelme)).warnings
    assert len(warnings) == 2 and "76.7 % right against 76.9 %" in warnings[1]


def test_notes_of_the_method_and_a_cap_that_was_hit(crowd):
    result = cc.aggregation.get("dawid-skene", max_iterations=2).fit(crowd)
    scores = judge(crowd, replace(result, notes=("Beware.",)))
    assert scores.warnings[0] == "Beware."
    assert "cap of 2" in scores.warnings[1]


def test_without_gold_there_is_no_accuracy(crowd):
    blind = replace(crowd, gold=np.full(crowd.n_tasks, -1))
    scores = judge(blind, cc.aggregation.get("majority-vote").fit(blind))
    assert scores.n_judged == 0
    assert np.isnan([scores.accuracy, scores.majority_accuracy, scores.calibration_error]).all()


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


def test_refusals_of_gold_scores(crowd):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    with pytest.raises(SettingError, match="percent"):
        show_gold(crowd, 101)
    with pytest.raises(SettingError, match="gold"):
        judge(crowd, result, crowd.gold[1:])
    with pytest.raises(SettingError, match="result"):
        judge(crowd, replace(result, labels=result.labels[1:]))


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
    curve = calibration(judged(posterior), gold, n_bins)
    error = 0.0
    for b, group in enumerate(groups):
        assert curve.n_tasks[b] == len(group)
        if not group:
            assert np.isnan([curve.bin_accuracy[b], curve.bin_confidence[b], curve.low[b], curve.high[b]]).all()
            continue
        confidence, accuracy = np.mean(group, 0)
        interval = binomtest(sum(bool(right) for _, right in group), len(group)).proportion_ci(0.95, "exact")
        assert curve.bin_confidence[b] == pytest.approx(confidence)
        assert curve.bin_accuracy[b] == pytest.approx(accuracy)
        assert (curve.low[b], curve.high[b]) == pytest.approx((interval.low, interval.high))
        error += len(group) / total * abs(accuracy - confidence)
    assert curve.error == pytest.approx(error)
    assert curve.accuracy == pytest.approx(np.mean([right for group in groups for _, right in group]))
    frame = curve.frame()
    assert len(frame) == n_bins and frame["tasks"].sum() == total


def test_calibration_refusals(case):
    posterior, gold = case
    with pytest.raises(SettingError, match="gold"):
        calibration(judged(posterior), gold[:-1])
    with pytest.raises(SettingError, match="n_bins"):
        calibration(judged(posterior), gold, 0)
    with pytest.raises(DataError, match="label"):
        calibration(judged(posterior), np.full(400, -1))


def test_seeds_together_are_the_seeds_one_by_one(crowd):
    rng = np.random.default_rng(3)
    posterior = rng.dirichlet(np.ones(4), (3, 300)).astype(np.float32)
    gold = np.where(rng.random(300) < 0.8, crowd.gold, -1)
    calibration = calibration_of_seeds("conal", posterior, gold, 10)
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
    assert calibration.error == pytest.approx(np.mean(errors))
    assert calibration.n_tasks.tolist() == sizes.tolist()
    some = sizes > 0
    assert calibration.bin_accuracy[some] == pytest.approx(rights[some] / sizes[some])
    assert calibration.accuracy == pytest.approx((posterior[:, known].argmax(-1) == gold[known]).mean())


def test_more_of_the_same_seed_makes_nobody_surer(crowd):
    posterior = np.random.default_rng(4).dirichlet(np.ones(4), (1, 300))
    once, thrice = (calibration_of_seeds("conal", np.repeat(posterior, k, 0), crowd.gold) for k in (1, 3))
    assert np.allclose(once.low, thrice.low, equal_nan=True)
    assert np.allclose(once.high, thrice.high, equal_nan=True)
    assert once.error == pytest.approx(thrice.error)


def test_gold_of_another_length_is_refused(crowd):
    with pytest.raises(SettingError, match="`gold`"):
        calibration_of_seeds("conal", np.full((2, 300, 4), 0.25), crowd.gold[:9])
