"""Guards speak where a fit collapses, and hardly ever elsewhere; tempering lowers undue confidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation._against_votes import lost_classes
from crowdcore.aggregation._statistics import disagreement, measure
from crowdcore.analysis.gold_scores import calibration
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import INDEPENDENT, simulate_crowd, simulated

WORDS = ("is all but lost", "is inflated", "is too high")


def alarms(result):
    return [note for note in result.notes if any(word in note for word in WORDS)]


def test_independent_crowds_give_no_alarm():
    """`python -m benchmarks.aggregators_auto` is the long version."""
    fits = [cc.aggregation.get(n).fit(simulated(k, 7)) for k in INDEPENDENT for n in ("dawid-skene", "one-coin")]
    assert sum(bool(alarms(fit)) for fit in fits) <= 1


def test_a_lost_and_an_inflated_class_are_named():
    votes = simulate_crowd(200, 10, 3, per_task=5, accuracy=0.8)
    answer = np.eye(3)[votes.gold]
    assert lost_classes(votes, answer) == ()
    answer[votes.gold == 2] = [1, 0, 0]
    (lost,) = lost_classes(votes, answer)
    assert "class 2" in lost and "0 of 200 tasks" in lost
    inflated = lost_classes(votes, np.tile([1.0, 0, 0], (200, 1)))
    assert [sentence.split(":")[0] for sentence in inflated] == [
        "Class class 0 is inflated",
        "Class class 1 is all but lost",
        "Class class 2 is all but lost",
    ]
    assert lost_classes(votes, answer, known=votes.gold) == (), "given labels are not judged"


def test_dependence_is_zero_where_mistakes_are_independent_and_found_where_labels_repeat():
    votes = simulate_crowd(600, 20, 3, per_task=10, accuracy=0.6)
    truth = np.eye(3)[votes.gold]
    assert not measure(votes, truth).significant
    rng = np.random.default_rng(1)
    seen = rng.integers(3, size=votes.n_tasks)[votes.task]
    copied = replace(votes, label=np.where(rng.random(votes.n_annotations) < 0.3, seen, votes.label).astype(np.int32))
    assert measure(copied, truth).significant
    assert measure(copied, truth).eta > 0.05


def test_a_sure_fit_to_repeated_labels_is_warned_of_and_tempered():
    votes = simulated("judges who err together", 3)
    result = cc.aggregation.get("dawid-skene").fit(votes)
    assert any("is too high" in note for note in alarms(result))
    tempered = cc.aggregation.temper(result, votes)
    gold = np.where(np.arange(votes.n_tasks) < 100, votes.gold, -1)
    calibrated = cc.aggregation.temper(result, votes, gold=gold)
    rest = np.where(gold < 0, votes.gold, -1)
    error = [calibration(r, rest).error for r in (result, tempered, calibrated)]
    assert error[0] > error[1] > error[2]
    assert error[2] < 0.15


def test_independent_crowds_are_not_tempered():
    votes = simulate_crowd(400, 12, 3, per_task=5, accuracy=0.7)
    result = cc.aggregation.get("dawid-skene").fit(votes)
    np.testing.assert_allclose(cc.aggregation.temper(result, votes).posterior, result.posterior, atol=1e-12)


def test_calibration_refuses_too_little_gold():
    votes = simulate_crowd(60, 6, 2)
    result = cc.aggregation.get("majority-vote").fit(votes)
    with pytest.raises(DataError, match="3 tasks have gold"):
        cc.aggregation.temper(result, votes, gold=np.where(np.arange(60) < 3, votes.gold, -1))
    with pytest.raises(SettingError, match="gold"):
        cc.aggregation.temper(result, votes, gold=votes.gold[:5])


def test_restarts_that_disagree_are_named():
    one, other = np.zeros(100, np.int32), np.ones(100, np.int32)
    assert disagreement([(-1.0, one), (-1.2, other)]) == ()
    assert disagreement([(-1.0, one), (-1.0005, other)])[0].startswith("Restarts disagree")
    assert cc.aggregation.get("dawid-skene", restarts=2).fit(simulate_crowd(100, 8, 3, per_task=5)).converged
