"""Maintenance of a workspace: check and repair its record and files; write it to a ZIP file and back.

Nothing is ever deleted. A run that the record has lost is rebuilt from its folders.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import create_private, file_sha256, flush, read_json, replacing
from crowdcore.data.pseudonyms import KEY_FILE
from crowdcore.data.unpack import leads_outside
from crowdcore.runs import store
from crowdcore.runs.artefacts import result_scores
from crowdcore.runs.engine import EngineFiles, ensure_engine, stop_engine
from crowdcore.runs.faults import LostRecordError
from crowdcore.runs.locks import locked
from crowdcore.runs.record import ask, client_of, connect, experiment_of, make_database
from crowdcore.runs.recorder import checkpointed, spread
from crowdcore.runs.run import NAME, TAG, Run, RunSpec, default_name
from crowdcore.runs.workspace import RUN_ID, Workspace

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt


@dataclass(frozen=True)
class Finding:
    """A fault in a workspace.

    Args:
        what: the fault, in one sentence.
        done: the repair, in one sentence; "" without.
    """

    what: str
    done: str = ""


def check_workspace(*, repair: bool = False, workspace: Workspace | None = None) -> list[Finding]:
    """Check for a lost record, runs without files and files without a run.

    Args:
        repair: rebuild the record from the results, and rename files that belong to no run.
        workspace: None: ``Workspace.open()``.

    Returns:
        The faults.

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
    faults = list(_look(workspace, repair=False))
    if not (faults and repair):
        return faults
    files = EngineFiles(workspace.folder)
    wanted = files.wanted.exists()
    stop_engine(workspace=workspace)
    try:
        with locked(files.lock, wait=5):
            return list(_look(workspace, repair=True))
    finally:
        if wanted:  # unfinished runs go on
            ensure_engine(workspace=workspace)


def _look(workspace: Workspace, repair: bool) -> Iterator[Finding]:
    lost = _lost(workspace)
    if lost:
        yield Finding(lost, _replace_database(workspace) if repair else "")
    known = {} if lost and not repair else _lifecycle_stages(workspace)
    for run_id in sorted(_ids_with_files(workspace)):
        if run_id not in known:
            yield _orphan(workspace, run_id, repair)
        elif known[run_id] == "deleted":
            yield Finding(f"Files of the deleted run {run_id} were left.", _aside(workspace, run_id) if repair else "")
    if workspace.database and workspace.database.exists() and (repair or not lost):
        for run in store.list_runs(workspace=workspace):
            yield from _run(workspace, run, repair)


def _lost(workspace: Workspace) -> str:
    """Fault of the database as a whole; "" if it can be used, or nothing was ever recorded."""
    database = workspace.database
    assert database is not None
    if not database.exists() and not _ids_with_files(workspace):
        return ""
    try:
        client_of(workspace)
        answer = ask(workspace, lambda: _integrity(workspace))
    except LostRecordError as error:
        return error.statement
    return "" if answer == "ok" else f"The record of runs ({database}) is damaged: {answer}."


def _integrity(workspace: Workspace) -> str:
    with connect(workspace) as connection:
        return str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])


def _lifecycle_stages(workspace: Workspace) -> dict[str, str]:
    """Run -> "active" or "deleted"; empty without a record."""
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
    """Faults of the files of a recorded run."""
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
    """Rename a file or folder, to keep it aside."""
    new = path.with_name(f"{path.name}.aside-{datetime.now():%Y%m%d-%H%M%S-%f}")
    return path.rename(new)


@dataclass(frozen=True)
class Facts:
    """Record of a run without its curves, under MLflow's names."""

    spec: RunSpec
    user_id: str
    status: str
    start_time: int
    end_time: int | None
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, float]


def facts_of(workspace: Workspace, run_id: str) -> Facts | None:
    """Facts of a run, from the copy of the record in its folder, else from its result; None without both."""
    kept = read_json(workspace.run_folder(run_id) / store.COPY)
    try:
        spec = RunSpec(**json.loads(kept["tags"][f"{TAG}spec"]))
        spec = spec.model_copy(update={"dataset": _here(spec.dataset, workspace)})
        tags = kept["tags"] | {f"{TAG}spec": spec.model_dump_json()}
        return Facts(**{**kept, "spec": spec, "tags": tags})
    except (KeyError, ValueError, TypeError):
        result = _read_result(workspace, run_id)
        return None if result is None else _facts_of_result(result, _result_time(workspace, run_id))


def _here(dataset: str, workspace: Workspace) -> str:
    """Path of a dataset that was uploaded to this workspace before it was moved; other names are returned as given."""
    came_along = workspace.folder / "datasets" / Path(dataset).name
    is_moved = Path(dataset).is_absolute() and not Path(dataset).exists() and came_along.exists()
    return str(came_along) if is_moved else dataset


def _read_result(workspace: Workspace, run_id: str) -> Learnt | None:
    from crowdcore.learning.results.result_files import load_result

    try:
        return load_result(workspace.artefact_folder(run_id) / "result")
    except CrowdError:
        return None


