"""The pages Compare and Report in-process: their numbers are the results', nothing of other data is mixed in."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.exhibits import comparison as exhibits
from crowdcore.exhibits.differences import prediction_disagreement
from crowdcore.figures import paper
from crowdcore.learning.comparison import summary as comparison
from crowdcore.runs import Workspace, delete, rename
from crowdcore.runs.artefacts import keep_result
from crowdcore.runs.report import PARTS, to_html
from dashboard.services import compare, datasets, report
from dashboard.services.runs import result as result_of
from testkit.recorded_runs import record
from tests.dashboard.app_page import table, words
from tests.dashboard.compared_runs import METHODS, Recorded, page
from tests.learning.made_up import made_up


def test_the_accuracy_table_holds_the_numbers_of_compare_on_the_command_line(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS))
    frame = table(test, "selected %").set_index("run")
    assert list(frame.index) == [f"{m}{kind}" for m in METHODS for kind in ("", ", ensemble")]
    for name, result in ((m, recorded.results[m]) for m in METHODS):
        row = comparison.row(result)  # what `crowdcore compare --json` prints
        for head, at in (("selected", "selected"), ("last", "last"), ("best, optimistic", "best")):
            assert frame.loc[name, f"{head} %"] == pytest.approx(100 * row[f"{at}_mean"])
            assert frame.loc[name, f"{head} ±"] == pytest.approx(100 * row[f"{at}_std"])
            if at != "best":
                assert frame.loc[f"{name}, ensemble", f"{head} %"] == pytest.approx(100 * row[f"ensemble_{at}"])
    assert set(frame["selected by"]) == {"gold of the valid split"}
    assert set(frame["names"]) == {"as trained"}
    assert "optimistic" in words(test)
    cost = table(test, "annotations/s")
    assert cost["seconds"].tolist() == [3.5] * 3


def test_the_epoch_is_chosen_for_what_rests_on_one(recorded: Recorded) -> None:
    runs = tuple(recorded.of(*METHODS))
    scores = table(page(runs=list(runs), at="last"), "macro F1 %").set_index("run")
    shown = [100 * recorded.results[m].scores("test", "last")["accuracy"].mean() for m in METHODS]
    assert scores.loc[list(METHODS), "accuracy %"].tolist() == pytest.approx(shown)
    spread = [100 * recorded.results[m].scores("test", "last")["accuracy"].std() for m in METHODS]
    assert scores.loc[list(METHODS), "accuracy ±"].tolist() == pytest.approx(spread)
    assert "best test epoch" in words(page(runs=list(runs), at="best"))


def test_runs_on_other_data_cannot_be_chosen(recorded: Recorded) -> None:
    test = page(runs=recorded.of("conal", "gone", "conal 0.4"))
    assert table(test, "selected %")["run"].tolist() == ["conal", "conal, ensemble"]
    assert "2 chosen runs" in words(test)
    others = 1 + sum(map(len, recorded.strengths.values()))  # on other gold, and on other crowds
    assert len(test.multiselect[0].options) == len(recorded.ids) - others


def test_a_second_run_of_a_method_is_named_by_what_differs(recorded: Recorded) -> None:
    runs = recorded.of("conal", "λ")
    assert table(page(runs=runs), "selected %")["run"].tolist()[::2] == [
        "conal, regularisation 1e-05",
        "conal, regularisation 0.5",
    ]


@pytest.mark.parametrize("view", ["Significance", "Selection", "Curves", "Calibration", "Differences", "Sweeps"])
def test_every_tab_draws_and_its_address_opens_it(recorded: Recorded, view: str) -> None:
    test = page(runs=recorded.of("conal", "crowd-layer"), view=view)
    assert test.query_params["view"] == view
    assert "Recovery" not in [tab.label for tab in test.tabs]


def test_names_that_somebody_gave_runs_stand_in_every_table_and_figure(recorded: Recorded) -> None:
    runs = recorded.of("conal", "crowd-layer")
    place = Workspace.open(recorded.workspace)
    rename(runs[0], "best <b>so far", workspace=place)
    try:
        test = page(runs=runs)
        assert table(test, "selected %")["run"].iloc[0] == "best <b>so far"
        assert "best &lt;b&gt;so far" in "".join(chart.proto.spec for chart in test.get("plotly_chart"))
    finally:
        rename(runs[0], "", workspace=place)


def test_several_curves_stand_side_by_side(recorded: Recorded) -> None:
    runs = recorded.of("conal", "crowd-layer")
    test = page(runs=runs, view="Curves", metric=["loss", "valid_accuracy"], smooth="3", axes=["log_values"])
    assert test.multiselect(key="compare-metric").value == ["loss", "valid_accuracy"]
    drawn = [json.loads(chart.proto.spec)["layout"] for chart in test.get("plotly_chart")]
    titles = [layout["meta"][0] for layout in drawn if "meta" in layout]
    assert titles == ["Loss", "Accuracy, validation"]
    assert [layout["yaxis"]["type"] for layout in drawn if "meta" in layout] == ["log", "log"]
    assert all("mean of 3 epochs" in layout["meta"][1] for layout in drawn if "meta" in layout)
    test.multiselect(key="compare-metric").set_value(["test_accuracy"]).run()
    assert "test_accuracy" in test.query_params["metric"]


def test_differences_lead_to_the_tasks(recorded: Recorded) -> None:
    pair = {"first": "conal", "second": "crowd-layer"}
    test = page(runs=recorded.of(*METHODS), view="Differences", split="test", **pair)
    mean = [recorded.results[m].probabilities["selected"].mean(0).argmax(1) for m in pair.values()]
    inside = recorded.crowd.split == 2
    unlike = np.flatnonzero(inside & (mean[0] != mean[1]))
    assert f"**{len(unlike)} tasks** of {inside.sum()}" in words(test)
    right = int((mean[0] == recorded.crowd.gold)[unlike].sum())
    assert f"right on {right} of them" in words(test)
    assert sorted(table(test, "first_probability")["task"]) == sorted(recorded.crowd.task_ids[unlike])
    everything = prediction_disagreement({m: recorded.results[m] for m in METHODS}, recorded.crowd, "all")
    assert everything.compared[0, 1] == recorded.crowd.n_tasks


def test_a_sweep_along_a_setting_needs_one_that_varies(recorded: Recorded) -> None:
    assert "Nothing varies" in words(page(runs=recorded.of(*METHODS), view="Sweeps"))


def test_a_sweep_over_simulated_crowds_takes_other_datasets_when_asked(recorded: Recorded) -> None:
    alone = page(dataset="strength-0.4", view="Sweeps")
    assert "Nothing varies" in words(alone)
    assert alone.multiselect[1].options == ["crowd (2 runs)", "strength-0.8 (2 runs)"]
    test = page(dataset="strength-0.4", view="Sweeps", crowds=["strength-0.8"])
    assert "4 runs of 2 datasets" in words(test)
    frame = table(test, "common strength").set_index(["run", "common strength"])
    for name, results in recorded.strengths.items():
        for method, result in results.items():
            found = frame.loc[(method, float(name.removeprefix("strength-")))]
            assert found["accuracy mean"] == pytest.approx(100 * result.accuracy("test").mean())
            assert found["accuracy std"] == pytest.approx(100 * result.accuracy("test").std(ddof=1))


def test_recovery_on_a_simulated_crowd(recorded: Recorded) -> None:
    test = page(dataset="strength-0.8", view="Recovery")
    opened = cc.load_dataset("strength-0.8")
    frame = table(test, "individual recovery error").set_index("run")
    assert "skill correlation" in words(test)  # all workers are equally good
    for method, result in recorded.strengths["strength-0.8"].items():
        expected = comparison.recovery(result, opened)["individual recovery error"]
        assert frame.loc[method, "individual recovery error"] == pytest.approx(expected.mean())
    box = next(b for b in test.selectbox if b.label == "Confusion")
    assert (box.value, len(box.options)) == ("Common", 6)
    box.select(box.options[3]).run()
    assert not test.exception
    assert test.query_params["worker"] == box.options[3]
    hidden = page(dataset="strength-0.8", view="Recovery", names="hidden")
    assert "worker 1" in next(b for b in hidden.selectbox if b.label == "Confusion").options


def test_without_runs_the_page_says_what_to_do(recorded: Recorded) -> None:
    test = page(dataset="demo")
    assert "trained on demo yet" in words(test)
    assert not test.tabs


def test_the_report_page_says_what_it_holds_and_how_to_make_it_elsewhere(recorded: Recorded) -> None:
    runs = recorded.of("conal", "crowd-layer")
    test = page("report", runs=runs)
    listed = [name for name in PARTS if name != "recovery"]
    assert test.pills[0].value == listed
    command = f"crowdcore report crowd --run {runs[0]} --run {runs[1]} --reference gold --accept --out report"
    assert command in words(test)
    part = page("report", runs=runs, parts=["accuracy", "omega"], names="shown")
    assert "--part accuracy --part omega --reference gold --names" in words(part)
    assert "Nothing has been trained" in words(page("report", dataset="demo"))


def test_the_downloads_are_the_report(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = report.Archiving()
    told = []

    def draw(figures, on_progress):
        for file in figures:
            file.write_text("<svg>")
        assert folder.remaining is None
        on_progress(0.25, "the second of four")
        told.append((folder.share, folder.words))
        assert folder.remaining is not None

    monkeypatch.setattr(paper, "draw", draw)
    asked = ("crowd", tuple(recorded.of(*METHODS)), ("accuracy", "overview"), "majority-vote", False)
    text = to_html(report.report(*asked))
    assert "worker 1" in text
    assert "w001" not in text
    with zipfile.ZipFile(io.BytesIO(folder.make(*asked))) as archive:
        facts = json.loads(archive.read("report.json"))
        assert archive.read("report.html").decode() == text
    assert told == [(0.25, "Drawing the second of four")]
    assert folder.made and not folder.making
    assert facts["reference"] == "majority-vote"
    assert [run["command"] for run in facts["runs"]] == [
        f"crowdcore train crowd --method {m} --seeds 3 --device cpu --accept" for m in METHODS
    ]
    assert facts["command"].endswith("--part accuracy --part overview --reference majority-vote --accept --out report")


def test_a_report_calls_runs_what_people_call_them_as_the_same_command_does(recorded: Recorded) -> None:
    asked = ("crowd", tuple(recorded.of("conal", "dl-mv")), ("accuracy",), "gold", False)
    before = [run["name"] for run in report.report(*asked).runs]
    try:
        rename(recorded.ids["conal"], "the winner")
        assert [run["name"] for run in report.report(*asked).runs] == ["the winner", "dl-mv"] != before
    finally:
        rename(recorded.ids["conal"], "")


def test_a_run_that_went_on_is_shown_with_what_it_came_to(recorded: Recorded) -> None:
    before, after = (made_up(recorded.crowd, "trace", draw=draw) for draw in (1, 2))
    run = record(recorded.workspace, before, recorded.crowd)
    reference = f"run:{run}"

    def looked_up():
        scores = compare.shown(exhibits.scores, "crowd", (run,), "selected")
        return result_of(run), scores, datasets.reference("crowd", reference)

    shown = looked_up()
    place = Workspace.open(recorded.workspace)
    keep_result(run, after, recorded.crowd, place)
    log = place.run_folder(run) / "log.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("Finished.\n")
    now = looked_up()
    assert np.array_equal(now[0].accuracy(), after.accuracy())
    assert now[1].table.equals(exhibits.scores({now[1].table["run"][0]: after}).table)
    assert not now[1].table.equals(shown[1].table)
    assert np.array_equal(now[2].posterior, after.mean_posterior(recorded.crowd.n_tasks), equal_nan=True)
    delete([run], workspace=place)
