"""A workspace as one ZIP file, also while runs go on, and a workspace out of such a file."""

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
from pathlib import Path, PurePosixPath

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import create_private, file_sha256, flush, replacing
from crowdcore.data.pseudonyms import KEY_FILE
from crowdcore.data.unpack import leads_outside
from crowdcore.runs.record import ask, client_of, connect
from crowdcore.runs.workspace import Workspace

_LIST, _FORMAT = "backup.json", 1  # file -> size and SHA-256, the last entry of the archive
_FOLDERS = ("runs", "artifacts", "datasets", "uploads", "marks")
_FILES = frozenset({"mlflow.db", KEY_FILE})  # beside them; the key gives workers the pseudonyms they had
_LEFT_OUT = frozenset({"lease", "cancel", "cancel-now", "fetched", "result.new"})  # of the moment
_PIECE = 1 << 20  # bytes read at once
_SHORT = 1 << 26  # bytes that a list may have


def backup_workspace(file: Path | str, *, workspace: Workspace | None = None) -> int:
    """Write a workspace to one ZIP file: record, results, checkpoints, uploads, marks, key; runs may go on meanwhile.

    The record is copied first: what it says is finished is in the file, what ends later is as it was before.

    Args:
        file: to write; whole or not at all.
        workspace: None: ``Workspace.open()``.

    Returns:
        How many files are in it.

    Raises:
        CrowdError: there is no workspace, its record is not in its folder, or the file is there or cannot be written.
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
    """What is committed at this moment, as one file without a log beside it."""
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
    """Copy a file into the archive; returns its size and SHA-256 as they were read."""
    size, digest = 0, hashlib.sha256()
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
        while piece := source.read(_PIECE):
            target.write(piece)
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def restore_workspace(file: Path | str, folder: Path | str | None = None) -> Workspace:
    """Make a workspace out of a backup; whole or not at all.

    Args:
        file: what `backup_workspace` wrote.
        folder: where; empty or not there. None: that of ``Workspace.open()``.

    Raises:
        CrowdError: the folder has something in it, or there is no room.
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
            _unpack(archive, _listed(archive, file), draft, file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise DataError("This is not a backup of a workspace, or it is damaged", file=file) from error
    except OSError as error:
        raise CrowdError(f"{error.filename or file} cannot be read or written: {error.strerror}.") from error
    return workspace


def _listed(archive: zipfile.ZipFile, file: Path) -> dict[str, tuple[int, str]]:
    """File -> size and sum, as the backup lists them."""
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
