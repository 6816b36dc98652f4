"""Uploads of whoever is signed in: listed, named, renamed; `crowdcore.data.uploads` keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.core.errors import SettingError
from crowdcore.core.json_files import write_json
from crowdcore.core.places import workspace
from crowdcore.data import uploads
from crowdcore.data.uploads import NOTE, Upload, note_of, upload_folder

LONGEST = 100  # characters of a title


def list_uploads() -> list[Upload]:
    """The uploads of whoever is signed in (of all, where nobody has to), the newest first."""
    return uploads.list_uploads(owner())


def owner() -> str:
    """The address of whoever is signed in, empty where nobody has to."""
    return str(st.user.to_dict().get("email") or "")


def free_title(wanted: str) -> str:
    """The title itself, or with a number where a dataset is called so already."""
    import crowdcore as cc

    taken = {*cc.list_datasets(), *(upload.name for upload in list_uploads() if upload.dataset)}
    titles = (wanted if n == 1 else f"{wanted} ({n})" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in titles if candidate not in taken)


def note_file(home: Path, file: Path, name: str) -> None:
    """Note what a stored file is called."""
    write_json(home / NOTE, {"name": name, "stored": file.name, "size": file.stat().st_size, **_now()})


def note_dataset(folder: Path, name: str, file: str, mapping: Mapping[str, Any], notes: tuple[str, ...]) -> None:
    """Note what a dataset came from, how it was read, and what was noticed then."""
    size = note_of(workspace() / "uploads" / file).get("size", 0) if file else 0
    note = {"name": name, "file": file, "size": size, "mapping": dict(mapping), "notes": notes, **_now()}
    write_json(folder / NOTE, note)


def _now() -> dict[str, str]:
    return {"when": datetime.now(UTC).isoformat(timespec="seconds"), "owner": owner()}


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