def _result_time(workspace: Workspace, run_id: str) -> int:
    """Time at which the result was written, in milliseconds."""
    return round(1000 * (workspace.artefact_folder(run_id) / "result" / "result.json").stat().st_mtime)


def _facts_of_result(result: Learnt, at: int) -> Facts:
    used = {**result.training, **result.settings}
    spec = RunSpec(
        dataset=result.dataset, fingerprint=result.fingerprint, method=result.method, settings=used, seeds=result.seeds
    )
    tags = {
        f"{TAG}spec": spec.model_dump_json(),
        f"{TAG}result": "yes",
        f"{TAG}validated_on": result.validated_on,
        f"{TAG}device": result.device,
        f"{TAG}message": "Rebuilt from its result.",
        NAME: default_name(spec),
    }
    given = {"dataset": spec.dataset, "method": spec.method, "seeds": ", ".join(map(str, spec.seeds))}
    params = {name: str(value) for name, value in {**given, "fingerprint": spec.fingerprint, **used}.items()}
    scores = {"seconds": result.seconds, "annotations_per_second": result.annotations_per_second}
    return Facts(
        spec, "", "FINISHED", at - round(1000 * result.seconds), at, tags, params, scores | result_scores(result)
    )


def adopt(workspace: Workspace, run_id: str, facts: Facts) -> None:
    """Write a run into the record, with its curves, in one transaction."""
    at = facts.end_time or facts.start_time
    points = {(key, epoch): value for key, value, epoch in _curves(workspace, run_id)}
    in_curves = {key for key, _ in points}
    points |= {(key, 0): value for key, value in facts.metrics.items() if key not in in_curves}
    latest = {key: (value, epoch) for (key, epoch), value in sorted(points.items(), key=lambda point: point[0][1])}
    row = {
        "run_uuid": run_id,
        "name": facts.tags.get(NAME, ""),
        "source_type": "LOCAL",
        "source_name": "crowdcore",
        "user_id": facts.user_id,
        "status": facts.status,
        "start_time": facts.start_time,
        "end_time": facts.end_time,
        "lifecycle_stage": "active",
        "artifact_uri": workspace.artefact_folder(run_id).as_uri(),
        "experiment_id": int(experiment_of(workspace, facts.spec.dataset)),
    }
    metrics = [(run_id, key, epoch, value, at, False) for (key, epoch), value in points.items()]
    lasts = [(run_id, key, epoch, value, at, False) for key, (value, epoch) in latest.items()]

    def write() -> None:
        with connect(workspace) as connection:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks})", [*row.values()])
            for table, pairs in (("tags", facts.tags), ("params", facts.params)):
                rows = [(run_id, key, value) for key, value in pairs.items()]
                connection.executemany(f"INSERT INTO {table} (run_uuid, key, value) VALUES (?, ?, ?)", rows)
            for table, values in (("metrics", metrics), ("latest_metrics", lasts)):
                columns = "run_uuid, key, step, value, timestamp, is_nan"
                connection.executemany(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)

    ask(workspace, write)


def _curves(workspace: Workspace, run_id: str) -> Iterator[tuple[str, float, int]]:
    """Curves of a run's result, else of its checkpoint: name, mean or standard deviation over seeds, epoch."""
    result = _read_result(workspace, run_id)
    checkpoint = checkpointed(workspace.run_folder(run_id) / "checkpoint")
    histories: list[dict[str, Any]] = [result.curves] if result else [history for _, history in checkpoint]
    values: dict[tuple[str, int], list[float]] = {}
    for history in histories:
        for name, rows in history.items():
            for epoch, row in enumerate(rows, 1):
                values.setdefault((name, epoch), []).extend(map(float, row))
    for (name, epoch), over_seeds in values.items():
        if name != "seconds":
            yield from ((key, value, epoch) for key, value in spread(name, over_seeds).items())


_LIST, _FORMAT = "backup.json", 1  # file -> size and SHA-256, the last entry of the archive
_FOLDERS = ("runs", "artifacts", "datasets", "uploads", "marks")
_FILES = frozenset({"mlflow.db", KEY_FILE})  # beside them; the key gives workers the pseudonyms they had
_LEFT_OUT = frozenset({"lease", "cancel", "cancel-now", "fetched", "result.new"})  # temporary files
_PIECE = 1 << 20  # bytes read at once
_SHORT = 1 << 26  # most bytes of the list


