"""Significance and Selection on Compare, and what the page says where a comparison has no basis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

import crowdcore as cc
from crowdcore.data.writers import write_folder
from crowdcore.learning.comparison import tested
from tests.browser.recorded_runs import record
from tests.dashboard.test_compare import METHODS, page, table, words
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


class Recorded:
    """The dataset ``crowd`` with a finished run of three methods, one of a single seed, and one without test tasks."""

    def __init__(self, folder: Path) -> None:
        self.datasets, self.workspace = folder / "data", folder / "workspace"
        self.datasets.mkdir()
        write_folder(replace(featured_crowd(200), name="crowd"), self.datasets / "crowd")
        self.crowd = cc.read_dataset(self.datasets / "crowd")
        split = np.maximum(self.crowd.split, 0)
        self.results = {m: made_up(self.crowd, m, sure=1 + k / 2) for k, m in enumerate(METHODS)}
        others = {
            "one seed": made_up(self.crowd, "trace", (4,), draw=5),
            "no test": made_up(self.crowd, "trace", split=np.where(split == 2, 0, split)),
        }
        self.ids = {name: record(self.workspace, r, self.crowd) for name, r in {**self.results, **others}.items()}

    def of(self, *names: str) -> list[str]:
        return [self.ids[name] for name in names]


@pytest.fixture(scope="module")
def all_recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return Recorded(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def recorded(all_recorded: Recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CROWDCORE_DATA", str(all_recorded.datasets))
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(all_recorded.workspace))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield all_recorded
    st.cache_resource.clear()


def test_significance_is_tested_over_tasks_and_over_seeds_and_says_how_the_two_relate(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Significance", at="last")
    results = {m: recorded.results[m] for m in METHODS}
    seeds = cc.analysis.paired_tests({m: r.accuracy("test", at="last") for m, r in results.items()})
    assert table(test, "seeds")["p"].tolist() == pytest.approx(seeds.p_value.tolist())
    assert table(test, "seeds")["difference (points)"].tolist() == pytest.approx((100 * seeds.difference).tolist())
    assert seeds.caveat in words(test)
    tasks, found = tested.over_tasks(results, "last"), table(test, "McNemar p")
    assert found["low"].tolist() == pytest.approx((100 * tasks.low).tolist())
    assert found["McNemar adjusted p"].tolist() == pytest.approx(tasks.mcnemar_adjusted.tolist(), nan_ok=True)
    assert words(test).count("seeds vary only the training on the same data") == 1
    best = words(page(runs=recorded.of(*METHODS), view="Significance", at="best"))
    assert "tests over tasks use the selected epoch" in best


def test_the_ways_of_selecting_stand_side_by_side(recorded: Recorded) -> None:
    test = page(runs=recorded.of(*METHODS), view="Selection")
    frame = table(test, "rank from").set_index("run")
    assert list(frame.index) == list(METHODS)
    for method in METHODS:
        for column, at in (("from %", "selected"), ("to %", "last")):
            reached = 100 * recorded.results[method].accuracy("test", at=at).mean()
            assert frame.loc[method, column] == pytest.approx(reached)
    assert "From “gold of validation” to “none (last)”" in words(test)


def test_one_run_of_one_seed_shows_no_deviation_and_no_empty_test(recorded: Recorded) -> None:
    test = page(runs=recorded.of("one seed"))
    assert not [c for frame in test.dataframe for c in frame.value.columns if "±" in c or "std" in c]
    assert not [c for frame in test.dataframe for c in frame.value.columns if frame.value[c].isna().any()]
    assert "ensemble" not in words(test).lower()
    alone = page(runs=recorded.of("one seed"), view="Significance")
    assert words(alone).count("Choose at least two runs to test whether they differ.") == 1
    assert not alone.dataframe


def test_without_a_test_split_every_tab_says_so(recorded: Recorded) -> None:
    for view in ("Accuracy", "Significance", "Selection", "Calibration"):
        said = words(page(runs=recorded.of("no test"), view=view))
        assert "has no test split, so accuracy cannot be measured" in said, view
