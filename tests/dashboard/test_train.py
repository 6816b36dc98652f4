"""The page Train in-process: the fields of its forms, and its words where nothing can be trained."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore import runs
from crowdcore.core.processes import RefusedError
from crowdcore.data import load_dataset
from crowdcore.learning import learners
from dashboard.services.runs import runs_of
from tests.conftest import ROOT
from tests.dashboard.app_page import button, words
from tests.dashboard.train_page import asked, page

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def test_an_untouched_page_suggests_that_trials_choose() -> None:
    test = page()
    assert test.multiselect(key="train-methods").value == ["auto"]
    assert button(test, "Start 1 run").disabled is False
    assert "trained on crowd yet" in words(test)


def test_start_records_a_run_per_method_and_shows_them() -> None:
    test = page(methods=["trace", "conal regularisation=0"])
    button(test, "Start 2 runs").click().run()
    assert not test.exception
    by_method = {run.spec.method: run for run in runs.list_runs("crowd")}
    assert by_method.keys() == {"trace", "conal"}
    assert by_method["trace"].spec.settings == {}
    assert by_method["conal"].spec.settings == {"regularisation": 0}
    for run in by_method.values():
        assert run.state == "queued"
        assert run.spec.seeds == (0, 1, 2, 3, 4, 5)
        assert run.spec.fingerprint == load_dataset("crowd").fingerprint
    assert len({run.spec.group for run in by_method.values()}) == 1
    assert sorted(test.query_params["runs"]) == sorted(run.id for run in by_method.values())
    assert words(test).count("waits for its turn") == 2


def test_the_estimate_is_shown_before_the_start() -> None:
    test = page(methods=["conal", "trace"])
    test.run()  # it has been found out meanwhile
    assert "About **2 min** and **3.0 GB**" in words(test)


def test_a_search_asks_for_what_the_form_says() -> None:
    test = page(view="Search settings", methods="conal")
    assert test.multiselect(key="search-fields-conal").value == ["regularisation", "embedding", "lr"]
    test.multiselect(key="search-fields-conal").set_value(["embedding", "variant"])
    test.number_input(key="search-trials").set_value(6).run()
    test.number_input(key="search-conal-embedding-high").set_value(40).run()
    button(test, "Search, 6 runs").click().run()
    assert not test.exception
    (run,) = runs.list_runs("crowd")
    plan = run.spec.search
    assert plan is not None
    assert plan.trials == 6
    assert plan.space == {
        "embedding": runs.Range(low=20, high=40, integer=True),
        "variant": runs.Choice(values=("mixture", "paper", "authors")),
    }
    titles = [learners.setting_title(name, "conal") for name in plan.space]
    assert f"search of {', '.join(titles)}" in words(test)


def test_a_dataset_with_nothing_to_look_at_says_what_would_help() -> None:
    test = page(dataset="bare")
    assert "neither features nor images" in words(test)
    assert "features_train.npy" in words(test)
    assert not [b for b in test.button if b.label.startswith("Start")]


def test_without_the_packages_it_says_how_to_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.core.errors.find_spec", lambda name: None)
    assert "pip install 'crowdcore[learning,runs]'" in words(page())


def test_an_uploaded_dataset_is_named_by_its_folder(workspace: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "found" / "crowd", workspace / "datasets" / "mine-0123456789")
    test = page(dataset="mine-0123456789", methods="conal")
    button(test, "Start 1 run").click().run()
    (run,) = runs_of("mine-0123456789")
    assert run.spec.dataset == str(workspace / "datasets" / "mine-0123456789")
    assert runs_of("crowd") == []


def test_the_app_never_loads_torch(tmp_path: Path) -> None:
    asked()
    script = f"""
import sys
from streamlit.testing.v1 import AppTest
test = AppTest.from_file({str(ROOT / "dashboard" / "app.py")!r}, default_timeout=120).run()
test.switch_page("views/train.py")
test.query_params["dataset"], test.query_params["methods"] = "crowd", "conal"
test.run()
assert not test.exception and not test.error
assert [b for b in test.button if b.label == "Start 1 run"]
assert "torch" not in sys.modules, sorted(m for m in sys.modules if m.startswith("crowdcore.learning"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_a_trial_was_refused_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def estimate(*_: object) -> None:
        raise RefusedError("There is no gold to name classes by.")

    monkeypatch.setattr(runs, "estimate", estimate, raising=False)
    test = page(methods="conal")
    test.run()  # it has been found out meanwhile
    assert "no gold to name" in words(test)
    assert button(test, "Start 1 run").disabled
