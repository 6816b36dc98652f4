"""Curves, searches, planted crowds and label differences as exhibits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.data import simulate
from crowdcore.exhibits import comparison, differences, planted
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


def test_curves_of_runs_that_go_on() -> None:
    curve = pd.DataFrame({"epoch": [2, 1], "mean": [0.6, 0.5], "std": [0.1, np.nan]})
    runs = [comparison.Measured(f"<b>{method}", method, curve, 2) for method in ("conal", "trace")]
    shown = comparison.training_curves(runs, "test_accuracy", axes=("log_epochs",), until=40)
    assert shown.figure.layout.xaxis.type == "log"
    assert shown.alt == "Accuracy, test by epoch, one curve per run"
    assert {trace.name for trace in shown.figure.data if trace.name} >= {"&lt;b&gt;conal", "&lt;b&gt;trace"}
    assert set(shown.table["run"]) == {"<b>conal", "<b>trace"}


def test_a_search_without_importances_has_no_figure_of_them() -> None:
    assert comparison.search_importance({}, "conal") is None
    shown = comparison.search_importance({"lr": 0.75, "embedding": 0.25}, "conal")
    assert shown.table.to_numpy().tolist() == [["lr", 0.75], ["embedding", 0.25]]


@pytest.mark.parametrize(("n_classes", "matrices"), [(3, 3), (8, 2)])
def test_a_planted_crowd_shows_what_generated_its_labels(n_classes: int, matrices: int) -> None:
    crowd = simulate.synthetic(n_tasks=200, n_valid=20, n_test=20, n_workers=4, n_classes=n_classes)
    shown = planted.planted_crowd(crowd)
    assert shown.notes[0] == analysis.planted(crowd).sentence
    assert len(shown.figure.layout.annotations) >= matrices
    assert list(planted.matrix_kinds(crowd)) == ["common", "effective", "own"]
    assert planted.matrix_kinds(replace(crowd, truth=None)) == {}
    assert planted.planted_and_learnt(crowd, {}, "common") is None


def test_tasks_on_which_results_differ() -> None:
    crowd = featured_crowd(200)
    results = {"<b>one": made_up(crowd, "conal"), "other": made_up(crowd, "trace", draw=1)}
    shown = differences.prediction_differences(results, crowd, "test")
    assert "&lt;b&gt;one" in str(shown.figure.to_plotly_json())
    pair = differences.differing_predictions(results, crowd, "<b>one", "other", "test")
    of = shown.table.query("first == '<b>one' and second == 'other'")
    assert len(pair.table) == of["differ"].item()
    assert shown.click(1, 2) == {"first": "<b>one", "second": "other"}
    against = differences.differing_predictions(results, crowd, "gold", "other", "test").table
    assert "first_probability" not in against and "gold" not in against
