"""Whether record and files of a workspace fit together, and making them fit again; nothing is ever deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.runs import store
from crowdcore.runs.adoption import adopt, facts_of
from crowdcore.runs.engine import stop_engine
from crowdcore.runs.files import EngineFiles
from crowdcore.runs.locks import locked
from crowdcore.runs.record import ask
from crowdcore.runs.record_errors import LostRecordError
from crowdcore.runs.run import TAG, Run
from crowdcore.runs.schema import client_of, connect, make_database
from crowdcore.runs.workspace import RUN_ID, Workspace


@dataclass(frozen=True)
class Finding:
    """Something that does not fit.

    Args:
        what: in one sentence.
        done: what was done about it; "" when nothing was.
    """

    what: str
    done: str = ""


def check_workspace(*, repair: bool = False, workspace: Workspace | None = None) -> list[Finding]:
    """Look for a lost record, runs without files and files without a run.

    Args:
        repair: rebuild the record from the results, and put aside what belongs to no run, by renaming it.
        workspace: None: ``Workspace.open()``.

    Returns:
        What was found; empty when all is well.

    Raises:
        CrowdError: there is no workspace, or its record is elsewhere, locked or of another version of MLflow.
    """
    workspace = workspace or Workspace.open()
    if not workspace.folder.is_dir():
        raise CrowdError(f"There is no workspace at {workspace.folder}. Name one with CROWDCORE_WORKSPACE.")
    if not workspace.owns_record:
        raise CrowdError(
            "The record of this workspace is not in its folder, so there is nothing to check. "
            "Unset MLFLOW_TRACKING_URI to check the folder's own."
        )
    if repair and workspace.read_only:
        raise CrowdError(workspace.read_only)
    found = list(_look(workspace, repair=False))
    if not (found and repair):
        return found
    stop_engine(workspace=workspace)  # unfinished runs go on with the next one
    with locked(EngineFiles(workspace.folder).lock, wait=5):
        return list(_look(workspace, repair=True))


def _look(workspace: Workspace, repair: bool) -> Iterator[Finding]:
    lost = _lost(workspace)
    if lost:
        yield Finding(lost, _replace_database(workspace) if repair else "")
    known = {} if lost and not repair else _known(workspace)
    for run_id in sorted(_ids_with_files(workspace)):
        if run_id not in known:
            yield _orphan(workspace, run_id, repair)
        elif known[run_id] == "deleted":
            yield Finding(f"Files of the deleted run {run_id} were left.", _aside(workspace, run_id) if repair else "")
    if workspace.database and workspace.database.exists() and (repair or not lost):
        for run in store.list_runs(workspace=workspace):
            yield from _run(workspace, run, repair)


def _lost(workspace: Workspace) -> str:
    """What is wrong with the database as a whole; "" when it can be used, or nothing was ever recorded."""
    database = workspace.database
    assert database is not None
    if not database.exists() and not _ids_with_files(workspace):
        return ""
    try:
        client_of(workspace)
        said = ask(workspace, lambda: _integrity(workspace))
    except LostRecordError as error:
        return error.statement
    return "" if said == "ok" else f"The record of runs ({database}) is damaged: {said}."


def _integrity(workspace: Workspace) -> str:
    with connect(workspace) as connection:
        return str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])


def _known(workspace: Workspace) -> dict[str, str]:
    """Run -> "active" or "deleted"; empty where there is no record yet."""
    if not (workspace.database and workspace.database.exists()):
        return {}

    def read() -> dict[str, str]:
        with connect(workspace) as connection:
            return dict(connection.execute("SELECT run_uuid, lifecycle_stage FROM runs"))

    return ask(workspace, read)


def _ids_with_files(workspace: Workspace) -> set[str]:
    folders = (workspace.folder / name for name in ("runs", "artifacts"))
    return {p.name for f in folders if f.is_dir() for p in f.iterdir() if RUN_ID.fullmatch(p.name)}


def _replace_database(workspace: Workspace) -> str:
    database = workspace.database
    assert database is not None
    kept = [_rename(p) for end in ("", "-wal", "-shm") if (p := database.with_name(database.name + end)).exists()]
    make_database(workspace)
    return f"It was rebuilt{f'; the old file is {kept[0].name}' if kept else ''}."


def _orphan(workspace: Workspace, run_id: str, repair: bool) -> Finding:
    facts = facts_of(workspace, run_id)
    if facts is None:
        what = f"The folder of {run_id} holds neither a result nor a copy of its record."
        return Finding(what, _aside(workspace, run_id) if repair else "")
    what = f"Run {run_id} ({facts.spec.method} on {facts.spec.dataset}) has files but no record."
    if repair:
        adopt(workspace, run_id, facts)
    return Finding(what, "It is in the record again." if repair else "")


def _run(workspace: Workspace, run: Run, repair: bool) -> Iterator[Finding]:
    """What is wrong with the files of a run that the record knows."""
    from crowdcore.learning.results.result_files import load_result

    if not run.has_ended and not workspace.run_folder(run.id).is_dir():
        if repair:
            workspace.run_folder(run.id).mkdir(mode=0o700, parents=True)
        yield Finding(f"Run {run.id} is {run.state}, but has no folder.", "It begins again." if repair else "")
    if not run.has_result:
        return
    place = workspace.artefact_folder(run.id)
    try:
        load_result(place / "result")
        if not (place / "predictions.parquet").is_file():
            raise DataError("Its predictions are missing")
    except DataError as error:
        done = ""
        if repair:
            if (place / "result").exists():
                _rename(place / "result")
            store.set_message(run.id, "Its result was lost: run it again to have it back.", workspace=workspace)
            store.set_tag(run.id, f"{TAG}result", "", workspace)
            done = "The record says so now; run it again to have it back."
        yield Finding(f"The result of run {run.id} ({run.title}) is missing or broken: {error}.", done)


def _aside(workspace: Workspace, run_id: str) -> str:
    kept = []
    for name in ("runs", "artifacts"):
        with contextlib.suppress(FileNotFoundError):
            kept.append(_rename(workspace.folder / name / run_id))
    return f"Put aside as {', '.join(str(p.relative_to(workspace.folder)) for p in kept)}."


def _rename(path: Path) -> Path:
    """Keep a file or folder under another name."""
    new = path.with_name(f"{path.name}.aside-{datetime.now():%Y%m%d-%H%M%S-%f}")
    return path.rename(new)
