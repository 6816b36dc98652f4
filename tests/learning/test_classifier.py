"""`CrowdClassifier` behaves as scikit-learn's estimators do."""

from __future__ import annotations

from contextlib import suppress
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from crowdcore import aggregation
from crowdcore.core.errors import CrowdError
from crowdcore.learning import CrowdClassifier
from tests.learning.helpers import featured_crowd


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


def test_integer_labels_with_minus_one_for_missing(case):
    X, frame, _, _ = case
    codes = frame.label.map({"ant": 3, "bee": 5, "cat": 9})
    dense = np.full((120, 5), -1)
    dense[frame.task, frame.worker - 10] = codes
    floating = np.where(dense < 0, np.nan, dense.astype(float))
    for y in (dense, floating):
        assert classifier(epochs=1).fit(X, y).classes_.tolist() == [3, 5, 9]


def test_fractional_labels_are_classes_of_their_own(case):
    X, frame, _, _ = case
    shares = frame.assign(label=frame.label.map({"ant": 0.2, "bee": 0.7, "cat": 1.0}))
    matrix = np.full((120, 5), np.nan)
    matrix[shares.task, shares.worker - 10] = shares.label
    for y in (shares, matrix):
        assert classifier(epochs=1).fit(X, y).classes_.tolist() == [0.2, 0.7, 1.0]


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
"""What scikit-learn checks and is otherwise here, and why."""


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [classifier(method="dl-mv", epochs=30, batch_size=16)], expected_failed_checks=lambda estimator: OTHERWISE
)
def test_scikit_learn_takes_it_for_a_classifier(estimator, check):
    with suppress(SkipTest):  # arrays of other libraries, which must be asked for before SciPy is imported
        check(estimator)


@pytest.mark.parametrize("name", aggregation.names())
def test_aggregators_have_parameters_and_are_cloned(name):
    model = aggregation.get(name)
    copy = clone(model)
    assert copy == model and copy is not model
    for setting, value in model.get_params().items():
        assert clone(model).set_params(**{setting: value}) == model
    with pytest.raises(CrowdError, match="no_such"):
        copy.set_params(no_such=1)
    assert copy == model


def test_settings_of_a_clone_are_its_own():
    model = aggregation.DawidSkene(smoothing=0.5)
    assert clone(model).set_params(smoothing=0.2).smoothing == 0.2
    assert model.smoothing == 0.5
