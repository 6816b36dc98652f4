"""Pages of labels that are numbers: Ratings, Train, Runs, Compare, Report; others say what applies instead."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from crowdcore import runs
from crowdcore.data import read_ratings
from crowdcore.learning import RatingsResult, learners, train_ratings
from crowdcore.runs.report import to_html
from crowdcore.runs.searching import searchable
from dashboard.components.table import formats
from dashboard.services import report, train
from testkit.recorded_runs import record
from tests.dashboard.app_page import button, open_page, table, words
from tests.dashboard.test_any_two import turn_any_two
from tests.rated_crowd import rated_crowd, rated_folder

FAST = {"epochs": 1, "backbone_settings": {"hidden": 8}}


@pytest.fixture
def rated(trainable_crowd: None) -> Path:
    """Ratings beside the crowd of `trainable_crowd`."""
    return rated_folder(Path(os.environ["CROWDCORE_DATA"]) / "rated")


@pytest.fixture
def learnt(rated: Path, workspace: Path) -> dict[str, RatingsResult]:
    """Id -> result of two finished runs."""
    crowd = read_ratings(rated)
    results = {}
    for method, own in (("dl-mean", {}), ("crowd-layer", {"connection": "b", "lr": 0.002})):
        result = train_ratings(crowd, method, seeds=2, device="cpu", **FAST, **own)
        results[record(workspace, result, crowd, **own)] = result
    return results


@pytest.mark.usefixtures("rated")
def test_the_form_asks_for_methods_of_ratings_and_starts_them() -> None:
    test = open_page("train", dataset="rated", methods=["crowd-layer connection=s+b", "dl-mean"])
    assert not test.error
    assert "120 tasks" in words(test) and "480 ratings from -2 to 3" in words(test)
    assert set(learners.learners("ratings")) == {"crowd-layer", "dl-em", "dl-mean", "dl-true", "doctor-net", "wdn"}
    button(test, "Start 2 runs").click().run()
    assert not test.exception and not test.error
    started = {run.spec.method: run.spec for run in runs.list_runs("rated")}
    assert started["crowd-layer"].settings == {"connection": "s+b"} and started["dl-mean"].settings == {}
    again = train.draft_of("rated", started["crowd-layer"])
    assert learners.read_method(again["methods"][0], "ratings") == ("crowd-layer", {"connection": "s+b"})


@pytest.mark.usefixtures("rated")
def test_a_search_goes_by_the_rmse_of_validation() -> None:
    test = open_page("train", dataset="rated", view="Search settings", methods=["dl-em"])
    assert not test.error
    assert "Judged by validation RMSE" in words(test)
    space = searchable("dl-em", "ratings")
    assert not {"names", "augment"} & set(space), "which ratings refuse"
    assert space["strength"] == runs.Range(low=0.5, high=50.0, log=True), "not the range of another strength"
    draft = {**train.read_draft("rated", ""), "seeds": "1", "methods": ["dl-em"]}
    started = train.start_search("rated", draft, {"lr": runs.Choice(values=(0.1, 0.2))}, 2, "grid")
    search = runs.get_run(started)
    assert search.spec.search is not None and search.spec.search.score == "valid_rmse"


def test_runs_and_compare_tell_errors_instead_of_accuracies(learnt: dict[str, RatingsResult]) -> None:
    mean, layer = learnt
    board = open_page("train", dataset="rated", runs=[layer])
    assert not board.error
    reached = learnt[layer].score("rmse")
    assert f"test RMSE: {reached.mean():.4f} ± {reached.std(ddof=1):.4f} (selected epoch)" in words(board)
    listed = table(open_page("train", dataset="rated"), "rmse")
    assert sorted(listed["rmse"]) == sorted(result.score("rmse").mean() for result in learnt.values())
    assert "test_selected" not in listed
    test = open_page("compare", dataset="rated", runs=[mean, layer])
    assert not test.error
    errors = table(test, "RMSE").set_index(["run", "epoch"])
    assert errors.loc[("crowd-layer", "selected"), "RMSE"] == pytest.approx(reached.mean())
    gap = (learnt[layer].score("rmse") - learnt[mean].score("rmse")).mean()
    assert table(test, "RMSE difference")["RMSE difference"].tolist() == pytest.approx([gap])
    swept = table(open_page("compare", dataset="rated", runs=[mean, layer], view="Sweeps"), "RMSE mean")
    assert swept.set_index("lr")["RMSE mean"].to_dict() == pytest.approx(
        {0.001: learnt[mean].score("rmse").mean(), 0.002: reached.mean()}
    )
    biases = open_page("compare", dataset="rated", runs=[mean, layer], view="Biases")
    assert "dl-mean learns" in words(biases)
    assert not biases.error


@pytest.mark.parametrize("view", ["Errors", "Sweeps", "Biases"])
def test_any_two_controls_of_compare(view: str, learnt: dict[str, RatingsResult]) -> None:
    turn_any_two("compare", {"dataset": "rated", "view": view, "runs": list(learnt)[:1]})


def test_a_report_holds_errors_and_biases_and_hides_names(learnt: dict[str, RatingsResult]) -> None:
    parts = report.parts("rated", with_runs=True)
    assert list(parts) == ["overview", "workers", "shared", "truth", "errors", "curves", "sweeps", "biases", "cost"]
    content = report.report("rated", tuple(learnt), tuple(parts), "gold", False)
    assert [s.name for s in content.sections] == [*parts, "how"]
    page = to_html(content)
    assert "Test errors" in page and ">w3<" not in page
    test = open_page("report", dataset="rated", runs=list(learnt))
    assert not test.error


@pytest.mark.usefixtures("rated")
def test_the_menu_has_only_what_applies_and_other_pages_say_so() -> None:
    test = open_page("annotators", dataset="rated")
    assert not test.error
    assert "another kind" in words(test)
    menu = {"Home", "Mistakes", "Workers", "Items", "Labels", "Runs", "Compare", "More"}
    links = [link.proto for link in test.get("page_link") if link.proto.label in menu]
    assert {link.label for link in links} == menu
    assert [link.page for link in links if link.label in {"Mistakes", "Workers", "Labels"}] == ["ratings"] * 3


@pytest.mark.usefixtures("rated")
def test_counts_and_intervals_of_ratings_are_written_as_they_are() -> None:
    test = open_page("ratings", dataset="rated")
    shown = table(test, "measure").set_index("measure")["value"]
    assert shown["ratings"] == "480" and shown["range"] == "-2 to 3"
    assert table(test, "coefficient")["95 % interval"][0].count("–") == 1
    text, number = (formats(pd.DataFrame({"value": [value]}))["value"] for value in ("480", 480.0))
    assert "type_config" not in text and number["type_config"]["format"] == "%.3f"


@pytest.fixture
def found_ratings(tmp_path, monkeypatch):
    """A folder of ratings, one of them outside the range."""
    folder = tmp_path / "found" / "rated"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CROWDCORE_DATA", str(folder.parent))
    crowd, _ = rated_crowd(60, 5, 3)
    table = crowd.annotations.assign(gold=crowd.gold[crowd.task])
    table.loc[0, "rating"] = 9
    table.to_csv(folder / "annotations.csv", index=False)
    (folder / "classes.txt").write_text("# regression: rating on -2..3\n")


def test_every_view_is_drawn_and_says_what_was_left_out(found_ratings):
    shown = {"bias": "ICC(1)", "shared": "Reference: gold", "pairs": "10 common tasks", "truth": "raykar-em"}
    for view, said in shown.items():
        test = open_page("ratings", dataset="rated", view=view)
        assert not test.error
        tables = "".join(frame.value.to_csv() for frame in test.dataframe)
        assert said in words(test) + tables
        assert "outside -2…3" in words(test)
    assert "60 tasks · 5 workers" in words(test)
    assert "179 ratings from -2 to 3" in words(test)
    assert "Reference: mean" in words(open_page("ratings", dataset="rated", reference="mean", view="bias"))


def test_without_gold_labels_are_ratings_and_shared_bias_says_why_it_is_empty(found_ratings):
    folder = Path(os.environ["CROWDCORE_DATA"]) / "rated"
    pd.read_csv(folder / "annotations.csv").drop(columns="gold").to_csv(folder / "annotations.csv", index=False)
    test = open_page("ratings", dataset="rated", view="truth")
    assert "no gold to judge by" in words(test) and len(table(test, "mean rating")) == 60
    shared = open_page("ratings", dataset="rated", view="shared")
    assert "cannot be seen without gold" in words(shared) and not shared.main.dataframe and not shared.main.expander


@pytest.mark.parametrize("reference", ["gold", "mean"])
def test_no_note_stands_twice(found_ratings, reference: str):
    views = [("overview", {}), *(("ratings", {"view": view}) for view in ("bias", "shared", "pairs", "truth"))]
    for page, view in views:
        test = open_page(page, dataset="rated", reference=reference, **view)
        assert not test.error
        notes = [note.value for note in test.caption if not note.value.startswith("Click a ")]
        assert len(notes) == len(set(notes)), (page, view)
        assert "outside -2…3" in words(test)


def test_names_are_hidden(found_ratings):
    test = open_page("ratings", dataset="rated", names="hidden", view="pairs")
    assert not test.error
    tables = "".join(frame.value.to_csv() for frame in test.dataframe)
    assert "w0" not in words(test) + tables
