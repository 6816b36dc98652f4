"""`auto`: its trials, what it trains, and what comes of a run that is stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.learning import load_result, methods, train, trials
from crowdcore.learning.methods.dl_em import DlEm
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.events import EpochEvent, NoteEvent
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd

RUN = {"epochs": 2, "batch_size": 32, "backbone_settings": {"hidden": 8}, "device": "cpu", "seeds": [0, 4]}


def test_its_result_is_that_of_the_method_it_chose(tmp_path, short_trials):
    events: list = []
    result = train(featured_crowd(n_tasks=120), "auto", **RUN, on_event=events.append)
    chosen = result.settings["chosen"]
    direct = train(featured_crowd(n_tasks=120), "auto", **RUN, chosen=chosen)
    assert result.method == "auto" and result.notes[0].startswith("Chosen: ")
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


def test_without_gold_it_says_how_far_it_trusts_gaussian_classes(short_trials):
    result = train(featured_crowd(n_tasks=200, per_task=3), "auto", **RUN, select_on="none")
    assert "gaussian-em" in result.settings["chosen"]
    said = [note for note in result.notes if "of the pairs of labels of one task agree beyond" in note]
    assert len(said) == 1 and said[0].endswith("beforehand.") and "gaussian-em weighs " in said[0]


def test_the_mean_of_two_methods_predicts_new_tasks_as_it_did_its_own(tmp_path):
    crowd = featured_crowd(n_tasks=120)
    line, gold = "0.70 dl-em^0.5 + 0.30 gaussian-em rounds=3", {"select_on": "gold"}
    result = train(crowd, "auto", **RUN, **gold, chosen=line)
    parts = train(crowd, "dl-em", **RUN, **gold), train(crowd, "gaussian-em", **RUN, **gold, rounds=3)
    flat = np.sqrt(parts[0].probabilities["selected"])
    mean = 0.7 * flat / flat.sum(-1, keepdims=True) + 0.3 * parts[1].probabilities["selected"]
    np.testing.assert_allclose(result.probabilities["selected"], mean, atol=1e-6)
    assert result.settings["chosen"] == line
    assert result.curves.keys() == parts[0].curves.keys() and any("weighted mean of 2" in n for n in result.notes)
    loaded = load_result(result.save(tmp_path / "run"))
    features = np.asarray(crowd.features)[result.task]
    np.testing.assert_allclose(loaded.predict_proba(features), mean, atol=1e-5)


def test_classes_named_by_gold_keep_their_names_in_a_mean():
    crowd = featured_crowd(n_tasks=120)
    result = train(crowd, "auto", **RUN, select_on="gold", names="validation-gold", chosen="0.5 dl-em + 0.5 dl-mv")
    features = np.asarray(crowd.features)[result.task]
    np.testing.assert_allclose(result.predict_proba(features), result.probabilities["selected"], atol=1e-5)


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


def test_gold_names_classes_that_most_labels_misname(simple, short_trials):
    crowd = featured_crowd(n_tasks=200, per_task=2, accuracy=0.9)
    wrong = replace(crowd, label=np.array([1, 2, 0], crowd.label.dtype)[crowd.label])
    run = {**RUN, "epochs": 20, "lr": 0.05, "seeds": [0], "select_on": "gold"}
    result = train(wrong, "auto", **run)
    assert "names=validation-gold" in result.settings["chosen"]
    assert result.candidates["accuracy"].max() > 0.7
    assert any("names the classes" in note for note in result.notes)
    assert result.accuracy("test").min() > 0.7
    right = train(crowd, "auto", **run)
    assert "names=" not in right.settings["chosen"], "the labels name the classes as gold does"


def test_a_candidate_that_fails_is_left_out_and_said(simple, monkeypatch):
    def fail(*given):
        raise DataError("It cannot be")

    monkeypatch.setattr(DlEm, "__init__", fail)
    result = train(featured_crowd(), "auto", **RUN)
    assert [line.split()[0] for line in result.candidates["candidate"]] == ["dl-mv"]
    assert any(note.startswith("dl-em is no candidate") for note in result.notes)


def test_trials_end_where_one_candidate_is_left(simple, monkeypatch):
    monkeypatch.setattr(trials, "clearly_worse", lambda scores: [False, True][: len(scores)])
    events: list = []
    result = train(featured_crowd(), "auto", **RUN, select_on="gold", on_event=events.append)
    assert sum(isinstance(event, EpochEvent) for event in events) == 2 * (2 * 2 + 1), "two folds, and the chosen one"
    assert result.candidates[["candidate", "weight"]].to_numpy().tolist() == [["dl-em", 1], ["dl-mv", 0]]
    assert any(note.startswith("dl-mv was left out after 2 of 4 folds") for note in result.notes)


@pytest.mark.parametrize(
    ("select_on", "enough", "enough_gold", "folds"),
    [("gold", 500, 100, 4), ("gold", 18, 6, 2), ("gold", 18, 7, 3), ("none", 18, 100, 2)],
)
def test_trials_end_where_enough_tasks_are_predicted(simple, monkeypatch, select_on, enough, enough_gold, folds):
    """36 training tasks, and 12 validation tasks with gold."""
    monkeypatch.setattr(trials, "_ENOUGH", enough)
    monkeypatch.setattr(trials, "_ENOUGH_GOLD", enough_gold)
    told: list = []
    train(featured_crowd(), "auto", **RUN, select_on=select_on, on_event=told.append)
    notes = [event.message for event in told if isinstance(event, NoteEvent)]
    assert sum(note.startswith("Trial of") for note in notes) == 2 * folds


def test_trials_see_no_gold_where_it_does_not_validate():
    crowd = featured_crowd()
    for select_on, n_gold in (("gold", 9), ("none", 0)):
        problem = make_problem(crowd, TrainSettings(select_on=select_on))
        part = trials.Trials(problem, train, {}, print, lambda: False, None, 1.0)._without(0)
        assert (part.gold >= 0).sum() == n_gold


def test_a_stopped_run_goes_on_behind_its_finished_trials(simple, tmp_path):
    crowd, events, again = featured_crowd(), [], []
    whole = train(crowd, "auto", **RUN, on_event=events.append)
    run = {**RUN, "checkpoint": tmp_path, "checkpoint_every": 1}
    seen: list = []
    stopped = train(crowd, "auto", **run, on_event=seen.append, should_stop=lambda: len(seen) >= 11)
    assert stopped.notes[0].startswith("Stopped before all")
    assert stopped.last_epoch.tolist() == [1, 1]
    resumed = train(crowd, "auto", **run, on_event=again.append)
    trained = [sum(isinstance(event, EpochEvent) for event in told) for told in (events, seen, again)]
    assert trained[2] == trained[0] - (trained[1] - 1), "only the moment after the stop is trained again"
    np.testing.assert_array_equal(resumed.probabilities["selected"], whole.probabilities["selected"])
    assert resumed.candidates.equals(whole.candidates)


def test_too_few_tasks_for_trials():
    result = train(featured_crowd(n_tasks=8), "auto", **RUN, select_on="none")
    assert result.notes[0].startswith("There are too few")


def test_unlabelled_features_are_for_the_candidates_that_use_them(simple):
    own = methods.get("auto").Settings(unlabelled="validation")
    assert trials._line("gaussian-em", own) == "gaussian-em unlabelled=validation"
    assert trials._line("dl-em", own) == "dl-em"
