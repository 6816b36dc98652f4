"""Uploads to the app: stored files and the datasets made of them, folders of the workspace, each with a note."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from crowdcore.core.errors import SettingError
from crowdcore.core.files import read_json, workspace

NOTE = "upload.json"
"""File of an upload, and of a dataset that came of one, with its name, its owner and how it was read."""


@dataclass(frozen=True)
class Upload:
    """A file that someone brought along, and the dataset that it became.

    Args:
        name: what it is called.
        file: digest of the stored file, empty if there is none (any more).
        dataset: the dataset's name in addresses, empty until the file is taken in.
        size: bytes of the file.
        when: when it was stored, or taken in.
        mapping: how it was read.
    """

    name: str
    file: str
    dataset: str
    size: int
    when: datetime
    mapping: Mapping[str, Any]

    @property
    def rated(self) -> bool:
        """Whether its labels were read as ratings."""
        return self.mapping.get("kind") == "ratings"


def list_uploads(owner: str = "") -> list[Upload]:
    """The uploads of one owner, the newest first; "" is everybody where nobody signs in."""
    datasets = [_upload(note, owner, dataset=note.parent.name) for note in _notes("datasets")]
    read = {upload.file for upload in datasets if upload}
    files = [_upload(note, owner, file=note.parent.name) for note in _notes("uploads") if note.parent.name not in read]
    found = [upload for upload in (*datasets, *files) if upload]
    return sorted(found, key=lambda upload: upload.when, reverse=True)


def _notes(where: str) -> list[Path]:
    return list((workspace() / where).glob(f"[!.]*/{NOTE}"))


def _upload(path: Path, owner: str, **known: str) -> Upload | None:
    """What a note says; None for somebody else's upload."""
    note = note_of(path.parent)
    try:
        when = datetime.fromisoformat(note["when"])
        told = {"file": note.get("file", ""), "dataset": "", **known}
        mapping = {k: tuple(v) if isinstance(v, list) else v for k, v in note.get("mapping", {}).items()}
        found = Upload(str(note["name"]), size=int(note["size"]), when=when, mapping=mapping, **told)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return found if note.get("owner", "") == owner else None


def note_of(folder: Path) -> Mapping[str, Any]:
    """What the note in a folder says; empty without one. It is read again only when its file is another one."""
    file = folder / NOTE
    try:
        found = file.stat()
    except OSError:
        return {}
    return _read(file, found.st_ino, found.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _read(file: Path, number: int, changed: int) -> Mapping[str, Any]:
    return read_json(file)


def dataset_title(name: str) -> str:
    """What a dataset is called on pages: an upload as its file, unless it was renamed."""
    folder = upload_folder(name)
    return str(note_of(folder).get("name", name)) if folder else name


def upload_folder(name: str, home: Path | None = None) -> Path | None:
    """The folder of an uploaded dataset by its name in addresses, or None; a name never leads out of the workspace.

    Args:
        name: such as ``votes-0f3a7c21d9``.
        home: the workspace; default: the one of `workspace`.
    """
    folder = workspace(home) / "datasets" / name
    return folder if Path(name).name == name and name not in {"", ".", ".."} and folder.is_dir() else None


def uploaded_datasets() -> dict[str, Path]:
    """Name in addresses -> folder of every upload that became a dataset of the workspace."""
    return {note.parent.name: note.parent for note in sorted(_notes("datasets"))}


def find_upload(name: str) -> Path | None:
    """The folder of an uploaded dataset by its name in addresses, or by what the app calls it; None for others.

    Raises:
        SettingError: several are called so.
    """
    folder = upload_folder(name)
    if folder is not None:
        return folder
    called = [folder for folder in uploaded_datasets().values() if note_of(folder).get("name") == name]
    if len(called) > 1:
        remedy = f"Pass one of {', '.join(folder.name for folder in called)}."
        raise SettingError("name", "be what one upload alone is called", name, remedy)
    return called[0] if called else None


def stored_file(digest: str) -> Path | None:
    """A stored file by its digest."""
    home = workspace() / "uploads" / digest
    if not re.fullmatch("[0-9a-f]{20}", digest):
        return None
    file = home / Path(str(note_of(home).get("stored", ""))).name
    return file if file.is_file() else None


def digest_of(path: str) -> str:
    """Digest of the stored file that a path is, or is unpacked from; empty for another path."""
    home = workspace() / "uploads"
    return Path(path).relative_to(home).parts[0] if Path(path).is_relative_to(home) else ""


def delete_upload(upload: Upload) -> None:
    """Delete the dataset, and the stored file unless another dataset came from it."""
    if upload.dataset and (folder := upload_folder(upload.dataset)):
        _discard(folder)
    others = {note_of(note.parent).get("file") for note in _notes("datasets")}
    if upload.file and upload.file not in others:
        _discard(workspace() / "uploads" / upload.file)


def _discard(folder: Path) -> None:
    """Remove a folder so that no half of it is ever seen."""
    gone = folder.with_name(f".{folder.name}.deleted")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.is_dir():
        folder.rename(gone)
        shutil.rmtree(gone)
