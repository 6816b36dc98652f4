"""The choice of an aggregator, fits compared with the votes, undue confidence reported and tempered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation import _confidence
from crowdcore.aggregation._em import disagreement
from crowdcore.aggregation.auto import _stacked, held_out, predicted
from crowdcore.aggregation.base import agreement, collapsed, lost_classes, votes_side
from crowdcore.analysis.gold_scores import calibration
from crowdcore.analysis.reference import note_on_confidence
from crowdcore.analysis.statistics import wilson_interval
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import DEPENDENT, INDEPENDENT, simulate_crowd, simulated
from testkit.erring import laymen
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
    assert [sentence.split(" is ")[0] for sentence in inflated] == [f"Class class {c}" for c in range(3)]
    assert ["inflated" in sentence for sentence in inflated] == [True, False, False]
    assert lost_classes(votes, answer, known=votes.gold) == (), "given labels are not judged"


def told(votes, method, gold=None, **settings):
    """Return the guard's verdict on the confidence of a fit."""
    confidence = cc.aggregation.confidence(votes, cc.aggregation.get(method, **settings).fit(votes), gold)
    assert confidence is not None
    return confidence


def panel_of(n_judges, correlation, seed):
    """Judges whose mistakes correlate by a trait of the item."""
    return panel(np.random.default_rng(seed), n_judges=n_judges, correlation=correlation).dataset


SURE = ("dawid-skene", "one-coin", "mace", "fast-dawid-skene", "pooled-dawid-skene", "glad")


def test_fits_to_dependent_panels_are_called_too_sure():
    """`python -m benchmarks.confidence` is the long version; fits that say .15 more than is right."""
    gaps, flags = [], []
    for votes in (panel_of(12, 0.4, 0), panel_of(24, 0.4, 0), simulated("judges who err together", 0)):
        for method in SURE:
            fit = cc.aggregation.get(method).fit(votes)
            gaps.append(fit.posterior.max(1).mean() - (fit.labels == votes.gold).mean())
            flags.append(cc.aggregation.confidence(votes, fit).too_sure)
    far = np.array(gaps) >= 0.15
    assert far.sum() > 10
    assert np.mean(np.array(flags)[far]) >= 0.8


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
    confidence = cc.aggregation.confidence(votes, fit, some)
    assert confidence.by_gold and confidence.n == 150 and confidence.too_sure
    assert confidence.right == (fit.labels == votes.gold)[:150].mean()
    low, high = wilson_interval(np.array(confidence.right), np.array(150), 0.95)
    assert (confidence.low, confidence.high) == pytest.approx((low, high))
    assert f"{100 * confidence.right:.0f} % of its labels" in confidence.words
    agreeing = cc.aggregation.confidence(votes, fit, np.where(some >= 0, fit.labels, -1))
    assert agreeing.right == 1 and not agreeing.words, "gold that agrees silences the labels"
    assert not cc.aggregation.confidence(votes, fit, np.where(np.arange(votes.n_tasks) < 19, some, -1)).by_gold


def test_tasks_that_the_fit_was_shown_are_not_counted():
    votes = panel_of(12, 0.4, 5)
    known = np.where(np.arange(votes.n_tasks) < 200, votes.gold, -1).astype(np.int32)
    fit = cc.aggregation.get("dawid-skene").fit(votes, known=known)
    confidence = cc.aggregation.confidence(votes, fit, known=known)
    assert confidence.n == votes.n_tasks - 200
    assert confidence.said == fit.posterior[200:].max(1).mean()
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
    mean, right = fit.posterior.max(1).mean(), (fit.labels == votes.gold).mean()
    shown = cc.analysis.task_verdicts(hidden, fit).sure.mean()
    assert mean - right > 0.15
    assert abs(shown - right) < (mean - right) / 2
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
    with pytest.raises(DataError, match=r"3 tasks.*gold"):
        cc.aggregation.temper(result, votes, gold=np.where(np.arange(60) < 3, votes.gold, -1))
    with pytest.raises(SettingError, match="gold"):
        cc.aggregation.temper(result, votes, gold=votes.gold[:5])


def test_restarts_that_disagree_are_named():
    one, other = np.zeros(100, np.int32), np.ones(100, np.int32)
    assert disagreement([(-1.0, one), (-1.2, other)]) == ()
    assert disagreement([(-1.0, one), (-1.0005, other)])[0].startswith("Restarts disagree")
    assert cc.aggregation.get("dawid-skene", restarts=2).fit(simulate_crowd(100, 8, 3, per_task=5)).converged


def fitted(dataset, name="item-response", **settings):
    return cc.aggregation.get(name, **settings).fit(dataset)


def right(result, dataset):
    return (result.labels == dataset.gold).mean()


@pytest.mark.parametrize("design", [{}, {"n_tasks": 400, "n_workers": 40, "per_task": 8}, {"experts": 0.3}])
def test_item_response_is_on_the_votes_side_where_laymen_follow_a_look(design):
    """From the votes alone, EM ends with the classes exchanged: at most 15 % right, with a confidence of .99."""
    crowds = [laymen(np.random.default_rng([seed, 400]), **design) for seed in range(3)]
    assert min(right(fitted(crowd), crowd) for crowd in crowds) > 0.85


