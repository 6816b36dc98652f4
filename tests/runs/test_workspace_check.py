"""A record rebuilt from files, files without a run, runs without files; a backup and its restoration."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import load_dataset
from crowdcore.marks import add_mark, read_marks
from crowdcore.runs import (
    Run,
    RunSpec,
    Workspace,
    change_tags,
    check_workspace,
    curves,
    get_run,
    list_runs,
    rename,
    restore_workspace,
    result,
    set_note,
    store,
)
from crowdcore.runs.workspace_check import backup_workspace
from testkit.recorded_runs import record
from tests.cli.conftest import crowdcore, run  # noqa: F401
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


@dataclass(frozen=True)
class Filled:
    """A workspace with a finished run that people have marked, and one that waits."""

    workspace: Workspace
    finished: str
    waiting: str

    def seen(self) -> tuple[list[Run], list[dict[str, list[float]]]]:
        listed = list_runs(workspace=self.workspace)
        return listed, [curves(r.id, workspace=self.workspace).round(9).to_dict("list") for r in listed]


@pytest.fixture
def filled(workspace: Workspace) -> Filled:
    crowd = featured_crowd(60)
    finished = record(workspace, made_up(crowd), crowd, regularisation=0.5)
    rename(finished, "The best")
    set_note(finished, "For Table 2")
    change_tags([finished], ["paper"])
    waiting = store.create(RunSpec(dataset="demo", method="trace", settings={"epochs": 3}), workspace=workspace).id
    return Filled(workspace, finished, waiting)


def spoil(workspace: Workspace, how: str) -> None:
    database = workspace.database
    assert database is not None
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    if how == "missing":
        for path in workspace.folder.glob("mlflow.db*"):
            path.unlink()
    else:
        with database.open("r+b") as file:
            file.truncate(0 if how == "empty" else database.stat().st_size // 2)


@pytest.mark.parametrize("how", ["missing", "empty", "damaged"])
def test_a_lost_record_is_rebuilt_as_it_was(filled: Filled, how: str, run, crowdcore) -> None:  # noqa: F811
    before = filled.seen()
    assert run("workspace", "check").out.startswith("Record and files fit")
    spoil(filled.workspace, how)
    done = run("workspace", "check")
    assert done.code == 1
    assert how in done.out.splitlines()[0] and done.out.count("files but no record") == 2
    mended = crowdcore("workspace", "check", "--repair")
    assert len(mended) == 3 and all(one["done"] for one in mended)
    assert filled.seen() == before
    assert np.array_equal(result(filled.finished).task, np.arange(60))
    assert len(list(filled.workspace.folder.glob("mlflow.db.aside-*"))) == (how != "missing")
    assert crowdcore("workspace", "check") == []


def test_a_run_of_an_older_version_is_rebuilt_from_its_result(filled: Filled) -> None:
    old, epochs = get_run(filled.finished), curves(filled.finished)
    shutil.rmtree(filled.workspace.folder / "runs")
    spoil(filled.workspace, "damaged")
    assert len(check_workspace(repair=True)) == 2
    [new] = list_runs()
    assert (new.id, new.state, new.message) == (old.id, "finished", "Rebuilt from its result.")
    assert (new.spec.method, new.spec.seeds, new.spec.fingerprint) == ("conal", old.spec.seeds, old.spec.fingerprint)
    assert old.scores == pytest.approx({name: new.scores[name] for name in old.scores})
    assert {"test_accuracy_selected", "valid_accuracy_selected", "seconds"} <= new.scores.keys()
    assert curves(new.id).equals(epochs)


def test_folders_and_records_that_have_lost_each_other(filled: Filled) -> None:
    place = filled.workspace.folder
    (place / "runs" / ("a" * 32)).mkdir()
    shutil.rmtree(place / "runs" / filled.waiting)
    (place / "artifacts" / filled.finished / "artifacts" / "result" / "arrays.safetensors").write_bytes(b"torn")
    problems = [one.what for one in check_workspace()]
    assert [one for one in problems if "a" * 32 in one and "neither a result" in one]
    assert [one for one in problems if filled.waiting in one and "has no folder" in one]
    assert [one for one in problems if filled.finished in one and "missing or broken" in one]
    assert all(one.done for one in check_workspace(repair=True))
    assert check_workspace() == []
    assert len(list((place / "runs").glob("a*.aside-*"))) == 1
    assert len(list((place / "artifacts" / filled.finished / "artifacts").glob("result.aside-*"))) == 1
    lost = get_run(filled.finished)
    assert not lost.has_result and lost.message.startswith("Its result was lost") and lost.name == "The best"


def test_where_there_is_nothing_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(CrowdError, match="workspace"):
        check_workspace(workspace=Workspace.open(tmp_path / "none"))
    assert check_workspace(workspace=Workspace.open(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CrowdError, match="Unset MLFLOW_TRACKING_URI"):
        check_workspace(workspace=Workspace(tmp_path, "http://server"))


def test_a_backup_comes_back(filled: Filled, run, crowdcore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: F811
    (filled.workspace.folder / "datasets" / "votes").mkdir(parents=True)
    (filled.workspace.folder / "datasets" / "votes" / "annotations.csv").write_text("task,worker,label\n")
    (filled.workspace.folder / "uploads" / "d1").mkdir(parents=True)
    demo = load_dataset("demo")
    mark = add_mark(demo, "digit-0001", "seven", comment="a bar", workspace=filled.workspace.folder)
    for name in ("uploads/d1/votes.csv", "pseudonyms.key"):
        (filled.workspace.folder / name).write_bytes(name.encode())
    (filled.workspace.folder / "runs" / filled.waiting / "cancel").touch()
    before = filled.seen()
    with sqlite3.connect(filled.workspace.database, isolation_level=None) as writer:  # type: ignore[arg-type]
        writer.execute("BEGIN IMMEDIATE")  # a run that goes on
        writer.execute("DELETE FROM tags")
        kept = crowdcore("workspace", "backup", tmp_path / "all.zip")
        writer.execute("ROLLBACK")
    writer.close()
    assert kept["files"] == len(zipfile.ZipFile(tmp_path / "all.zip").namelist()) - 1
    assert (tmp_path / "all.zip").stat().st_mode & 0o077 == 0
    assert run("workspace", "backup", tmp_path / "all.zip").code == 2
    back = crowdcore("workspace", "restore", tmp_path / "all.zip", tmp_path / "back")["folder"]
    monkeypatch.setenv("CROWDCORE_WORKSPACE", back)
    assert read_marks(demo) == (mark,)
    assert Filled(Workspace.open(), filled.finished, filled.waiting).seen() == before
    assert (Path(back) / "datasets" / "votes" / "annotations.csv").read_text() == "task,worker,label\n"
    for name in ("uploads/d1/votes.csv", "pseudonyms.key"):
        assert (Path(back) / name).read_bytes() == name.encode()
    assert not (Path(back) / "runs" / filled.waiting / "cancel").exists()
    assert check_workspace() == []
    refused = run("workspace", "restore", tmp_path / "all.zip", tmp_path / "back")
    assert refused.code == 2 and "not empty" in refused.err


def changed(source: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target


def listed(parts: dict[str, bytes], name: str, size: int = 1) -> None:
    document = json.loads(parts["backup.json"])
    document["files"][name] = [size, "0" * 64]
    parts["backup.json"] = json.dumps(document).encode()


def test_a_broken_backup_leaves_nothing(filled: Filled, tmp_path: Path) -> None:
    whole = tmp_path / "all.zip"
    backup_workspace(whole)
    journal = f"runs/{filled.waiting}/record.json"

    def climb(parts: dict[str, bytes]) -> None:
        parts["../evil"] = b"x"
        listed(parts, "runs/../../evil")

    def swap(parts: dict[str, bytes]) -> None:
        parts[journal] = b"x" * len(parts[journal])

    cases: list[tuple[Callable[[dict[str, bytes]], None], str]] = [
        (lambda parts: parts.pop("backup.json"), "not a backup of a workspace"),
        (lambda parts: parts.pop(journal), "damaged at runs"),
        (swap, "its checksum differs"),
        (climb, "does not belong to a workspace"),
        (lambda parts: listed(parts, "runs/huge", 10**15), "the disk of"),
    ]
    for change, says in cases:
        with pytest.raises(CrowdError, match=says):
            restore_workspace(changed(whole, tmp_path / "other.zip", change), tmp_path / "new")
        assert sorted(p.name for p in tmp_path.iterdir() if p.name not in {"workspace"}) == ["all.zip", "other.zip"]
    for content in (b"", whole.read_bytes()[:3000]):
        (tmp_path / "other.zip").write_bytes(content)
        with pytest.raises(DataError, match="backup"):
            restore_workspace(tmp_path / "other.zip", tmp_path / "new")
    with pytest.raises(CrowdError, match="read"):
        restore_workspace(tmp_path / "none.zip", tmp_path / "new")
