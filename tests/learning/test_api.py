"""`train` and the classifier: events, stopping, refusals in one sentence, scikit-learn's checks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from crowdcore import aggregation
from crowdcore.core.errors import CrowdError
from crowdcore.data.dataset import SimulatedTruth
from crowdcore.data.rows import Rows
from crowdcore.learning import CrowdClassifier, EpochEvent, NoteEvent, split_settings, train
from crowdcore.learning.methods import get
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import DivergedError
from crowdcore.learning.training.steps import Optimiser, Steps
from testkit.training import train_as
from tests.learning.helpers import featured_crowd


@pytest.fixture
def crowd():
    return featured_crowd()


def test_events_tell_how_it_goes(crowd):
    events = []
    train(crowd, "conal", seeds=2, epochs=3, on_event=events.append)
    notes = [e for e in events if isinstance(e, NoteEvent)]
    epochs = [e for e in events if isinstance(e, EpochEvent)]
    assert len(notes) == 1
    assert [e.epoch for e in epochs] == [0, 1, 2, 3], "the first stage is announced as epoch 0"
    assert [e.at for e in epochs][:2] == ["first stage, epoch 1 of 1", "epoch 1 of 3"]
    assert [e.done for e in epochs] == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1])
    assert epochs[0].metrics == {}
    last = epochs[-1]
    assert last.remaining == pytest.approx(0)
    assert last.method == "conal" and last.seeds == (0, 1) and last.epochs == 3
    assert {"loss", "cross_entropy", "distance", "valid_accuracy", "test_accuracy", "test_nll"} <= set(last.metrics)
    assert all(v.shape == (2,) for v in last.metrics.values())
    assert last.seconds > 0 and last.annotations_per_second > 0


def test_replicas_one_after_another_count_to_one(crowd):
    done = []
    train_as(
        crowd, "vanilla", seeds=2, epochs=2, stack="none", on_event=lambda e: done.append(getattr(e, "done", None))
    )
    assert done[1:] == pytest.approx([0.25, 0.5, 0.75, 1])


def test_stopping_leaves_what_there_is(crowd):
    seen = []
    result = train_as(
        crowd, "vanilla", seeds=3, epochs=9, stack="none", on_event=seen.append, should_stop=lambda: len(seen) > 12
    )
    assert result.seeds == (0, 1)
    assert result.last_epoch.tolist() == [9, 3]
    assert any("1 of 3 replicas" in note for note in result.notes)


def test_recovery_errors_are_followed_when_the_truth_is_known(crowd):
    true = np.tile(np.eye(3), (5, 1, 1))
    known = replace(crowd, truth=SimulatedTruth(worker_confusion=true, common_confusion=np.eye(3)))
    result = train_as(known, "conal", seeds=2, epochs=2, stack="all")
    for kind, found, truth in [
        ("worker", result.worker_confusion, true),
        ("common", result.common_confusion, np.eye(3)),
    ]:
        errors = ((found - truth) ** 2).sum(-1).reshape(2, -1).mean(1)
        at = result.curves[f"{kind}_recovery_error"][result.selected_epoch - 1, np.arange(2)]
        np.testing.assert_allclose(at, errors, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"method": "conall"}, "Did you mean 'conal"),
        ({"epochs": 0}, "`epochs` must be at least 1"),
        ({"nonsense": 1}, "`nonsense` must be a setting of the trainer or of 'conal'"),
        ({"seeds": 0}, "`seeds` must be"),
        ({"seeds": [1, 1]}, "`seeds` must be"),
        ({"backbone": "mpl"}, "Did you mean 'mlp'"),
        ({"backbone": "torch.nn:Nothing"}, "can be imported"),
        ({"backbone": "torch.nn:Linear", "backbone_settings": {"in_features": 6, "out_features": 2}}, r"\(2, 3\)"),
        ({"backbone": "builtins:dict"}, "torch.nn.Module"),
        ({"backbone": "vgg16"}, "takes images"),
        ({"augment": "affine"}, "inputs that are not images"),
        ({"device": "tpu"}, "`device` must be"),
        ({"device": "cuda:9"}, r"`device` must be an available device.*\d CUDA device"),
        ({"stack": "all", "backbone": "cnn"}, "`stack` must be"),
    ],
)
def test_bad_settings_are_sentences(crowd, settings, match):
    with pytest.raises(CrowdError, match=match):
        train_as(crowd, **{"method": "conal", "seeds": 1, "epochs": 1, **settings})


def test_divergence_is_told(crowd):
    with pytest.raises(DivergedError, match=r"loss.*4 became"):
        train(crowd, "vanilla", seeds=[4], epochs=5, optimizer="sgd", lr=1e30, backbone="linear")


def test_the_authors_variant_brings_its_training_along():
    training, settings = split_settings(get("conal"), {"variant": "authors"})
    assert (training.batch_size, training.lr) == (1024, 0.01)
    assert get("conal").begins_phase(settings, 1, 100)
    assert (settings.variant, settings.normalise, settings.noise_lr) == ("authors", "both", 1.0)
    assert split_settings(get("conal"), {"variant": "authors", "lr": 0.1})[0].lr == 0.1


def forget_beyond(monkeypatch, limit):
    """Make steps of more than ``limit`` tasks × replicas fail as if memory were full."""
    step = Steps._step

    def checked(self, index):
        if self.replicas.size * (index[0].shape[1] if index else self.feed.n) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return step(self, index)

    monkeypatch.setattr(Steps, "_step", checked)


def test_full_memory_first_splits_the_stack_then_the_batch(crowd, monkeypatch):
    plain = train_as(crowd, "vanilla", seeds=3, epochs=2, batch_size=16, stack="all")
    forget_beyond(monkeypatch, 33)
    halved = train_as(crowd, "vanilla", seeds=3, epochs=2, batch_size=16, stack="all")
    assert any("2 replicas" in note for note in halved.notes)
    np.testing.assert_allclose(plain.curves["loss"], halved.curves["loss"], rtol=1e-5)
    forget_beyond(monkeypatch, 8)
    smaller = train_as(crowd, "vanilla", seeds=3, epochs=2, batch_size=16, stack="all")
    assert any("batches of 8 tasks" in note for note in smaller.notes)
    assert smaller.training["batch_size"] == 8
    forget_beyond(monkeypatch, 0)
    with pytest.raises(CrowdError, match="enough"):
        train(crowd, "vanilla", seeds=1, epochs=1)


def test_the_learning_rate_follows_its_schedule():
    def rates(schedule):
        optimiser = Optimiser([torch.zeros(1, requires_grad=True)], TrainSettings(epochs=8, lr=1.0, schedule=schedule))
        out = []
        for epoch in range(8):
            optimiser.start_epoch(epoch)
            out.append(float(optimiser._inner.param_groups[0]["lr"]))
        return out

    assert rates("constant") == [1.0] * 8
    np.testing.assert_allclose(rates("cosine"), [(1 + np.cos(np.pi * e / 8)) / 2 for e in range(8)])
    np.testing.assert_allclose(rates("step"), [1] * 4 + [0.1] * 2 + [0.01] * 2)


def test_adam_is_torchs_and_restarting_forgets():
    for restart in (False, True):
        start = torch.randn(4)
        ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
        optimiser = Optimiser([ours], TrainSettings(lr=0.1))
        reference = torch.optim.Adam([theirs], lr=0.1)
        for epoch in range(3):
            optimiser.start_epoch(epoch)
            if restart:
                optimiser.forget()
                reference = torch.optim.Adam([theirs], lr=0.1)
            for p, o in ((ours, optimiser), (theirs, reference)):
                p.grad = (p.detach() - 1) ** 3
                o.step()
        torch.testing.assert_close(ours, theirs)


def test_deterministic_mode_is_undone_afterwards(crowd):
    train(crowd, "conal", seeds=1, epochs=1, deterministic=True)
    assert not torch.are_deterministic_algorithms_enabled()


def test_features_of_any_number_type(crowd):
    half = replace(crowd, features=Rows.from_array(np.asarray(crowd.features).astype(np.float64)))
    a, b = (train(c, "vanilla", seeds=1, epochs=1).probabilities["last"] for c in (crowd, half))
    np.testing.assert_allclose(a, b, atol=1e-6)
    words = replace(crowd, features=Rows.from_array(np.full((60, 2), "x")))
    with pytest.raises(CrowdError, match="Features"):
        train(words, "vanilla", seeds=1)


@pytest.fixture(scope="module")
def case():
    crowd = featured_crowd(n_tasks=120, splits=(1.0, 0.0), per_task=3)
    frame = pd.DataFrame({"task": crowd.task, "worker": crowd.worker + 10, "label": crowd.label})
    frame["label"] = frame["label"].map({0: "ant", 1: "bee", 2: "cat"})
    matrix = np.full((120, 5), None, object)
    matrix[frame.task, frame.worker - 10] = frame.label
    return np.asarray(crowd.features), frame, matrix, np.array(["ant", "bee", "cat"])[crowd.gold]


def classifier(**settings):
    return CrowdClassifier(**{"epochs": 20, "lr": 0.02, "device": "cpu", **settings})


def test_frame_and_matrix_give_the_same_classifier(case):
    X, frame, matrix, gold = case
    a, b = classifier().fit(X, frame.sample(frac=1, random_state=0)), classifier().fit(X, matrix)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-5)
    assert a.classes_.tolist() == ["ant", "bee", "cat"]
    assert a.workers_.tolist() == [10, 11, 12, 13, 14]
    assert a.n_features_in_ == 6
    assert a.score(X, gold) == np.mean(a.predict(X) == gold) > 0.75
    assert a.score(X, frame) == pytest.approx(np.mean(a.predict(X)[frame.task] == frame.label))
    assert a.score(X, matrix) == pytest.approx(a.score(X, frame))
    assert a.result_.worker_confusion.shape == (1, 5, 3, 3)


def test_parameters_clone_pipelines_and_cross_validation(case):
    X, _, matrix, gold = case
    model = classifier(method="trace", settings={"strength": 0.1})
    assert model.get_params()["settings"] == {"strength": 0.1}
    copy = clone(model).set_params(epochs=3)
    assert copy.epochs == 3 and model.epochs == 20
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert make_pipeline(StandardScaler(), classifier()).fit(X, matrix).score(X, gold) > 0.75
    assert cross_val_score(classifier(epochs=5), X, matrix, cv=KFold(3)).shape == (3,)


@pytest.mark.parametrize(("numbers", "missing"), [((3, 5, 9), -1), ((3, 5, 9), np.nan), ((0.2, 0.7, 1.0), np.nan)])
def test_numbers_are_classes_of_their_own(case, numbers, missing):
    X, frame, _, _ = case
    frame = frame.assign(label=frame.label.map(dict(zip(("ant", "bee", "cat"), numbers, strict=True))))
    matrix = np.full((120, 5), missing)
    matrix[frame.task, frame.worker - 10] = frame.label
    for y in (frame, matrix):
        assert classifier(epochs=1).fit(X, y).classes_.tolist() == list(numbers)


def test_refusals(case):
    X, frame, matrix, _ = case
    for bad_x, bad_y, match in [
        (X, frame.assign(task=frame.task + 1), "name task 120, but X has 120 rows"),
        (X, frame.drop(columns="worker"), "lack the column"),
        (X, frame.assign(task=frame.task + 0.5), r"is no row of X \(row 1, column 'task'\)"),
        (X, frame.assign(label=frame.label.where(frame.index != 4)), r"1 of 360 .* no label \(row 5, column 'label'\)"),
        (X[:50], matrix, "one row for each of 50 tasks"),
        (X[:, 0], frame, "one row per task"),
        (X, np.full((120, 5), -1), "no annotations"),
        (np.full_like(X, np.nan), frame, "NaN"),
    ]:
        with pytest.raises(CrowdError, match=match):
            classifier().fit(bad_x, bad_y)


OTHERWISE = {
    "check_classifiers_regression_target": "labels that are fractions are classes of their own",
    "check_supervised_y_2d": "a matrix of labels has a column for each worker",
    "check_fit2d_1sample": "one task has one class, which is refused in another sentence",
    "check_requires_y_none": "it is refused in another sentence",
}
"""Checks of scikit-learn that fail here, and why."""


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [classifier(method="dl-mv", epochs=30, batch_size=16)], expected_failed_checks=lambda estimator: OTHERWISE
)
def test_scikit_learn_takes_it_for_a_classifier(estimator, check):
    with suppress(SkipTest):  # arrays of other libraries, which must be asked for before SciPy is imported
        check(estimator)


def test_aggregators_have_parameters_and_are_cloned():
    for model in map(aggregation.get, aggregation.names()):
        copy = clone(model)
        assert copy == model and copy is not model
        for setting, value in model.get_params().items():
            assert clone(model).set_params(**{setting: value}) == model
        with pytest.raises(CrowdError, match="no_such"):
            copy.set_params(no_such=1)
        assert copy == model
    model = aggregation.DawidSkene(smoothing=0.5)
    assert clone(model).set_params(smoothing=0.2).smoothing == 0.2
    assert model.smoothing == 0.5