def test_a_start_keeps_its_side():
    crowd = simulate_crowd(200, 12, 2, per_task=8, accuracy=0.75)
    first = fitted(crowd)
    turned = replace(first, posterior=first.posterior[:, ::-1])
    assert right(cc.aggregation.get("item-response").fit(crowd, start=first), crowd) > 0.75
    against = cc.aggregation.get("item-response").fit(crowd, start=turned)
    assert right(against, crowd) < 0.5
    assert against.collapsed


def test_collapsed_fits_are_said_so_and_sound_ones_are_not():
    crowd = simulate_crowd(400, 10, 3, per_task=5, accuracy=0.6)
    truth = np.eye(3)[crowd.gold]
    assert collapsed(crowd, truth[:, [1, 2, 0]])
    assert collapsed(crowd, np.tile([1.0, 0, 0], (400, 1)))
    assert not collapsed(crowd, truth)
    one_sided = replace(crowd, label=np.where(np.arange(crowd.n_annotations) < 8, 1, 0).astype(np.int32))
    assert not collapsed(one_sided, np.tile([1.0, 0, 0], (400, 1))), "the votes say hardly anything else"


def test_a_fit_without_a_side_carries_a_warning():
    crowd = simulated("guesses in two classes", 0)
    fit = fitted(crowd, "one-coin")
    assert fit.collapsed and any("collapsed" in note for note in fit.notes)
    sound = fitted(simulate_crowd(300, 12, 2, per_task=5, accuracy=0.75), "one-coin")
    assert not sound.collapsed and not any("collapsed" in note for note in sound.notes)


@pytest.mark.parametrize("name", ["kos", "m-msr"])
def test_signs_follow_the_votes(name):
    """Both models know their classes up to an exchange only."""
    crowd = simulated("guesses in two classes", 0)
    assert agreement(crowd, fitted(crowd, name).posterior) > 0


def test_the_likelier_of_two_fits_on_the_votes_side_is_kept_and_never_one_against_them():
    crowd = simulate_crowd(200, 12, 2, per_task=8, accuracy=0.75)
    first = fitted(crowd)
    other = replace(first, log_likelihood=first.log_likelihood + 10)
    against = replace(first, posterior=first.posterior[:, ::-1], log_likelihood=first.log_likelihood + 20)
    assert votes_side(crowd, None, (first, other, against)) is other
    assert votes_side(crowd, None, (against, first)) is first


WORST = 1.0  # points of accuracy


@pytest.mark.parametrize("kind", ["adversaries", "few labels per task", "hard rare"])
def test_is_not_worse_than_the_majority_vote(kind):
    assert kind in INDEPENDENT | DEPENDENT
    votes = simulated(kind, 100)
    auto, majority = (
        100 * (cc.aggregation.get(n).fit(votes).labels == votes.gold).mean() for n in ("auto", "majority-vote")
    )
    assert auto >= majority - WORST


def test_weights_maximise_the_log_probability_of_the_mixture():
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.05, 0.95, (400, 3))
    value = lambda w: np.log(probability @ w).mean()  # noqa: E731
    stacked = _stacked(probability)
    assert stacked.sum() == pytest.approx(1)
    assert all(value(stacked) >= value(other) - 1e-5 for other in rng.dirichlet(np.ones(3), 500))


def test_the_better_posterior_predicts_held_out_annotations_better():
    votes = simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7)
    hidden = held_out(votes, 0.2)
    truth = np.eye(3)[votes.gold]
    scores = [
        np.log(predicted(votes, hidden, q, 15.0)).mean() for q in (truth, np.full_like(truth, 1 / 3), truth[::-1])
    ]
    assert scores[0] > scores[1] > scores[2]


def test_it_says_why():
    result = cc.aggregation.get("auto").fit(simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7))
    assert result.notes[0].startswith("Weights: ")
    assert "held-out annotations" in result.notes[0]
    few = cc.aggregation.get("auto").fit(simulate_crowd(10, 3, 2, per_task=3))
    assert "majority vote is used" in few.notes[0]


def test_tags_are_hidden_by_a_workers_whole_sentences():
    crowd = cc.data.simulate.tags(n_sentences=60, seed=1)
    hidden = held_out(crowd, 0.2)
    sentence = crowd.sentences.of_task[crowd.task]
    shares = np.bincount(sentence * crowd.n_workers + crowd.worker, hidden) / np.maximum(
        np.bincount(sentence * crowd.n_workers + crowd.worker), 1
    )
    assert set(shares) == {0.0, 1.0}
    assert 0.1 < hidden.mean() < 0.3


@pytest.mark.parametrize("most", [100_000, 4_000])
def test_aggregators_of_sequences_count_where_tasks_are_sentences(monkeypatch, most):
    monkeypatch.setattr("crowdcore.aggregation.auto._MOST", most)
    crowd = cc.data.simulate.tags(n_sentences=300, worst=0.4, best=0.8, seed=1)
    result = cc.aggregation.get("auto").fit(crowd)
    weights, scores = result.notes[0].split("; by the mean")
    assert "hmm-crowd" in weights and all(name in scores for name in ("bsc-seq", "span-majority", "dawid-skene"))
    found, plain = (
        cc.analysis.tagging_scores(crowd, cc.aggregation.get(name).fit(crowd).labels).f1
        for name in ("auto", "dawid-skene")
    )
    assert found > plain
    tokens = cc.aggregation.get("auto").fit(simulate_crowd(300, 12, 3, per_task=5, accuracy=0.7))
    assert "hmm-crowd" not in tokens.notes[0], "a task by itself is no sequence"
