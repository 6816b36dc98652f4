"""Guards speak where a fit collapses, and hardly ever elsewhere; tempering lowers undue confidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation import _confidence
from crowdcore.aggregation._against_votes import lost_classes
from crowdcore.aggregation._statistics import disagreement
from crowdcore.analysis.gold_scores import calibration
from crowdcore.analysis.reference import note_on_confidence
from crowdcore.analysis.statistics import wilson_interval
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import INDEPENDENT, simulate_crowd, simulated
from testkit.known_truth import panel

WORDS = ("is all but lost", "is inflated")


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


def told(votes, method, gold=None, **settings):
    """What is said of the confidence of a fit."""
    found = cc.aggregation.confidence(votes, cc.aggregation.get(method, **settings).fit(votes), gold)
    assert found is not None
    return found


def panel_of(n_judges, correlation, seed):
    """Judges whose mistakes correlate by a trait of the item."""
    return panel(np.random.default_rng(seed), n_judges=n_judges, correlation=correlation).dataset


SURE = ("dawid-skene", "one-coin", "mace", "fast-dawid-skene", "pooled-dawid-skene", "glad")


def test_fits_to_dependent_panels_are_called_too_sure():
    """`python -m benchmarks.confidence` is the long version; fits that say .15 more than is right."""
    gaps, said = [], []
    for votes in (panel_of(12, 0.4, 0), panel_of(24, 0.4, 0), simulated("judges who err together", 0)):
        for method in SURE:
            fit = cc.aggregation.get(method).fit(votes)
            gaps.append(fit.posterior.max(1).mean() - (fit.labels == votes.gold).mean())
            said.append(told(votes, method).too_sure)
    far = np.array(gaps) >= 0.15
    assert far.sum() > 10
    assert np.mean(np.array(said)[far]) >= 0.8


def test_fits_to_independent_crowds_are_hardly_called_too_sure():
    near = [
        told(votes, method).too_sure
        for votes in (simulated(kind, 7) for kind in ("plain", "two classes", "dense", "adversaries", "spammers"))
        for method in ("one-coin", "pooled-dawid-skene", "mace")
    ]
    assert np.mean(near) <= 0.1


def test_gold_decides_where_there_are_twenty_labels():
    votes = panel_of(12, 0.4, 5)
    fit = cc.aggregation.get("dawid-skene").fit(votes)
    some = np.where(np.arange(votes.n_tasks) < 150, votes.gold, -1)
    found = cc.aggregation.confidence(votes, fit, some)
    assert found.by_gold and found.n == 150 and found.too_sure
    assert found.right == (fit.labels == votes.gold)[:150].mean()
    low, high = wilson_interval(np.array(found.right), np.array(150), 0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert f"{100 * found.right:.0f} % of its labels are right by gold" in found.words
    agreeing = cc.aggregation.confidence(votes, fit, np.where(some >= 0, fit.labels, -1))
    assert agreeing.right == 1 and not agreeing.words, "gold that agrees silences the labels"
    assert not cc.aggregation.confidence(votes, fit, np.where(np.arange(votes.n_tasks) < 19, some, -1)).by_gold


def test_tasks_that_the_fit_was_shown_are_not_counted():
    votes = panel_of(12, 0.4, 5)
    known = np.where(np.arange(votes.n_tasks) < 200, votes.gold, -1).astype(np.int32)
    fit = cc.aggregation.get("dawid-skene").fit(votes, known=known)
    found = cc.aggregation.confidence(votes, fit, known=known)
    assert found.n == votes.n_tasks - 200
    assert found.said == fit.posterior[200:].max(1).mean()
    tempered = cc.aggregation.temper(fit, votes, known=known)
    assert (tempered.posterior[:200] == fit.posterior[:200]).all()


def test_a_sample_with_too_few_labels_of_each_worker_says_nothing(monkeypatch):
    votes = panel_of(12, 0.4, 5)
    fit = cc.aggregation.get("dawid-skene").fit(votes)
    monkeypatch.setattr(_confidence, "_MOST", 1200)
    sampled = cc.aggregation.confidence(votes, fit)
    assert sampled.too_sure, "29 labels of each judge are enough"
    monkeypatch.setattr(_confidence, "_MOST", 120)
    assert cc.aggregation.confidence(votes, fit) is None


def test_the_page_of_aggregators_and_the_tasks_know_that_a_fit_is_too_sure():
    votes = panel_of(24, 0.4, 2)
    hidden = replace(votes, gold=np.full(votes.n_tasks, -1, np.int32))
    fit = cc.aggregation.get("dawid-skene").fit(hidden)
    assert any("probabilities are too high" in warning for warning in cc.analysis.judge(hidden, fit).warnings)
    assert "probabilities are too high" in note_on_confidence(hidden, cc.analysis.resolve_reference(hidden, fit))
    said, right = fit.posterior.max(1).mean(), (fit.labels == votes.gold).mean()
    shown = cc.analysis.task_verdicts(hidden, fit).sure.mean()
    assert said - right > 0.15
    assert abs(shown - right) < (said - right) / 2
    with_gold = cc.analysis.task_verdicts(votes, fit).sure.mean()
    assert with_gold == pytest.approx(right, abs=0.01), "gold says how many are right"


def test_tempering_keeps_labels_and_halves_undue_confidence():
    votes = simulated("judges who err together", 3)
    gold = np.where(np.arange(votes.n_tasks) < 100, votes.gold, -1)
    rest = np.where(gold < 0, votes.gold, -1)
    for method in ("dawid-skene", "glad", "auto"):
        result = cc.aggregation.get(method).fit(votes)
        tempered, calibrated = cc.aggregation.temper(result, votes), cc.aggregation.temper(result, votes, gold=gold)
        assert (tempered.labels == result.labels).all()
        error = [calibration(r, rest).error for r in (result, tempered, calibrated)]
        assert error[1] < error[0] / 2, method
        assert error[2] < 0.1, method


def test_independent_crowds_are_hardly_tempered_and_vote_shares_are_no_probabilities():
    votes = simulate_crowd(400, 12, 3, per_task=5, accuracy=0.7)
    assert cc.aggregation.confidence(votes, cc.aggregation.get("majority-vote").fit(votes)) is None
    result = cc.aggregation.get("one-coin").fit(votes)
    tempered = cc.aggregation.temper(result, votes)
    assert abs(tempered.posterior.max(1).mean() - result.posterior.max(1).mean()) < 0.03


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
