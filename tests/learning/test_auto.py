"""`auto`: its criterion against brute force, its rule, its trials, and what comes of a run that is stopped."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.learning import load_result, methods, train, trials
from crowdcore.learning.choice import Scores, choose, label_agreement, label_likelihood
from crowdcore.learning.methods.dl_em import DlEm
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.events import EpochEvent
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd

RUN = {"epochs": 2, "batch_size": 32, "backbone_settings": {"hidden": 8}, "device": "cpu", "seeds": [0, 4]}
TEMPERATURES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)


def by_hand(each: np.ndarray, task: np.ndarray, worker: np.ndarray, label: np.ndarray, n_workers: int) -> np.ndarray:
    n, n_classes = each.shape[1:]
    q = np.stack([np.bincount(label[task == i], minlength=n_classes) / (task == i).sum() for i in range(n)])
    orders = [list(order) for order in itertools.permutations(range(n_classes))]
    each = np.stack([p[:, max(orders, key=lambda order, p=p: (p[:, order] * q).sum())] for p in each])
    for _ in range(10):
        counts = np.zeros((n_workers, n_classes, n_classes))
        for i, r, y in zip(task, worker, label, strict=True):
            counts[r, :, y] += q[i]
        pooled = counts.sum(0) + 0.5
        prior = 0.1 + 2 * pooled / pooled.sum(1, keepdims=True)
        evidence = np.zeros((n, n_classes))
        for i, r, y in zip(task, worker, label, strict=True):
            without = counts[r].copy()
            without[:, y] -= q[i]
            smoothed = without + prior
            evidence[i] += np.log(smoothed[:, y] / smoothed.sum(1))
        joint = []
        for p in each:
            tried = [p**t / (p**t).sum(1, keepdims=True) * np.exp(evidence) for t in TEMPERATURES]
            joint.append(max(tried, key=lambda terms: np.log(terms.sum(1)).mean()))
        q = np.mean([terms / terms.sum(1, keepdims=True) for terms in joint], 0)
    return np.log(np.stack(joint).sum(2))


def test_the_likelihood_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    task, worker, label = np.repeat(np.arange(20), 2), np.tile([0, 1], 20), rng.integers(3, size=40)
    each = rng.dirichlet(np.ones(3), (2, 20))
    np.testing.assert_allclose(label_likelihood(each, task, worker, label, 2), by_hand(each, task, worker, label, 2))


def test_probabilities_that_know_more_make_labels_likelier():
    crowd = featured_crowd(n_tasks=400, per_task=2)
    n, rng = int(crowd.task.max()) + 1, np.random.default_rng(1)
    truth = np.full((n, 3), 0.1) + 0.7 * np.eye(3)[crowd.gold[:n]]
    each = np.stack([truth, truth[rng.permutation(n)], np.full((n, 3), 1 / 3)])
    known, shuffled, nothing = label_likelihood(each, crowd.task, crowd.worker, crowd.label, crowd.n_workers).mean(1)
    assert known > nothing + 0.1
    assert shuffled == pytest.approx(nothing, abs=0.02), "what says nothing of the labels is flattened"


def test_what_a_candidate_calls_its_classes_does_not_matter():
    crowd = featured_crowd(n_tasks=200, per_task=2)
    n, rng, names = int(crowd.task.max()) + 1, np.random.default_rng(4), np.array([2, 0, 1])
    p = 0.6 * np.eye(3)[crowd.gold[:n]] + 0.4 * rng.dirichlet(np.ones(3), n)
    named, other = label_likelihood(np.stack([p, p[:, names]]), crowd.task, crowd.worker, crowd.label, crowd.n_workers)
    np.testing.assert_allclose(named, other)
    predicted = [q.argmax(1)[crowd.task] for q in (p, p[:, names])]
    one, same = (label_agreement(q, crowd.label, 3) for q in predicted)
    assert one == same == (predicted[0] == crowd.label).mean()
    assert label_agreement(rng.permutation(predicted[0]), crowd.label, 3) < 0.7 * one


def scores(accuracies: list[float], likelihoods: list[float], n_gold: int = 100) -> list[Scores]:
    rng = np.random.default_rng(2)
    ease, base = rng.random(n_gold), rng.normal(size=300)
    return [
        Scores(name, ease < a, base + mean + 0.1 * rng.normal(size=300))
        for name, a, mean in zip("abc", accuracies, likelihoods, strict=False)
    ]


def test_gold_decides_and_the_likelihood_only_among_equals():
    clear = choose(scores([0.9, 0.5], [-2, -1]))
    assert (clear.chosen, clear.tied.tolist()) == (0, [True, False])
    assert clear.share[0] > 0.99 and "No other candidate is within two standard errors" in clear.verdict
    close = choose(scores([0.9, 0.9, 0.4], [-2, -1, 0]))
    assert (close.chosen, close.tied.tolist()) == (1, [True, True, False])
    assert "Accuracies of a and b are within two standard errors" in close.verdict
    blind = choose(scores([0.9, 0.5], [-2, -1], n_gold=0))
    assert blind.chosen == 1 and blind.table[0]["accuracy"] is None
    assert "Without gold" in blind.verdict and "accuracy" not in blind.evidence


def test_clusters_that_are_no_classes_are_left_aside():
    likelier, other = scores([0.9, 0.8], [-1, -2], n_gold=0)
    assert choose([likelier, other]).chosen == 0
    assert choose([replace(likelier, agreement=0.5), replace(other, agreement=0.7)]).chosen == 1


def test_a_close_race_is_said_to_be_unsure():
    race = choose(scores([0.5, 0.5], [-1, -1.001], n_gold=0))
    assert race.share.sum() == pytest.approx(1)
    assert 0.2 < race.share.max() < 0.95


def test_its_result_is_that_of_the_method_it_chose(tmp_path):
    events: list = []
    result = train(featured_crowd(n_tasks=120), "auto", **RUN, on_event=events.append)
    chosen = result.settings["chosen"]
    direct = train(featured_crowd(n_tasks=120), "auto", **RUN, chosen=chosen)
    assert result.method == "auto" and result.notes[0].startswith(f"Chosen: {chosen}, in ")
    assert result.candidates["candidate"].tolist() == [*methods.get("auto").candidates]
    assert result.candidates["chosen_in"].sum() == pytest.approx(1)
    np.testing.assert_array_equal(result.probabilities["selected"], direct.probabilities["selected"])
    loaded = load_result(result.save(tmp_path / "run"))
    assert loaded.candidates.equals(result.candidates)
    features = np.asarray(featured_crowd(n_tasks=120).features)[result.task]
    np.testing.assert_allclose(loaded.predict_proba(features), result.probabilities["selected"], atol=1e-5)
    epochs = [event for event in events if isinstance(event, EpochEvent)]
    done = [event.done for event in epochs]
    assert done == sorted(done) and done[-1] == pytest.approx(1)
    assert [event.epoch for event in epochs if event.metrics] == [1, 2]


def test_a_trial_sees_neither_the_labels_nor_the_gold_of_its_fold():
    crowd = featured_crowd(n_tasks=120)
    problem = make_problem(crowd, TrainSettings())
    found = trials.Trials(problem, train, {}, print, lambda: False, None, 1.0)
    folds = [found._without(fold) for fold in range(trials.FOLDS)]
    labelled, gold = np.stack([part.annotated for part in folds]), np.stack([part.gold >= 0 for part in folds])
    assert (labelled.sum(0) == np.where(crowd.annotated, trials.FOLDS - 1, 0)).all()
    assert (gold.sum(0) == np.where(crowd.split == 1, trials.FOLDS - 1, 0)).all(), "train and test show none"


@pytest.fixture
def simple(monkeypatch):
    """Candidates that train in a moment."""
    monkeypatch.setattr(methods.get("auto"), "candidates", ("dl-em", "dl-mv"))


def test_a_candidate_that_fails_is_left_out_and_said(simple, monkeypatch):
    def fail(*given):
        raise DataError("It cannot be")

    monkeypatch.setattr(DlEm, "__init__", fail)
    result = train(featured_crowd(), "auto", **RUN)
    assert result.candidates["candidate"].tolist() == ["dl-mv"]
    assert any(note.startswith("dl-em is no candidate here: It cannot be") for note in result.notes)


def test_a_stopped_run_goes_on_behind_its_finished_trials(simple, tmp_path):
    crowd, events, again = featured_crowd(), [], []
    whole = train(crowd, "auto", **RUN, on_event=events.append)
    run = {**RUN, "checkpoint": tmp_path, "checkpoint_every": 1}
    seen: list = []
    stopped = train(crowd, "auto", **run, on_event=seen.append, should_stop=lambda: len(seen) >= 11)
    assert stopped.notes[0].startswith("Stopped before all trials were done")
    assert stopped.last_epoch.tolist() == [1, 1]
    resumed = train(crowd, "auto", **run, on_event=again.append)
    trained = [sum(isinstance(event, EpochEvent) for event in told) for told in (events, seen, again)]
    assert trained[2] == trained[0] - (trained[1] - 1), "only the moment after the stop is trained again"
    np.testing.assert_array_equal(resumed.probabilities["selected"], whole.probabilities["selected"])
    assert resumed.candidates.equals(whole.candidates)


def test_too_few_tasks_for_trials():
    result = train(featured_crowd(n_tasks=8), "auto", **RUN, select_on="none")
    assert result.notes[0].startswith("There are too few training tasks for trials")


def test_unlabelled_features_are_for_the_candidates_that_use_them(simple):
    own = methods.get("auto").Settings(unlabelled="validation")
    assert trials._line("gaussian-em", own) == "gaussian-em unlabelled=validation"
    assert trials._line("dl-em", own) == "dl-em"
