"""Uploads of a workspace: found again, renamed, deleted. A note beside the data says what each is and whose."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.core.errors import SettingError
from crowdcore.core.json_files import write_json
from crowdcore.core.places import workspace
from crowdcore.data.uploads import NOTE, upload_folder
from dashboard.services.opening import note_of

LONGEST = 100  # characters of a title


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


def list_uploads() -> list[Upload]:
    """The uploads of whoever is signed in (of all, where nobody has to), the newest first."""
    datasets = [_upload(note, dataset=note.parent.name) for note in _notes("datasets")]
    read = {upload.file for upload in datasets if upload}
    files = [_upload(note, file=note.parent.name) for note in _notes("uploads") if note.parent.name not in read]
    found = [upload for upload in (*datasets, *files) if upload]
    return sorted(found, key=lambda upload: upload.when, reverse=True)


def _notes(where: str) -> list[Path]:
    return list((workspace() / where).glob(f"[!.]*/{NOTE}"))


def _upload(path: Path, **known: str) -> Upload | None:
    """What a note says; None for somebody else's upload."""
    note = note_of(path.parent)
    try:
        when = datetime.fromisoformat(note["when"])
        told = {"file": note.get("file", ""), "dataset": "", **known}
        mapping = {k: tuple(v) if isinstance(v, list) else v for k, v in note.get("mapping", {}).items()}
        found = Upload(str(note["name"]), size=int(note["size"]), when=when, mapping=mapping, **told)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return found if note.get("owner", "") == owner() else None


def owner() -> str:
    """The address of whoever is signed in, empty where nobody has to."""
    return str(st.user.to_dict().get("email") or "")


def title(name: str) -> str:
    """What a dataset is called on pages: an upload as its file, unless it was renamed."""
    folder = upload_folder(name)
    return str(note_of(folder).get("name", name)) if folder else name


def free_title(wanted: str) -> str:
    """The title itself, or with a number where a dataset is called so already."""
    import crowdcore as cc

    taken = {*cc.list_datasets(), *(upload.name for upload in list_uploads() if upload.dataset)}
    titles = (wanted if n == 1 else f"{wanted} ({n})" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in titles if candidate not in taken)


def note_file(home: Path, file: Path, name: str) -> None:
    """Note what a stored file is called."""
    write_json(home / NOTE, {"name": name, "stored": file.name, "size": file.stat().st_size, **_now()})


def digest_of(path: str) -> str:
    """Digest of the stored file that a path is, or is unpacked from; empty for another path."""
    home = workspace() / "uploads"
    return Path(path).relative_to(home).parts[0] if Path(path).is_relative_to(home) else ""


def note_dataset(folder: Path, name: str, file: str, mapping: Mapping[str, Any], notes: tuple[str, ...]) -> None:
    """Note what a dataset came from, how it was read, and what was noticed then."""
    size = note_of(workspace() / "uploads" / file).get("size", 0) if file else 0
    write_json(
        folder / NOTE, {"name": name, "file": file, "size": size, "mapping": dict(mapping), "notes": notes, **_now()}
    )


def _now() -> dict[str, str]:
    return {"when": datetime.now(UTC).isoformat(timespec="seconds"), "owner": owner()}


def kept_file(digest: str) -> Path | None:
    """A stored file by its digest."""
    home = workspace() / "uploads" / digest
    if not re.fullmatch("[0-9a-f]{20}", digest):
        return None
    file = home / Path(str(note_of(home).get("stored", ""))).name
    return file if file.is_file() else None


def rename_upload(upload: Upload, name: str) -> None:
    """Call an upload something else; its address stays.

    Raises:
        SettingError: no name, a long one, or that of another dataset.
    """
    name = " ".join(name.split())
    if name == upload.name:
        return
    if not 0 < len(name) <= LONGEST:
        raise SettingError("name", f"have 1 to {LONGEST} characters", name)
    if free_title(name) != name:
        raise SettingError("name", "differ from those of other datasets", name)
    home = upload_folder(upload.dataset) if upload.dataset else workspace() / "uploads" / upload.file
    if home is not None:
        write_json(home / NOTE, {**note_of(home), "name": name})


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