def backup_workspace(file: Path | str, *, workspace: Workspace | None = None) -> int:
    """Write a workspace to one ZIP file: record, results, checkpoints, uploads, marks, key; runs may go on meanwhile.

    The record is copied first: the file holds the results of all runs that are finished then, others as unfinished.

    Args:
        file: file to write; whole or not at all.
        workspace: None: ``Workspace.open()``.

    Returns:
        The number of files in it.

    Raises:
        CrowdError: there is no workspace, its record is not in its folder, or the file exists or cannot be written.
    """
    workspace, file = workspace or Workspace.open(), Path(file).resolve()
    if not workspace.owns_record or not (workspace.database and workspace.database.exists()):
        raise CrowdError(f"There is no record of runs in {workspace.folder} to back up.")
    if file.exists():
        raise CrowdError(f"{file} already exists. Choose another file, or delete it first.")
    try:
        with replacing(file) as draft:
            os.close(create_private(draft))
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                n = _fill(archive, workspace)
            flush(draft)
    except OSError as error:
        raise CrowdError(f"The backup {file} cannot be written: {error.strerror}.") from error
    return n


def _fill(archive: zipfile.ZipFile, workspace: Workspace) -> int:
    sums: dict[str, tuple[int, str]] = {}
    with tempfile.TemporaryDirectory(prefix="crowdcore-") as folder:
        copy = Path(folder) / "mlflow.db"
        client_of(workspace)  # refuses a record that is lost
        ask(workspace, lambda: _copy_database(workspace, copy))
        sums["mlflow.db"] = _add(archive, copy, "mlflow.db")
    for path in _files(workspace.folder):
        name = path.relative_to(workspace.folder).as_posix()
        with contextlib.suppress(FileNotFoundError):  # a checkpoint that was replaced by the next one
            sums[name] = _add(archive, path, name)
    archive.writestr(_LIST, json.dumps({"format": _FORMAT, "files": sums}))
    return len(sums)


def _copy_database(workspace: Workspace, copy: Path) -> None:
    """Copy the committed state of the database to one file, without a log beside it."""
    with connect(workspace) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _files(folder: Path) -> Iterator[Path]:
    if (key := folder / KEY_FILE).is_file():
        yield key
    for top in _FOLDERS:
        for path in sorted((folder / top).rglob("*")):
            temporary = path.name.startswith(".") or path.suffix == ".tmp"
            if path.is_file() and not path.is_symlink() and not temporary and not _LEFT_OUT & set(path.parts):
                yield path


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> tuple[int, str]:
    """Copy a file into the archive; return its size and SHA-256 as read."""
    size, digest = 0, hashlib.sha256()
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
        while piece := source.read(_PIECE):
            target.write(piece)
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def restore_workspace(file: Path | str, folder: Path | str | None = None) -> Workspace:
    """Restore a workspace from a backup; whole or not at all.

    Args:
        file: a file written by `backup_workspace`.
        folder: an empty or new folder; None: that of ``Workspace.open()``.

    Raises:
        CrowdError: the folder is not empty, or there is no room.
        DataError: the file is no backup, or broken.
    """
    workspace = Workspace.open(folder)
    place, file = workspace.folder, Path(file)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise CrowdError(f"{place} is not empty, and nothing is overwritten. Choose an empty or new folder.")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(file) as archive, replacing(place) as draft:
            draft.mkdir(mode=0o700)
            _unpack(archive, _listed_sums(archive, file), draft, file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise DataError("This is not a backup of a workspace, or it is damaged", file=file) from error
    except OSError as error:
        raise CrowdError(f"{error.filename or file} cannot be read or written: {error.strerror}.") from error
    return workspace


def _listed_sums(archive: zipfile.ZipFile, file: Path) -> dict[str, tuple[int, str]]:
    """File -> size and checksum, from the backup's list."""
    try:
        entry = archive.getinfo(_LIST)
        if entry.file_size > _SHORT:
            raise ValueError
        listed = json.loads(archive.read(entry))
        sums = {str(name): (int(size), str(digest)) for name, (size, digest) in listed["files"].items()}
        if listed["format"] != _FORMAT or "mlflow.db" not in sums:
            raise ValueError
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            "This is not a backup of a workspace", "`crowdcore workspace backup` writes one.", file=file
        ) from error
    return sums


def _unpack(archive: zipfile.ZipFile, sums: dict[str, tuple[int, str]], folder: Path, file: Path) -> None:
    if (needed := sum(size for size, _ in sums.values())) > shutil.disk_usage(folder).free:
        raise CrowdError(f"{file.name} needs {needed / 1e9:.1f} GB, and the disk of {folder.parent} has less.")
    for name, (size, digest) in sums.items():
        parts = PurePosixPath(name).parts
        if name not in _FILES and (len(parts) < 2 or parts[0] not in _FOLDERS or leads_outside(name)):
            raise DataError(f"The backup has a file {name!r}, which does not belong to a workspace", file=file)
        (folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            is_whole = archive.getinfo(name).file_size == size  # zipfile reads no more than that
            written = Path(archive.extract(name, folder)) if is_whole else None
        except (KeyError, zipfile.BadZipFile) as error:
            raise DataError(f"The backup is damaged at {name}", "Take another one.", file=file) from error
        if written is None or file_sha256(written) != digest:
            raise DataError(f"The backup is damaged at {name}: its checksum differs", "Take another one.", file=file)
        written.chmod(0o600)
