from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.runs import RunSpec, Workspace, list_runs, store
from crowdcore.runs.record import client_of, experiment_name, make_database


def _start(folder: str, gate: Any, said: Any) -> None:
    gate.wait()
    place = Workspace(Path(folder), f"sqlite:///{folder}/mlflow.db?timeout=30")
    said.put(store.create(RunSpec(dataset="small", method="conal"), workspace=place).id)


def test_eight_processes_start_together_on_an_empty_workspace(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # the children have nothing to do with ours
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crowdcore.runs.store", "mlflow", "mlflow.store.tracking.sqlalchemy_store"])
    folder, gate, said = tmp_path / "new", context.Barrier(8), context.Queue()
    started = [context.Process(target=_start, args=(str(folder), gate, said)) for _ in range(8)]
    for process in started:
        process.start()
    created = {said.get(timeout=200) for _ in started}
    for process in started:
        process.join()
    assert [p.exitcode for p in started] == [0] * 8
    place = Workspace(folder, f"sqlite:///{folder}/mlflow.db?timeout=30")
    assert len(created) == 8
    assert {r.id for r in list_runs(workspace=place)} == created
    with sqlite3.connect(place.database) as database:  # type: ignore[arg-type]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT count(*) FROM experiments WHERE name = 'small'").fetchone() == (1,)
    database.close()
    assert not list(place.folder.glob(".mlflow.db*")), "drafts are left behind"


def test_two_threads_make_the_records_of_two_workspaces_at_once(tmp_path: Path) -> None:
    workspaces = [Workspace.open(tmp_path / name) for name in ("one", "other")]
    with ThreadPoolExecutor(2) as both:
        list(both.map(make_database, workspaces))
    assert [client_of(workspace).search_experiments()[0].name for workspace in workspaces] == ["Default", "Default"]


def test_a_record_of_another_mlflow_is_not_touched(workspace: Workspace) -> None:
    with sqlite3.connect(workspace.database) as database:  # type: ignore[arg-type]
        database.execute("UPDATE alembic_version SET version_num = 'older'")
    database.close()
    with pytest.raises(CrowdError, match="mlflow db upgrade"):
        client_of(workspace)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("not a database, but long enough to be looked at as one" * 50)
    with pytest.raises(CrowdError, match="`crowdcore workspace check --repair`"):
        client_of(Workspace(tmp_path, f"sqlite:///{tmp_path / 'mlflow.db'}"))


def test_another_sqlite_record(tmp_path: Path, workspace: Workspace, monkeypatch) -> None:
    other = tmp_path / "elsewhere.db"
    shutil.copy(workspace.folder / "mlflow.db", other)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other}")
    run = store.create(RunSpec(dataset="demo", method="conal"))
    assert [r.id for r in list_runs()] == [run.id]
    assert list_runs(workspace=workspace) == []


@pytest.mark.parametrize(
    ("dataset", "name"), [("labelme", "labelme"), ("/a/b/votes.csv", "votes"), ("/a/b/uploaded/", "uploaded")]
)
def test_an_experiment_is_called_as_the_dataset(dataset: str, name: str) -> None:
    assert experiment_name(dataset) == name
