"""The page Train in-process: what it asks for, what it shows of runs, what it does with them. Nothing trains here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crowdcore import runs
from crowdcore.core.errors import DataError
from crowdcore.data import load_dataset
from crowdcore.data.rows import Rows
from crowdcore.data.writers import write_folder
from crowdcore.runs import Estimate, RunSpec, Workspace, store
from crowdcore.runs.schema import client_of
from dashboard import services
from dashboard.services import estimates
from tests.conftest import ROOT, simulate_crowd


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty record, made once: making one takes seconds."""
    workspace = Workspace.open(tmp_path_factory.mktemp("record"))
    client_of(workspace)
    assert workspace.database is not None
    return workspace.database


@pytest.fixture(autouse=True)
def page_of_a_crowd(record: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A crowd with features and one without; runs are recorded, but no engine takes them; estimates come at once."""
    workspace.mkdir()
    shutil.copy(record, workspace / record.name)
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    features = tmp_path / "features.npy"
    np.save(features, np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32))
    crowd = simulate_crowd()
    rows = Rows((features,), np.zeros(300, np.int8), np.arange(300))
    write_folder(replace(crowd, features=rows, name="crowd"), folder / "crowd")
    write_folder(replace(crowd, name="bare"), folder / "bare")
    monkeypatch.setattr(runs, "submit", store.create, raising=False)
    monkeypatch.setattr("crowdcore.runs.searching.submit", store.create)
    monkeypatch.setattr(estimates._Estimator, "look", lambda *_: Estimate(61.0, 3 * 10**9, "By a test."))
    monkeypatch.setattr(estimates, "_SETTLED", 0.0)
    yield
    st.cache_resource.clear()


def page(**address: str | list[str]) -> AppTest:
    test = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120).run()
    test.switch_page("views/train.py")
    test.query_params.clear()
    for key, value in {"dataset": "crowd", **address}.items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def words(test: AppTest) -> str:
    found = [*test.markdown, *test.caption, *test.error, *test.warning, *test.info, *test.subheader, *test.code]
    return "\n".join(str(part.value).replace("\\", "").replace("\u2060", "") for part in found)


def button(test: AppTest, label: str):
    return next(b for b in test.button if b.label == label)


def asked(**changes: object) -> runs.Run:
    """A recorded run on the crowd."""
    fingerprint = load_dataset("crowd").fingerprint
    spec = RunSpec(dataset="crowd", fingerprint=fingerprint, method="conal", seeds=(0, 1, 2))
    return store.create(spec.model_copy(update=changes))


def test_an_untouched_page_offers_the_papers_comparison() -> None:
    test = page()
    assert test.multiselect(key="train-methods").value == ["crowd-layer", "trace", "conal"]
    assert button(test, "Start 3 runs").disabled is False
    assert "Nothing has been trained on crowd yet" in words(test)


def test_start_records_a_run_per_method_and_shows_them() -> None:
    test = page(methods=["trace", "conal regularisation=0"])
    button(test, "Start 2 runs").click()
    test.run()
    assert not test.exception
    found = {run.spec.method: run for run in runs.list_runs("crowd")}
    assert found.keys() == {"trace", "conal"}
    assert found["trace"].spec.settings == {}
    assert found["conal"].spec.settings == {"regularisation": 0}
    for run in found.values():
        assert run.state == "queued"
        assert run.spec.seeds == (0, 1, 2, 3, 4)
        assert run.spec.fingerprint == load_dataset("crowd").fingerprint
    assert len({run.spec.group for run in found.values()}) == 1
    assert sorted(test.query_params["runs"]) == sorted(run.id for run in found.values())
    assert words(test).count("waits for its turn") == 2


def test_what_is_changed_in_the_forms_is_asked_for_and_nothing_else() -> None:
    test = page(methods="conal")
    test.number_input(key="train-0-epochs").set_value(7)
    test.number_input(key="train-0-seeds").set_value(2)
    test.number_input(key="train-0-training-lr-open").set_value(0.01)
    test.number_input(key="train-0-network-mlp-hidden").set_value(16)
    test.selectbox(key="train-0-device").set_value("cpu")
    test.run()
    assert "Changed: lr 0.01" in words(test)
    button(test, "Start 1 run").click()
    test.run()
    (run,) = runs.list_runs("crowd")
    assert run.spec.settings == {"epochs": 7, "lr": 0.01, "backbone_settings": {"hidden": 16}}
    assert run.spec.seeds == (0, 1)
    assert run.spec.device == "cpu"


def test_what_a_method_does_its_own_way_is_left_to_it_unless_it_is_set() -> None:
    test = page(methods=["conal", "trace"])
    rate = test.number_input(key="train-0-training-lr-open")
    assert rate.value is None
    assert rate.placeholder == "conal 0.005; else 0.001"
    rate.set_value(0.001)
    test.run()
    assert "Changed: lr 0.001" in words(test)
    button(test, "Start 2 runs").click()
    test.run()
    found = {run.spec.method: run.spec.settings for run in runs.list_runs("crowd")}
    assert found == {"conal": {"lr": 0.001}, "trace": {}}


def test_a_method_s_own_form_replaces_it_or_adds_another() -> None:
    test = page(methods="conal")
    test.number_input(key="own-conal-embedding").set_value(40)
    next(b for b in test.button if b.label == "Add beside it").click()
    test.run()
    assert test.query_params["methods"] == ["conal", "conal embedding=40"]
    assert button(test, "Start 2 runs")


def test_the_estimate_is_shown_before_the_start() -> None:
    test = page(methods=["conal", "trace"])
    test.run()  # it has been found out meanwhile
    assert "About **2 min** and **3.0 GB** of memory. By a test." in words(test)


def test_an_address_cannot_name_what_a_method_does_not_have() -> None:
    test = page(methods="conal backbone=os:system")
    assert "`a setting of conal` must be one of" in words(test)
    button(test, "Start 1 run").click()
    test.run()
    assert runs.list_runs("crowd") == []


def test_again_fills_the_form_and_starts_the_same() -> None:
    settings = {"epochs": 7, "lr": 0.01, "embedding": 40, "backbone": "linear"}
    asked(settings=settings, device="cpu")
    test = page()
    button(test, "Run again with …").click()
    test.run()
    assert test.multiselect(key="train-methods").value == ["conal embedding=40"]
    button(test, "Start 1 run").click()
    test.run()
    newest, oldest = runs.list_runs("crowd")
    assert newest.spec.model_copy(update={"group": ""}).model_dump() == oldest.spec.model_dump()
    assert newest.spec.settings == settings


def test_a_failed_run_says_why_and_can_go_on(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> None:
    run = asked()
    store.set_state(run.id, "failed", "The disk is **full**.")
    (Workspace.open().run_folder(run.id) / "log.txt").write_text("line one\n<b>line</b> two\n")
    test = page()
    assert "The disk is **full**." in test.error[0].value.replace("\\", "")
    assert r"\*\*full" in test.error[0].value
    assert "line one\n<b>line</b> two" in words(test)
    resumed: list[str] = []
    monkeypatch.setattr(runs, "resume", resumed.append, raising=False)
    test.button(key=f"Resume-{run.id}").click()
    test.run()
    assert resumed == [run.id]


def test_a_queue_can_be_put_in_order_and_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = asked(method="trace", group="a"), asked(method="conal", group="a")
    monkeypatch.setattr(runs, "set_priority", store.set_priority, raising=False)
    test = page()
    test.button(key=f"First-{second.id}").click()
    test.run()
    assert runs.get_run(second.id).spec.priority > runs.get_run(first.id).spec.priority
    test.button(key=f"Last-{second.id}").click()
    test.run()
    assert runs.get_run(second.id).spec.priority < runs.get_run(first.id).spec.priority

    def refused(run_id: str) -> None:
        raise DataError(f"Run {run_id[:3]} has just ended")

    monkeypatch.setattr(runs, "cancel", refused, raising=False)
    test.button(key=f"Cancel-{first.id}").click()
    test.run()
    assert f"Run {first.id[:3]} has just ended" in words(test)


def test_deleting_asks_first() -> None:
    run = asked()
    store.set_state(run.id, "cancelled", "Cancelled before it began.")
    test = page()
    assert runs.list_runs("crowd")
    test.button(key=f"delete-{run.id}").click()
    test.run()
    assert runs.list_runs("crowd") == []
    assert not test.exception


def test_a_link_shows_its_runs_and_tells_of_those_that_are_gone() -> None:
    one, _ = asked(method="trace"), asked(method="conal")
    test = page(runs=[one.id, "0" * 32])
    assert test.multiselect(key="train-runs").value == [one.id]
    assert "1 run of this address cannot be found" in words(test)


def test_a_run_that_trains_shows_how_far_it_is() -> None:
    run = asked()
    store.set_state(run.id, "running")
    client = client_of(Workspace.open())
    client.set_tag(run.id, "crowdcore.progress", '{"epoch": 30, "epochs": 120, "done": 0.25, "remaining": 90.0}')
    client.set_tag(run.id, "crowdcore.device", "cpu")
    for epoch, value in ((1, 0.5), (2, 0.75)):
        client.log_metric(run.id, "test_accuracy", value, step=epoch)
    test = page()
    shown = next(part.proto.text for part in test.get("progress"))
    assert shown.replace("\\", "") == "epoch 30 of 120 · 90 s left · test accuracy 75.0 % · cpu"
    assert [b.label for b in test.button if b.key == f"Cancel-{run.id}"] == ["Cancel"]
    assert test.selectbox(key="train-metric").options == ["Accuracy, test"]
    table = services.curves(run.id)
    assert table[["epoch", "mean"]].to_numpy().tolist() == [[1, 0.5], [2, 0.75]]


def test_a_search_asks_for_what_the_form_says() -> None:
    test = page(view="Search settings", methods="conal")
    assert test.multiselect(key="search-fields-conal").value == ["regularisation", "embedding", "lr"]
    test.multiselect(key="search-fields-conal").set_value(["embedding", "variant"])
    test.number_input(key="search-trials").set_value(6)
    test.run()
    test.number_input(key="search-conal-embedding-high").set_value(40)
    test.run()
    button(test, "Search, 6 runs").click()
    test.run()
    assert not test.exception
    (run,) = runs.list_runs("crowd")
    plan = run.spec.search
    assert plan is not None
    assert plan.trials == 6
    assert plan.space == {
        "embedding": runs.Range(low=20, high=40, integer=True),
        "variant": runs.Choice(values=("paper", "authors")),
    }
    assert "search of embedding, variant" in words(test)


def test_a_dataset_with_nothing_to_look_at_says_what_would_help() -> None:
    test = page(dataset="bare")
    assert "neither features nor images" in words(test)
    assert "features_train.npy" in words(test)
    assert not [b for b in test.button if b.label.startswith("Start")]


def test_without_the_packages_it_says_how_to_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.services.missing_extras", lambda: ("learning", "runs"))
    assert "pip install 'crowdcore[learning,runs]'" in words(page())


def test_an_uploaded_dataset_is_named_by_its_folder(workspace: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "found" / "crowd", workspace / "datasets" / "mine-0123456789")
    test = page(dataset="mine-0123456789", methods="conal")
    button(test, "Start 1 run").click()
    test.run()
    (run,) = services.runs_of("mine-0123456789")
    assert run.spec.dataset == str(workspace / "datasets" / "mine-0123456789")
    assert services.runs_of("crowd") == []


def test_the_app_never_loads_torch(tmp_path: Path) -> None:
    asked()
    script = f"""
import sys
from streamlit.testing.v1 import AppTest
test = AppTest.from_file({str(ROOT / "dashboard" / "app.py")!r}, default_timeout=120).run()
test.switch_page("views/train.py")
test.query_params["dataset"] = "crowd"
test.run()
assert not test.exception and not test.error
assert [b for b in test.button if b.label == "Start 3 runs"]
assert "torch" not in sys.modules, sorted(m for m in sys.modules if m.startswith("crowdcore.learning"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
