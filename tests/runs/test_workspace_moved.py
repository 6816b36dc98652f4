"""A workspace that is kept, moved, copied or deleted."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data.writers import write_folder
from crowdcore.runs import (
    Run,
    RunSpec,
    Workspace,
    get_run,
    list_runs,
    log_lines,
    predictions,
    result,
    run_again,
    settings_table,
    store,
    train_process,
)
from crowdcore.runs.engine import engine_state, resume
from crowdcore.runs.record import client_of
from testkit.recorded_runs import record
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


@pytest.fixture
def trained(workspace: Workspace, train) -> Run:
    """A really finished run on a dataset that was uploaded to the workspace."""
    (workspace.folder / "datasets").mkdir()
    uploaded = write_folder(featured_crowd(), workspace.folder / "datasets" / "small")
    settings = {"epochs": 2, "backbone_settings": {"hidden": 8}}
    spec = RunSpec(dataset=str(uploaded), method="crowd-layer", settings=settings, seeds=(0, 1), device="cpu")
    run = store.create(spec, workspace=workspace)
    assert train(run) == 0
    return get_run(run.id)


def use(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Workspace:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(folder))
    return Workspace.open()


def test_a_moved_workspace_has_its_results_and_trains_again(workspace, trained, monkeypatch, tmp_path):
    before, old = result(trained.id), workspace.folder
    new = use(monkeypatch, old.rename(tmp_path / "another name (1) é"))
    run = get_run(trained.id)
    assert np.array_equal(result(run.id).probabilities["last"], before.probabilities["last"])
    assert len(predictions(run.id)) == 60
    assert run.spec.dataset == str(new.folder / "datasets" / "small")
    assert (
        client_of(new).get_run(run.id).info.artifact_uri == new.artefact_folder(run.id).as_uri()
    )  # for MLflow's pages
    monkeypatch.setattr("crowdcore.runs.engine.ensure_engine", lambda **_: None)
    again = run_again(run.id, epochs=1)
    assert train_process.work(new, again.id) == 0
    assert result(again.id).last_epoch.tolist() == [1, 1]
    assert settings_table([run, get_run(again.id)])["setting"].tolist() == ["epochs"]
    assert sorted(p.name for p in (new.folder / "artifacts").iterdir()) == sorted([run.id, again.id])
    assert not old.exists()
    kept = new.artefact_folder(again.id) / "result"
    assert [p for p in (kept, *kept.iterdir()) if p.stat().st_mode & 0o077] == []


def test_a_copy_and_its_original_are_two(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    crowd = featured_crowd(60)
    run = record(workspace, made_up(crowd), crowd)
    shutil.copytree(workspace.folder, tmp_path / "copy")
    copy = use(monkeypatch, tmp_path / "copy")
    second = record(copy, made_up(crowd, "trace"), crowd)
    assert [r.id for r in list_runs(workspace=copy)] == [second, run]
    assert [r.id for r in list_runs(workspace=workspace)] == [run]
    assert not (workspace.folder / "artifacts" / second).exists()
    shutil.rmtree(workspace.folder)
    assert result(run).method == "conal"
    store.delete([run])
    assert not (copy.folder / "artifacts" / run).exists()


def test_a_report_of_a_moved_workspace(workspace, trained, monkeypatch, tmp_path, capsys):
    from crowdcore.cli import main

    new = use(monkeypatch, workspace.folder.rename(tmp_path / "moved"))
    data = str(new.folder / "datasets" / "small")
    for words in (
        ["report", data, "--run", trained.id, "--out", str(tmp_path / "report"), "--no-svg"],
        ["mistakes", data, "--reference", f"run:{trained.id}"],
        ["runs", "show", trained.id],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code, capsys.readouterr().err
    assert (tmp_path / "report" / "report.html").is_file()


def test_a_deleted_workspace_is_said_and_does_not_come_back(workspace: Workspace) -> None:
    run = store.create(RunSpec(dataset="demo", method="conal"))
    store.set_state(run.id, "failed")
    shutil.rmtree(workspace.folder)
    for ask in (list_runs, lambda: get_run(run.id), lambda: resume(run.id), lambda: log_lines(run.id)):
        with pytest.raises(CrowdError, match="moved"):
            ask()
    with pytest.raises(CrowdError, match="moved"):
        store.create(RunSpec(dataset="demo", method="conal"))
    assert engine_state().address is None
    assert not workspace.folder.exists()


def test_a_record_that_was_replaced_is_read_anew(workspace: Workspace) -> None:
    shutil.copy(workspace.folder / "mlflow.db", workspace.folder / "new.db")
    store.create(RunSpec(dataset="demo", method="conal"))
    assert len(list_runs()) == 1
    for path in workspace.folder.glob("mlflow.db*"):
        path.unlink()
    (workspace.folder / "new.db").rename(workspace.folder / "mlflow.db")
    assert list_runs() == []


def test_old_records_with_plain_paths_are_found_too(workspace: Workspace, monkeypatch, tmp_path: Path) -> None:
    crowd = featured_crowd(60)
    run = record(workspace, made_up(crowd), crowd)
    with sqlite3.connect(workspace.database) as database:  # type: ignore[arg-type]
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            database.execute(f"UPDATE {table} SET {column} = replace({column}, 'file://', '')")
    database.close()
    new = use(monkeypatch, workspace.folder.rename(tmp_path / "moved"))
    assert result(run).method == "conal"
    assert client_of(new).get_run(run).info.artifact_uri == new.artefact_folder(run).as_uri()


ID = "0" * 32


def test_the_environment_names_folder_and_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CROWDCORE_WORKSPACE", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert Workspace.open().folder == tmp_path / "workspace"
    assert Workspace.open().database == tmp_path / "workspace" / "mlflow.db"
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "other"))
    assert Workspace.open().folder == tmp_path / "other"
    assert Workspace.open("here").folder == tmp_path / "here"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server:5000")
    assert Workspace.open() == Workspace(tmp_path / "other", "http://server:5000")
    assert Workspace.open().database is None
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/x.db")
    assert Workspace.open().tracking_uri.endswith("x.db?timeout=3")


def test_a_child_process_opens_the_same_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = Workspace.open(tmp_path)
    for name, value in opened.environment.items():
        monkeypatch.setenv(name, value)
    assert Workspace.open() == opened


@given(st.text() | st.sampled_from(["..", "../..", "/etc", ID + "/..", ID.upper().replace("0", "A"), ID + "\n"]))
def test_nothing_but_an_id_becomes_a_path(text: str) -> None:
    with pytest.raises(DataError, match="There is no run"):
        Workspace(Path("/w"), "").run_folder(text)


def test_cancel_is_asked_for_and_taken_back(tmp_path: Path) -> None:
    place = Workspace(tmp_path, "")
    assert not place.cancel_requested(ID)
    place.request_cancel(ID)
    assert place.cancel_requested(ID)
    place.forget_cancel(ID)
    place.forget_cancel(ID)
    assert not place.cancel_requested(ID)
