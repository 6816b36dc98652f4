"""The trials of searches on Compare, significance and selection, and what has no basis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st

import crowdcore as cc
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.writers import write_folder
from crowdcore.learning import learners
from crowdcore.learning.comparison import significance
from crowdcore.learning.results.result import TrainingResult
from crowdcore.runs import Choice, RunSpec, SearchPlan, Workspace
from crowdcore.runs.artefacts import keep_result
from crowdcore.runs.searching import RUN, distributions, open_study
from crowdcore.runs.store import create, set_state
from dashboard.services import compare
from testkit.recorded_runs import record
from tests.dashboard.app_page import table, words
from tests.dashboard.compared_runs import METHODS, Recorded, page
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

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
        asked = RunSpec(dataset=dataset.name, fingerprint=dataset.fingerprint, method=method, search=plan)
        search = create(asked, workspace=self.place).id
        study = open_study(self.place.run_folder(search), plan)
        assert study is not None
        self.trials[search], self.ids[search] = [], []
        for k, value in enumerate((*grid, 1.0)):
            study.enqueue_trial({setting: value})
            trial = study.ask(distributions(plan))
            spec = asked.model_copy(update={"settings": {setting: value}, "search": None, "parent": search})
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


def test_only_trials_that_came_to_a_result_count(searched: Searched) -> None:
    assert compare.searches("crowd") == {name: tuple(searched.ids[name]) for name in (searched.search, searched.older)}
    assert compare.searches("demo") == {}


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


def test_what_was_searched_is_the_axis_unless_another_is_chosen(searched: Searched) -> None:
    both = {"runs": searched.runs[:1], "view": "Sweeps", "searches": [searched.older, searched.search]}
    assert "6 runs of 1 dataset" in words(page(**both))
    along = {box.label: box for box in page(**both).selectbox}["Along"]
    assert (along.value, along.options) == ("lr", ["lr", "regularisation"])
    mixed = page(**both | {"searches": [searched.older]})
    assert table(mixed, "lr").query("run == 'trace'")["lr"].tolist() == pytest.approx([0.1, 0.2])
    assert table(page(**both, axis="regularisation"), "regularisation")["run"].tolist() == ["conal"] * 4


def test_searches_alone_are_enough(searched: Searched) -> None:
    test = page(dataset="lonely")
    assert "Nothing has been trained" not in words(test)
    assert trials_picker(test).value == [searched.alone]
    expected = [100 * result.accuracy("test").mean() for result in searched.trials[searched.alone]]
    assert table(test, "regularisation")["accuracy mean"].tolist() == pytest.approx(expected)


def test_a_search_of_another_dataset_is_not_drawn(searched: Searched) -> None:
    test = page(runs=searched.runs[:1], view="Sweeps", searches=[searched.alone])
    assert trials_picker(test).value == []
    assert "Nothing varies" in words(test)


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
    tasks, found = significance.over_tasks(results, "last"), table(test, "McNemar p")
    assert found["low"].tolist() == pytest.approx((100 * tasks.low).tolist())
    assert found["McNemar adjusted p"].tolist() == pytest.approx(tasks.mcnemar_adjusted.tolist(), nan_ok=True)
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
        said = words(page(runs=recorded.of("no test"), view=view))
        assert "has no test split" in said, view
