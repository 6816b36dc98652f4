"""The pages Compare and Report in-process: their numbers are the results'; searches, significance, selection."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

import crowdcore as cc
from crowdcore import runs as every_run
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import comparison as exhibits
from crowdcore.exhibits.differences import prediction_disagreement
from crowdcore.figures import paper
from crowdcore.learning import learners
from crowdcore.learning.comparison import significance, summary as comparison
from crowdcore.learning.results.result import TrainingResult
from crowdcore.runs import Choice, RunSpec, SearchPlan, Workspace, delete, rename
from crowdcore.runs.artefacts import keep_result
from crowdcore.runs.report import PARTS, to_html
from crowdcore.runs.searching import RUN, distributions, open_study
from crowdcore.runs.store import create, set_state
from dashboard.services import compare, datasets, report
from dashboard.services.runs import result as result_of
from testkit.recorded_runs import record
from tests.dashboard.app_page import open_page, table, words
from tests.dashboard.compared_runs import METHODS, Recorded, page
from tests.learning.helpers import featured_crowd
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


@pytest.mark.parametrize("view", ["Significance", "Selection", "Calibration", "Differences", "Sweeps"])
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
    shown = {"metric": ["loss", "valid_accuracy"], "smooth": "3", "axes": ["log_values"]}
    test = open_page("train", dataset="crowd", runs=runs, **shown)
    assert test.multiselect(key="train-metric").value == ["loss", "valid_accuracy"]
    drawn = [json.loads(chart.proto.spec)["layout"] for chart in test.get("plotly_chart")]
    titles = [layout["meta"][0] for layout in drawn if "meta" in layout]
    assert titles == ["Loss", "Accuracy, validation"]
    assert [layout["yaxis"]["type"] for layout in drawn if "meta" in layout] == ["log", "log"]
    assert all("mean of 3 epochs" in layout["meta"][1] for layout in drawn if "meta" in layout)
    test.multiselect(key="train-metric").set_value(["test_accuracy"]).run()
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


def test_a_sweep_over_simulated_crowds_takes_other_datasets_when_asked(recorded: Recorded) -> None:
    alone = page(dataset="strength-0.4", view="Sweeps")
    assert "Nothing varies" in words(alone)
    assert alone.multiselect[1].options == ["crowd (2 runs)", "strength-0.8 (2 runs)"]
    test = page(dataset="strength-0.4", view="Sweeps", crowds=["strength-0.8"])
    assert "4 runs of 2 datasets" in words(test)
    frame = table(test, "common strength").set_index(["run", "common strength"])
    for name, results in recorded.strengths.items():
        for method, result in results.items():
            row = frame.loc[(method, float(name.removeprefix("strength-")))]
            assert row["accuracy mean"] == pytest.approx(100 * result.accuracy("test").mean())
            assert row["accuracy std"] == pytest.approx(100 * result.accuracy("test").std(ddof=1))


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


@pytest.mark.usefixtures("trainable_crowd")
def test_where_nothing_is_trained_one_click_trains_what_compare_then_shows() -> None:
    test = open_page("compare", dataset="crowd")
    assert "Nothing has been trained on crowd yet" in words(test)
    next(b for b in test.button if b.label == "Start 5 runs").click().run()
    assert {run.spec.method for run in every_run.list_runs("crowd")} == {
        "auto",
        "conal",
        "trace",
        "crowd-layer",
        "dl-mv",
    }
    under_way = open_page("compare", dataset="crowd")
    assert "5 runs" in words(under_way) and not [b for b in under_way.main.button if "Start" in b.label]
    assert "Nothing has been trained on bare yet" in words(open_page("compare", dataset="bare"))


def test_the_report_page_says_what_it_holds_and_how_to_make_it_elsewhere(recorded: Recorded) -> None:
    runs = recorded.of("conal", "crowd-layer")
    test = page("report", runs=runs)
    listed = [name for name in PARTS if name != "recovery"]
    assert test.pills[0].value == listed
    command = f"crowdcore report crowd --run {runs[0]} --run {runs[1]} --reference gold --accept --out report"
    assert command in words(test)
    part = page("report", runs=runs, parts=["accuracy", "omega"], names="shown")
    assert "--part accuracy --part omega --reference gold --names" in words(part)
    assert "Nothing has been trained" not in words(page("report", dataset="demo")), "it needs no run"


def test_the_downloads_are_the_report(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = report.Archiving()
    shares = []

    def draw(figures, on_progress):
        for file in figures:
            file.write_text("<svg>")
        assert folder.remaining is None
        on_progress(0.25, "the second of four")
        shares.append((folder.share, folder.words))
        assert folder.remaining is not None

    monkeypatch.setattr(paper, "draw", draw)
    args = ("crowd", tuple(recorded.of(*METHODS)), ("accuracy", "overview"), "majority-vote", False)
    text = to_html(report.report(*args))
    assert "worker 1" in text
    assert "w001" not in text
    with zipfile.ZipFile(io.BytesIO(folder.make(*args))) as archive:
        facts = json.loads(archive.read("report.json"))
        assert archive.read("report.html").decode() == text
    assert shares == [(0.25, "Drawing the second of four")]
    assert folder.made and not folder.making
    assert facts["reference"] == "majority-vote"
    assert [run["command"] for run in facts["runs"]] == [
        f"crowdcore train crowd --method {m} --seeds 3 --device cpu --accept" for m in METHODS
    ]
    assert facts["command"].endswith("--part accuracy --part overview --reference majority-vote --accept --out report")


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


GRID = (1e-6, 1e-5, 1e-4)


class Searched:
    """``crowd`` with two runs and two searches, ``lonely`` with a search and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.datasets, self.place = folder / "data", Workspace.open(folder / "workspace")
        self.datasets.mkdir()
        self.crowd, self.lonely = self._opened("crowd", 200), self._opened("lonely", 150)
        self.run = made_up(self.crowd, "conal", settings={"regularisation": 0.5})
        self.runs = [record(self.place, r, self.crowd) for r in (self.run, made_up(self.crowd, "crowd-layer"))]
        self.trials: dict[str, list[TrainingResult]] = {}
        self.ids: dict[str, list[str]] = {}
        self.older = self._search(self.crowd, "trace", "lr", (0.1, 0.2))
        self.search = self._search(self.crowd, "conal", "regularisation", GRID)
        self.alone = self._search(self.lonely, "conal", "regularisation", GRID)

    def _opened(self, name: str, n_tasks: int) -> CrowdDataset:
        return cc.read_dataset(write_folder(replace(featured_crowd(n_tasks), name=name), self.datasets / name))

    def _search(self, dataset: CrowdDataset, method: str, setting: str, grid: tuple[float, ...]) -> str:
        """A search that has ended, whose last trial failed."""
        plan = SearchPlan(space={setting: Choice(values=(*grid, 1.0))}, trials=len(grid) + 1, sampler="grid")
        trial_spec = RunSpec(dataset=dataset.name, fingerprint=dataset.fingerprint, method=method, search=plan)
        search = create(trial_spec, workspace=self.place).id
        study = open_study(self.place.run_folder(search), plan)
        assert study is not None
        self.trials[search], self.ids[search] = [], []
        for k, value in enumerate((*grid, 1.0)):
            study.enqueue_trial({setting: value})
            trial = study.ask(distributions(plan))
            spec = trial_spec.model_copy(update={"settings": {setting: value}, "search": None, "parent": search})
            run = create(spec, workspace=self.place).id
            trial.set_user_attr(RUN, run)
            if k == len(grid):
                set_state(run, "failed", workspace=self.place)
                continue
            own = {setting: value} if setting == "lr" else {"settings": {setting: value}}
            result = made_up(dataset, method, draw=k, sure=1 + k / 2, **own)
            keep_result(run, result, dataset, self.place)
            set_state(run, "finished", workspace=self.place)
            study.tell(trial, k / 10)
            self.trials[search].append(result)
            self.ids[search].append(run)
        set_state(search, "finished", workspace=self.place)
        return search


