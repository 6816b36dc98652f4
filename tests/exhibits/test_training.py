"""Curves, searches, planted crowds and label differences as exhibits; what methods tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.data import simulate
from crowdcore.exhibits import comparison, differences, planted
from crowdcore.exhibits.comparison import candidates
from crowdcore.exhibits.planted import matrices, study_errors
from crowdcore.learning.recovery.plan import RecoveryPlan, plant
from crowdcore.learning.recovery.study import assembled, bounds, judge, spelled
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


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(200)


def test_candidates_of_a_method_that_chooses(crowd):
    tried = [
        {"candidate": "dl-em", "accuracy": None, "likelihood": -1.5, "weight": 0.8, "chosen_in": 0.75},
        {"candidate": "conal", "accuracy": None, "likelihood": -2.0, "weight": 0.2, "chosen_in": 0.25},
    ]
    results = {"auto": replace(made_up(crowd, "dl-em"), tried=tuple(tried)), "trace": made_up(crowd, "trace")}
    table = candidates(results).table
    assert table["likeliest in %"].tolist() == [75, 25]
    assert table["weight in the mean"].tolist() == [0.8, 0.2]
    assert table["candidate"].tolist() == ["dl-em", "conal"]
    assert "validation %" not in table, "no gold validated"
    assert candidates({"trace": results["trace"]}) is None


def test_a_result_that_an_earlier_version_wrote_has_no_weights(crowd):
    tried = ({"candidate": "dl-em", "accuracy": 0.9, "likelihood": -1.5, "chosen_in": 1.0},)
    table = candidates({"auto": replace(made_up(crowd, "dl-em"), tried=tried)}).table
    assert "weight in the mean" not in table


SMALL = {"n_tasks": 120, "n_valid": 20, "n_test": 20, "n_workers": 4, "n_classes": 3}


def made_up_table(**over):
    plan = RecoveryPlan(settings=SMALL, over=over)
    rows = []
    for point in plan.points():
        crowd, head = plant(plan, point), {**spelled(point.varied), "crowd": 0}
        rows.append(bounds(crowd).assign(**head))
        rows += [
            judge(made_up(crowd, method), crowd).assign(method=f"<b>{method}", seconds=1.0, **head)
            for method in ("conal", "crowd-layer")
        ]
    return assembled(rows, list(spelled(plan.over)))


METHODS = {"<b>conal": "conal", "<b>crowd-layer": "crowd-layer"}


def test_one_crowd_is_drawn_method_by_method() -> None:
    shown = study_errors(made_up_table(), [], METHODS)
    assert [axis for axis in shown.figure.layout.to_plotly_json() if axis.startswith("xaxis")] == [
        "xaxis", "xaxis2", "xaxis3", "xaxis4",
    ]  # fmt: skip
    assert shown.figure.layout.yaxis.ticktext == ("&lt;b&gt;conal", "&lt;b&gt;crowd-layer")
    assert shown.table["method"].tolist() == ["<b>conal", "<b>crowd-layer", "identity", "counted with gold"]


@pytest.mark.parametrize(
    ("over", "x", "heads"),
    [
        ({"common_strength": [0.2, 0.6]}, "common strength", 0),
        ({"common_strength": [0.2, 0.6], "pattern": ["asymmetric", "symmetric"]}, "common strength", 2),
        ({"pattern": ["asymmetric", "symmetric"]}, "pattern", 0),
        ({"pattern": ["asymmetric", "symmetric"], "per_task": [2, 3], "proportion": [0.2, 0.5]}, "proportion", 4),
    ],
)
def test_what_varies_becomes_the_axis(over: dict, x: str, heads: int) -> None:
    shown = study_errors(made_up_table(**over), [name.replace("_", " ") for name in over], METHODS)
    titles = {axis.title.text for axis in shown.figure.select_xaxes()} - {None}
    assert titles == {x}
    assert len(shown.figure.layout.annotations) == heads
    assert len(shown.table) == 4 * np.prod([len(v) for v in over.values()])


def test_matrices_stand_beside_the_planted_one_with_their_error() -> None:
    truth = np.array([[0.8, 0.2], [0.4, 0.6]])
    off = np.array([[0.1, -0.1], [0, 0]])
    learnt = np.stack([truth + off, truth - off])
    shown = matrices("Common confusion", truth, {"conal": learnt}, ["a", "b"])
    assert shown.table["conal"].tolist() == pytest.approx(truth.ravel().tolist())
    assert any("error 0.010" in a.text for a in shown.figure.layout.annotations)
    assert shown.table[["true", "given"]].to_numpy().tolist() == [["a", "a"], ["a", "b"], ["b", "a"], ["b", "b"]]
