"""Faults of the record: one sentence each, soon, and work goes on when they are over."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.core.files import patient
from crowdcore.runs import RunSpec, Workspace, get_run, list_runs, record, result, set_note, store, workspace as places
from crowdcore.runs.engine import engine_state
from crowdcore.runs.faults import RecordError, explain
from crowdcore.runs.locks import is_locked
from testkit.recorded_runs import record as record_result
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


def queued() -> str:
    return store.create(RunSpec(dataset="demo", method="conal")).id


def one_sentence(error: BaseException) -> None:
    text = str(error)
    assert "\n" not in text and "SQL" not in text.replace("SQLite", "") and "Traceback" not in text, text
    assert len(text) < 400


def locked(database: Path) -> Callable[[], None]:
    """Keep writers out until the returned function is called."""
    connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")

    def release() -> None:
        connection.execute("ROLLBACK")
        connection.close()

    return release


def test_a_locked_record_is_said_within_five_seconds_and_goes_on(workspace: Workspace, monkeypatch) -> None:
    run, release, began = queued(), locked(workspace.database), time.monotonic()  # type: ignore[arg-type]
    differences: list[tuple[float, str]] = []

    class Listener:
        def write(self, text: str) -> None:
            if text.strip():
                differences.append((time.monotonic() - began, text))
                release()

        def flush(self) -> None: ...

    monkeypatch.setattr("crowdcore.runs.record.sys.stderr", Listener())
    with patient(60):
        set_note(run, "written later")
    [(seconds, text)] = differences
    assert 2 < seconds < 5 and "locked" in text and "60 s" in text
    assert get_run(run).note == "written later"


def test_a_page_does_not_wait(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "WAIT", 0.3)
    run, release, began = queued(), locked(workspace.database), time.monotonic()  # type: ignore[arg-type]
    with pytest.raises(CrowdError, match="changed") as refused:
        set_note(run, "x")
    one_sentence(refused.value)
    assert time.monotonic() - began < 5
    assert get_run(run).note == ""  # reading needs no lock
    release()
    set_note(run, "y")
    assert get_run(run).note == "y"


@pytest.mark.parametrize(("size", "how"), [(0, "is empty"), (9000, "is damaged"), (None, "is missing, but files")])
def test_a_lost_record_is_one_sentence_with_the_remedy(workspace: Workspace, size: int | None, how: str) -> None:
    queued()
    database = workspace.database
    assert database is not None
    elsewhere = workspace.folder.with_name("elsewhere")  # opened by a process that has not seen it before
    shutil.copytree(workspace.folder, elsewhere)
    broken = Workspace.open(elsewhere)
    assert broken.database is not None
    for end in ("-wal", "-shm"):
        broken.database.with_name(f"mlflow.db{end}").unlink(missing_ok=True)
    if size is None:
        broken.database.unlink()
    else:
        with broken.database.open("r+b") as file:
            file.truncate(size)
    for ask in (list_runs, lambda **w: get_run("0" * 32, **w)):
        with pytest.raises(CrowdError, match=f"{how}.*`crowdcore workspace check --repair`") as refused:
            ask(workspace=broken)
        one_sentence(refused.value)
    assert (broken.database.stat().st_size if broken.database.exists() else None) == size, "nothing was replaced"


def test_a_record_truncated_while_it_is_in_use(workspace: Workspace) -> None:
    for _ in range(3):
        queued()
    with sqlite3.connect(workspace.database) as database:  # type: ignore[arg-type]
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with workspace.database.open("r+b") as file:  # type: ignore[union-attr]
        file.truncate(8192)
    with pytest.raises(CrowdError, match="is damaged") as refused:
        list_runs()
        set_note("0" * 32, "x")
    one_sentence(refused.value)


def test_a_read_only_workspace_can_be_looked_at(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = featured_crowd(60)
    run = record_result(workspace, made_up(crowd), crowd)
    other = workspace.folder.with_name("other")
    shutil.copytree(workspace.folder, other)
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(other))
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and Path(path).exists())
    before = sorted(p.relative_to(other) for p in other.rglob("*"))
    assert [r.id for r in list_runs()] == [run]
    assert result(run).method == "conal"
    assert engine_state().address is None
    assert not is_locked(other / "runs" / run / "lease")
    for change in (queued, lambda: set_note(run, "x"), lambda: store.delete([run])):
        with pytest.raises(CrowdError, match=f"{other}") as refused:
            change()
        one_sentence(refused.value)
    assert sorted(p.relative_to(other) for p in other.rglob("*")) == before


def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Path, kind: str) -> None:
    table = tmp_path / "mounts"
    spelled = str(place).replace(" ", "\\040")
    table.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/home {spelled} {kind} rw 0 0\nproc /proc proc rw 0 0\n")
    monkeypatch.setattr(places, "_MOUNTS", table)


def test_a_network_folder_is_named_before_anything_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shared = tmp_path / "shared disk"
    for kind in ("nfs", "nfs4", "cifs", "fuse.sshfs", "lustre"):
        mounted(tmp_path, monkeypatch, shared, kind)
        with pytest.raises(CrowdError, match=f"{kind}") as refused:
            store.create(RunSpec(dataset="demo", method="conal"), workspace=Workspace.open(shared / "workspace"))
        one_sentence(refused.value)
    assert not shared.exists()
    for kind in ("ext4", "overlay", "tmpfs", "fuseblk", "fuse.mergerfs"):
        mounted(tmp_path, monkeypatch, shared, kind)
        assert places.network_filesystem(shared / "workspace") == ""


def test_a_record_on_a_network_folder_can_be_read(workspace: Workspace, tmp_path: Path, monkeypatch) -> None:
    run = queued()
    shutil.copytree(workspace.folder, tmp_path / "shared" / "workspace")
    mounted(tmp_path, monkeypatch, tmp_path / "shared", "nfs4")
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "shared" / "workspace"))
    assert [r.id for r in list_runs()] == [run]
    with pytest.raises(CrowdError, match="network folder"):
        set_note(run, "x")


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret-word@127.0.0.1:9")
    with pytest.raises(CrowdError, match="MLFLOW_TRACKING_URI") as refused:
        list_runs(workspace=Workspace.open(tmp_path))
    one_sentence(refused.value)
    assert "secret-word" not in str(refused.value)


def test_what_mlflow_says_in_words_of_its_own(workspace: Workspace) -> None:
    class OddError(Exception):
        __module__ = "sqlalchemy.exc"

    text = explain(OddError("(sqlite3.IntegrityError) UNIQUE failed\n[SQL: INSERT]\n(Background on this …)"), workspace)
    assert "UNIQUE failed" in str(text)
    full = explain(OddError("(sqlite3.OperationalError) database or disk is full [SQL: INSERT]"), workspace)
    assert full is not None and full.passes and "Make room" in str(full)
    assert explain(ValueError("ours"), workspace) is None
    again = RecordError("said already")
    assert explain(again, workspace) is again
    denied = explain(OddError("API request failed with error code 401 != 200"), Workspace(Path("/w"), "http://server"))
    assert "let you in" in str(denied)
    assert SimpleNamespace(**vars(denied)).passes is False
