"""The page Sandbox on ratings and on tags: what is planted, which aggregators recover it, and training on it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore import exhibits
from crowdcore.data import simulate, write_folder
from crowdcore.learning import tagged_spans, train_ratings
from crowdcore.learning.recovery.plan import usual_settings
from dashboard.services import opening, sandbox
from testkit.recorded_runs import record
from tests.dashboard.app_page import button, field, open_page, table, words
from tests.rated_crowd import rated_folder

RATINGS = "ratings n_tasks=200 n_valid=20 n_test=30 n_workers=8"
SPANS = "spans n_sentences=60 n_workers=4"

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def test_ratings_are_planted_on_a_dataset_of_ratings_and_recovered_at_once(workspace: Path) -> None:
    rated_folder(Path(os.environ["CROWDCORE_DATA"]) / "rated")
    assert field(open_page("sandbox", dataset="rated"), "Simulator").value == "ratings"
    test = open_page("sandbox", dataset="rated", crowd=RATINGS)
    assert not test.exception and not test.error
    crowd = simulate.ratings(n_tasks=200, n_valid=20, n_test=30, n_workers=8)
    assert {m.label: m.value for m in test.metric}["Ratings"] == f"{crowd.n_annotations:,}"
    expected = exhibits.planted.rating_recovery(crowd).table
    shown = table(test, "own bias error").set_index("method")
    assert shown["bias error"].tolist() == pytest.approx(expected["bias error"].tolist())
    field(test, "As recovered by").set_value("mean").run()
    assert test.query_params["by"] in ("mean", ["mean"])
    assert table(test, "errs like").iloc[-1]["errs like"] == "w1"
    button(test, "Plant 1 crowd").click().run()
    name = "".join(test.query_params["planted"])
    kept = cc.read_ratings(workspace / "datasets" / name)
    assert kept.fingerprint == crowd.fingerprint
    assert kept.truth is not None and kept.truth.worker_role == crowd.truth.worker_role
    assert field(test, "Methods").value == ["crowd-layer"]
    assert button(test, "Start 1 run")


def test_runs_on_planted_ratings_are_compared_by_their_errors(workspace: Path) -> None:
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", RATINGS, [], "", 1))
    folder = workspace / "datasets" / name
    crowd = cc.read_ratings(folder)
    result = train_ratings(crowd, "dl-mean", seeds=1, epochs=1, device="cpu")
    record(workspace, replace(result, dataset=str(folder.resolve())), crowd)
    test = open_page("sandbox", dataset="crowd", crowd=RATINGS, planted=name)
    assert not test.exception and "Who recovered what" in words(test)
    assert table(test, "RMSE")["run"].tolist() == ["dl-mean"] * 3
    found = sandbox.errors([name])
    assert found is not None and found.table["RMSE"].iloc[0] == pytest.approx(result.score("rmse").mean())


def test_a_dataset_of_ratings_has_no_classes_to_plant_on() -> None:
    rated_folder(Path(os.environ["CROWDCORE_DATA"]) / "rated")
    test = open_page("sandbox", dataset="rated", crowd="conal")
    assert not test.exception and "rated has ratings" in words(test)
    assert field(test, "Simulator").value == "ratings"


def test_spans_are_planted_and_aggregators_of_sequences_recover_their_errors() -> None:
    write_folder(simulate.tags(n_sentences=20, n_workers=4), Path(os.environ["CROWDCORE_DATA"]) / "tagged")
    test = open_page("sandbox", dataset="tagged", crowd=SPANS, whose="w2")
    assert not test.exception and not test.error
    assert field(test, "Simulator").value == "spans" and field(test, "Tags of").value == "w2"
    seen = exhibits.view(simulate.spans(n_sentences=60, n_workers=4))
    shown = table(test, "missed error")
    expected = exhibits.planted.tag_recovery(seen).table
    assert shown["method"].tolist() == expected["method"].tolist()
    assert shown["missed error"].tolist() == pytest.approx(expected["missed error"].tolist())
    assert table(test, "missed %")["role"].tolist() == ["", "", "", "misses spans"]


def test_runs_on_planted_tags_are_compared_by_the_spans_that_they_find(workspace: Path) -> None:
    line = "spans n_sentences=40 n_valid=8 n_test=8 n_workers=4"
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", line, [], "", 1))
    folder = workspace / "datasets" / name
    crowd = cc.read_dataset(folder)
    result = cc.learning.train(crowd, "crowd-layer", seeds=1, epochs=1, device="cpu")
    record(workspace, replace(result, dataset=str(folder.resolve())), crowd)
    test = open_page("sandbox", dataset="crowd", crowd=line, planted=name)
    assert not test.exception and "Who recovered what" in words(test)
    found = tagged_spans(crowd, result)["f1"].tolist()
    shown = table(test, "own error").set_index("method")
    assert shown["F1 of spans"].dropna().tolist() == pytest.approx(found) and "accuracy" not in shown


def test_planted_tags_are_trained_on_with_settings_that_end_soon() -> None:
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", SPANS, [], "", 1))
    assert usual_settings(opening.labelled(name)) == "seeds=1 epochs=20 lr=0.005 schedule=cosine"


def test_crowds_of_several_kinds_are_not_trained_on_together() -> None:
    names = [sandbox.plant("crowd", sandbox.plan("crowd", line, [], "", 1))[0] for line in (RATINGS, SPANS)]
    test = open_page("sandbox", dataset="crowd", crowd=SPANS, planted=names)
    assert not test.exception
    assert "same kind of" in words(test)