@pytest.fixture(scope="module")
def all_searched(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return Searched(tmp_path_factory.mktemp("searched"))


@pytest.fixture
def searched(all_searched: Searched, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CROWDCORE_DATA", str(all_searched.datasets))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(all_searched.place.folder))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield all_searched
    st.cache_resource.clear()


def trials_picker(test):
    return next((box for box in test.multiselect if box.label == "Trials of searches"), None)


def test_the_trials_of_a_search_are_drawn_along_what_it_varied(searched: Searched) -> None:
    test = page(runs=searched.runs[:1], view="Sweeps")
    assert "Nothing varies" in words(test)
    picker = trials_picker(test)
    assert picker.value == []
    assert [option.rsplit(" (", 1)[1] for option in picker.options] == ["3 trials)", "2 trials)"]
    assert "conal · search of " in picker.options[0]
    picker.select(picker.options[0]).run()
    assert not test.exception
    assert test.query_params["searches"] == searched.search
    assert "4 runs of 1 dataset" in words(test)
    assert "not for choosing" in words(test)
    frame = table(test, "regularisation").set_index("regularisation")
    assert list(frame.index) == pytest.approx([*GRID, 0.5])
    for value, result in zip(frame.index, (*searched.trials[searched.search], searched.run), strict=True):
        reached = 100 * result.accuracy("test")
        assert frame.loc[value, ["accuracy mean", "accuracy std"]].tolist() == pytest.approx(
            [reached.mean(), reached.std(ddof=1)]
        )


def test_searches_alone_are_enough(searched: Searched) -> None:
    test = page(dataset="lonely")
    assert "Nothing has been trained" not in words(test)
    assert trials_picker(test).value == [searched.alone]
    expected = [100 * result.accuracy("test").mean() for result in searched.trials[searched.alone]]
    assert table(test, "regularisation")["accuracy mean"].tolist() == pytest.approx(expected)


def test_the_board_of_a_search_leads_to_its_curve(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learners, "untrainable", lambda dataset: "No form, whose estimates would outlive the test.")
    test = page("train", runs=[searched.search])
    link = next(link.proto for link in test.get("page_link") if link.proto.label.startswith("Test accuracy along"))
    assert link.page == "compare"
    assert link.query_string == (
        f"dataset=crowd&reference=gold&runs={searched.search}&view=Sweeps&searches={searched.search}"
    )


def test_significance_is_tested_over_tasks_and_over_seeds_and_says_how_the_two_relate(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Significance", at="last")
    results = {m: recorded.results[m] for m in METHODS}
    seeds = cc.analysis.paired_tests({m: r.accuracy("test", at="last") for m, r in results.items()})
    assert table(test, "seeds")["p"].tolist() == pytest.approx(seeds.p_value.tolist())
    assert table(test, "seeds")["difference (points)"].tolist() == pytest.approx((100 * seeds.difference).tolist())
    assert seeds.caveat in words(test)
    tasks, tests = significance.over_tasks(results, "last"), table(test, "McNemar p")
    assert tests["low"].tolist() == pytest.approx((100 * tasks.low).tolist())
    assert tests["McNemar adjusted p"].tolist() == pytest.approx(tasks.mcnemar_adjusted.tolist(), nan_ok=True)
    assert words(test).count("seeds vary only") == 1
    best = words(page(runs=recorded.of(*METHODS), view="Significance", at="best"))
    assert "use the selected epoch" in best


def test_the_ways_of_selecting_stand_side_by_side(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Selection")
    frame = table(test, "rank from").set_index("run")
    assert list(frame.index) == list(METHODS)
    for method in METHODS:
        for column, at in (("from %", "selected"), ("to %", "last")):
            reached = 100 * recorded.results[method].accuracy("test", at=at).mean()
            assert frame.loc[method, column] == pytest.approx(reached)
    assert "“gold of the valid split”" in words(test)


def test_one_run_of_one_seed_shows_no_deviation_and_no_empty_test(recorded: Recorded) -> None:
    test = page(runs=recorded.of("one seed"))
    assert not [c for frame in test.dataframe for c in frame.value.columns if "±" in c or "std" in c]
    assert not [c for frame in test.dataframe for c in frame.value.columns if frame.value[c].isna().any()]
    assert "ensemble" not in words(test).lower()
    alone = page(runs=recorded.of("one seed"), view="Significance")
    assert words(alone).count("at least two runs") == 1
    assert not alone.dataframe


def test_without_a_test_split_every_tab_says_so(recorded: Recorded) -> None:
    for view in ("Accuracy", "Significance", "Selection", "Calibration"):
        sentences = words(page(runs=recorded.of("no test"), view=view))
        assert "has no test split" in sentences, view
