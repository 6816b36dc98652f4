"""References: names, results and refusals."""

from __future__ import annotations

import inspect
import types

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import Reference, available_references, resolve_reference
from crowdcore.analysis.reference import note_on_inferred
from testkit.crowds import simulated
from tests.analysis.crowds import make_crowd


def test_gold_is_hard_and_first(crowd):
    found = resolve_reference(crowd, "gold")
    assert (found.name, found.soft) == ("gold", False)
    np.testing.assert_array_equal(found.labels, crowd.gold)
    assert available_references(crowd)[:1] == ["gold"]
    assert "majority-vote" in available_references(crowd)


def test_an_aggregator_is_fitted_by_name_or_given_as_result(crowd):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    for found in (resolve_reference(crowd, "majority-vote"), resolve_reference(crowd, result)):
        assert found.name == "majority-vote"
        np.testing.assert_array_equal(found.posterior, result.posterior)
    ready = Reference("run:7", crowd.gold)
    assert resolve_reference(crowd, ready) is ready


def test_gold_on_tasks_without_annotations_is_no_reference():
    crowd = make_crowd([0], [0], [0], 2, 1, 2, gold=np.array([-1, 1]))
    assert "gold" not in available_references(crowd)
    with pytest.raises(cc.DataError, match="no gold labels"):
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
    found, good = analysis.summary(crowd, "auto"), analysis.worker_quality(crowd, "auto")
    unknown = [found.worker_accuracy, found.majority_vote_accuracy, found.noise.wrong_annotations]
    unknown += [found.noise.tasks_without_truth, *good.accuracy, *good.accuracy_low, *good.skill, *good.information]
    assert np.isnan(unknown).all() and good.n_judged.tolist() == [0]
    assert good.notes[-1] == f"1 worker {ALONE}"
    assert found.balance.tasks.sum() == 4
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


def shift(kind: str, name: str, seeds: int = 2) -> float:
    """Accuracy by an aggregator less that by gold, in the mean over labels."""
    shifts = []
    for seed in range(seeds):
        crowd = simulated(kind, seed)
        by = {of: analysis.worker_quality(crowd, of) for of in (name, "gold")}
        weight = by["gold"].n_judged
        shifts.append(np.average(by[name].accuracy - by["gold"].accuracy, weights=weight))
    return float(np.mean(shifts))


@pytest.mark.parametrize("name", ["majority-vote", "wawa", "zero-based-skill", "dawid-skene", "auto", "glad", "mace"])
def test_the_note_on_an_inferred_truth_says_in_which_direction_accuracy_is_wrong(name):
    """True accuracies of .823 were shown as .700 by votes, and called too high."""
    note = note_on_inferred(resolve_reference(simulated("plain", 0), name))
    independent, alike = shift("plain", name), shift("common confusion", name)
    assert alike > 0.05
    if "too low" in note:
        assert independent < -0.05
    else:
        assert abs(independent) < 0.02


def test_gold_has_no_note_and_predictions_no_direction(crowd):
    assert note_on_inferred(resolve_reference(crowd, "gold")) == ""
    assert "too" not in note_on_inferred(Reference("run:7", crowd.gold))
