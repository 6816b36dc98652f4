"""The choice of a method, and the choices of auto."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.learning import load_result, methods, train, trials
from crowdcore.learning.choice import (
    Scores,
    choose,
    cluster_prior,
    label_agreement,
    label_likelihood,
    same_names,
    stacked,
)
from crowdcore.learning.methods.dl_em import DlEm
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.events import EpochEvent, NoteEvent
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd


def scores(accuracies: list[float], likelihoods: list[float], n_gold: int = 100, noise: float = 0.1) -> list[Scores]:
    rng = np.random.default_rng(2)
    ease, base = rng.random(n_gold), rng.normal(size=300)
    return [
        Scores(
            name,
            ease < a,
            np.log(np.where(ease < a, 0.9, 0.05)),
            base + mean + noise * rng.normal(size=300),
            np.arange(300) % 3,
        )
        for name, a, mean in zip("abc", accuracies, likelihoods, strict=False)
    ]


def test_gold_decides_first_and_then_the_likelihood_where_they_are_clear():
    clear = choose(scores([0.9, 0.5], [-2, -1]))
    assert (clear.chosen, clear.weight.tolist()) == (0, [1, 0])
    assert clear.share[0] > 0.99 and clear.left_aside[1].endswith("validation tasks with gold")
    close = choose(scores([0.9, 0.9, 0.4], [-2, -1, 0]))
    assert close.weight.tolist() == [0, 1, 0]
    assert close.left_aside[0].startswith("makes the labels")
    assert close.verdict.startswith("Chosen: b; ") and "a makes the labels" in close.verdict
    blind = choose(scores([0.9, 0.5], [-2, -1], n_gold=0))
    assert blind.chosen == 1 and blind.table[0]["accuracy"] is None
    assert "accuracy" not in blind.evidence and blind.doubt is None


def test_what_is_as_good_within_noise_is_averaged():
    race = choose(scores([0.5, 0.5, 0.5], [-1, -1.01, -3], n_gold=0, noise=0.5))
    assert race.share.sum() == pytest.approx(1) and 0.2 < race.share.max() < 0.95
    assert race.weight[2] == 0 and race.weight.sum() == pytest.approx(1)
    assert 0.3 < race.weight[0] < 0.7
    assert race.parts == sorted(race.parts, reverse=True) and len(race.parts) == 2
    assert race.verdict.startswith(f"Chosen: the mean of {race.parts[0].line} (")


def test_a_prior_has_its_part_of_the_weight_where_no_gold_is_known():
    one, other = scores([0.9, 0.9], [-1, -1], n_gold=0, noise=0.5)
    free, bound = (choose([replace(one, prior=prior), other]).weight for prior in (0.0, 0.5))
    np.testing.assert_allclose(bound, 0.5 * free + [0.5, 0])
    one_task_each = stacked(np.stack([one.likelihood, other.likelihood]), 2)
    np.testing.assert_allclose(free, one_task_each)
    clearly_worse = replace(one, prior=0.5, likelihood=other.likelihood - 1)
    assert choose([clearly_worse, other]).weight.tolist() == [0, 1]
    with_gold = [replace(s, right=np.ones(20, bool), gold=np.zeros(20)) for s in (one, other)]
    free, bound = (choose([replace(with_gold[0], prior=p), with_gold[1]]).weight for p in (0.0, 0.5))
    np.testing.assert_array_equal(bound, free)


def test_it_says_that_labels_do_not_tell_apart_what_names_many_tasks_differently():
    lead, other = scores([0.5, 0.5], [-1, -1.01], n_gold=0, noise=0.5)
    for n_moved, said in ((20, None), (60, "a and b disagree on 20 % of the training tasks, and the labels do not")):
        moved = np.where(np.arange(300) < n_moved, (other.predicted + 1) % 3, other.predicted)
        choice = choose([lead, replace(other, predicted=moved)])
        assert len(choice.parts) == 2
        assert choice.doubt is None if said is None else choice.doubt.startswith(said)
        alone = choose([replace(lead, prior=1.0), replace(other, predicted=moved)])
        assert len(alone.parts) == 1 and alone.doubt == choice.doubt
    with_gold = [replace(part, right=np.ones(20, bool), gold=np.zeros(20)) for part in (lead, other)]
    assert choose([with_gold[0], replace(with_gold[1], predicted=moved)]).doubt is None


@pytest.mark.parametrize("equal", [0, 50])
def test_the_weights_are_those_of_a_search(equal):
    log_likelihood = np.log(np.random.default_rng(3).dirichlet(np.ones(4), 2).T.repeat(50, 1)[:2] + 0.01)
    grid = np.linspace(0.0005, 0.9995, 1000)
    value = [np.log(w * np.exp(log_likelihood[0]) + (1 - w) * np.exp(log_likelihood[1])).sum() for w in grid]
    value += equal * (np.log(grid) + np.log(1 - grid)) / 2
    weight = stacked(log_likelihood, equal)
    assert weight.sum() == pytest.approx(1)
    assert weight[0] == pytest.approx(grid[np.argmax(value)], abs=0.02)


def test_a_candidate_that_would_add_next_to_nothing_is_not_trained():
    lead, other = scores([0.9, 0.9], [-1, -1], n_gold=0)
    lead = replace(lead, prior=0.92)
    choice = choose([lead, replace(other, likelihood=lead.likelihood)])
    assert choice.weight.tolist() == [1, 0] and "hardly change the mean" in choice.verdict


def test_clusters_that_are_no_classes_are_left_aside_unless_they_make_the_labels_clearly_likelier():
    likelier, other = scores([0.9, 0.8], [-1, -1.01], n_gold=0, noise=0.5)
    assert min(choose([likelier, other]).weight) > 0.3
    unlike = [replace(likelier, agreement=0.5), replace(other, agreement=0.7)]
    choice = choose(unlike)
    assert choice.weight.tolist() == [0, 1] and "its clusters" in choice.verdict and not choice.doubt
    clear = [replace(part, likelihood=part.likelihood + gain) for part, gain in zip(unlike, (1, 0), strict=True)]
    choice = choose(clear)
    assert choice.weight.tolist() == [1, 0]
    assert choice.doubt.startswith("b predicts 70 % of the labels and a only 50 %")
    assert "20 validation tasks" in choice.doubt
    with_gold = [replace(part, right=np.ones(20, bool), gold=np.zeros(20)) for part in clear]
    assert choose(with_gold).doubt is None


def test_methods_that_would_exchange_classes_are_not_averaged():
    lead, other = scores([0.9, 0.8], [-1, -1], n_gold=0)
    other = replace(other, likelihood=lead.likelihood + np.tile([0.5, -0.52], 150))
    assert same_names(lead.predicted, lead.predicted)
    exchanged = replace(other, predicted=np.array([1, 0, 2])[other.predicted])
    assert not same_names(lead.predicted, exchanged.predicted)
    choice = choose([lead, exchanged])
    assert choice.weight.tolist() == [1, 0]
    likelier = replace(exchanged, likelihood=exchanged.likelihood + 0.02)
    assert choose([lead, likelier]).weight.tolist() == [0, 1]
    believed = replace(lead, prior=0.5, agreement=0.6)
    assert choose([believed, replace(likelier, agreement=0.65)]).weight.tolist() == [1, 0], "the prior tells"
    assert choose([believed, replace(likelier, agreement=0.7)]).weight.tolist() == [0, 1], "it predicts too few labels"
    assert "exchange classes" in choice.doubt and "20 validation tasks" in choice.doubt


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
    likelihood, *_ = label_likelihood(each, task, worker, label, 2)
    np.testing.assert_allclose(likelihood, by_hand(each, task, worker, label, 2))


def test_probabilities_that_know_more_make_labels_likelier():
    crowd = featured_crowd(n_tasks=400, per_task=2)
    n, rng = int(crowd.task.max()) + 1, np.random.default_rng(1)
    truth = np.full((n, 3), 0.1) + 0.7 * np.eye(3)[crowd.gold[:n]]
    each = np.stack([truth, truth[rng.permutation(n)], np.full((n, 3), 1 / 3)])
    likelihood, powers, _ = label_likelihood(each, crowd.task, crowd.worker, crowd.label, crowd.n_workers)
    known, shuffled, nothing = likelihood.mean(1)
    assert powers[1] == min(TEMPERATURES) < powers[0]
    assert known > nothing + 0.1
    assert shuffled == pytest.approx(nothing, abs=0.02), "what says nothing of the labels is flattened"


def test_what_a_candidate_calls_its_classes_does_not_matter():
    crowd = featured_crowd(n_tasks=200, per_task=2)
    n, rng, names = int(crowd.task.max()) + 1, np.random.default_rng(4), np.array([2, 0, 1])
    p = 0.6 * np.eye(3)[crowd.gold[:n]] + 0.4 * rng.dirichlet(np.ones(3), n)
    each = np.stack([p, p[:, names]])
    (named, other), *_ = label_likelihood(each, crowd.task, crowd.worker, crowd.label, crowd.n_workers)
    np.testing.assert_allclose(named, other)
    predicted = [q.argmax(1)[crowd.task] for q in (p, p[:, names])]
    one, same = (label_agreement(q, crowd.label, 3) for q in predicted)
    assert one == same == (predicted[0] == crowd.label).mean()
    assert label_agreement(rng.permutation(predicted[0]), crowd.label, 3) < 0.7 * one


def test_gaussian_classes_are_trusted_the_more_the_more_mistakes_are_shared():
    rng, n = np.random.default_rng(5), 600
    gold, task = rng.integers(3, size=n), np.repeat(np.arange(n), 3)
    worker = np.tile(np.arange(3), n)
    p = np.full((1, n, 3), 0.1) + 0.7 * np.eye(3)[gold]
    slips, looks = rng.random(3 * n) < 0.3, np.repeat(rng.random(n) < 0.3, 3)
    probs = [
        label_likelihood(p, task, worker, np.where(wrong, (gold[task] + 1) % 3, gold[task]), 3).shared
        for wrong in (slips, looks)
    ]
    assert probs[0] < 0.05 and probs[1] > 0.5
    assert cluster_prior(0.0) == 0 and cluster_prior(0.05) == pytest.approx(0.5) and cluster_prior(probs[1]) == 0.9


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
    notes = [note for note in result.notes if "of the pairs of labels of one task agree beyond" in note]
    assert len(notes) == 1 and notes[0].endswith("beforehand.") and "gaussian-em weighs " in notes[0]


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
    fold_trials = trials.Trials(problem, train, {}, print, lambda: False, None, 1.0)
    folds = [fold_trials._without_fold(fold) for fold in range(trials.FOLDS)]
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


@pytest.mark.parametrize(
    ("select_on", "enough", "judged", "folds"),
    [("gold", 1, 37, 4), ("gold", 37, 18, 2), ("none", 19, 1, 3), ("none", 500, 18, 4)],
)
def test_trials_end_where_enough_tasks_are_predicted(simple, monkeypatch, select_on, enough, judged, folds):
    """36 training tasks, and 12 validation tasks with gold, which the first two folds judge."""
    monkeypatch.setattr(trials, "_ENOUGH", enough)
    monkeypatch.setattr(trials, "_ENOUGH_JUDGED", judged)
    events: list = []
    result = train(featured_crowd(), "auto", **RUN, select_on=select_on, on_event=events.append)
    notes = [event.message for event in events if isinstance(event, NoteEvent)]
    assert sum(note.startswith("Trial of") for note in notes) == 2 * folds
    assert any("accuracy on 12 validation tasks" in note for note in result.notes) == (select_on == "gold")


@pytest.mark.parametrize(("select_on", "tried"), [("gold", ["dl-em", "max-mig"]), ("none", ["dl-em"])])
def test_max_mig_is_a_candidate_where_gold_judges(monkeypatch, select_on, tried):
    monkeypatch.setattr(methods.get("auto"), "candidates", ("dl-em", "max-mig"))
    shares, choice = [], trials.Trials.choice
    monkeypatch.setattr(trials.Trials, "choice", lambda own, c: (shares.append(own.share), choice(own, c))[1])
    result = train(featured_crowd(), "auto", **RUN, select_on=select_on)
    work = 0.75 * trials.FOLDS * len(tried)
    assert shares == [work / (work + 2)], "of the whole run's progress"
    assert sorted(line.split()[0] for line in result.candidates["candidate"]) == tried


def test_trials_see_no_gold_where_it_does_not_validate():
    crowd = featured_crowd()
    for select_on, n_gold in (("gold", 6), ("none", 0)):
        problem = make_problem(crowd, TrainSettings(select_on=select_on))
        part = trials.Trials(problem, train, {}, print, lambda: False, None, 1.0)._without_fold(0)
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
