"""Files that users bring along: kept in the workspace, examined, and taken in when accepted."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import streamlit as st

from crowdcore.core.confined import run_confined, start_helper
from crowdcore.data.unpack import unpack_zip
from dashboard.services._cache import fitting, workspace

if TYPE_CHECKING:
    from crowdcore.data import Import

__all__ = ["MAPPED", "accept", "examine", "get_ready", "receive"]

MAPPED = ("task", "worker", "label", "gold")
_CHUNK = 1 << 20


def get_ready() -> None:
    """Have what examines files loaded by the time that one comes."""
    start_helper()


def receive(name: str, content: BinaryIO) -> str:
    """Store an uploaded file under its content's digest; a ZIP is unpacked.

    Returns:
        The path of the file or folder to examine.

    Raises:
        CrowdError: a damaged archive, or one that unpacks to too much.
    """
    digest = hashlib.blake2b(digest_size=10)
    content.seek(0)
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    home = workspace() / "uploads" / digest.hexdigest()
    file = home / (re.sub(r"[^\w. -]", "_", Path(name).name).strip(". ") or "upload")
    if not file.exists():
        home.mkdir(parents=True, exist_ok=True)
        content.seek(0)
        partial = file.with_name(file.name + ".part")
        with partial.open("wb") as out:
            shutil.copyfileobj(content, out, _CHUNK)
        partial.rename(file)
    return str(_unpacked(file) if zipfile.is_zipfile(file) else file)


def _unpacked(archive: Path) -> Path:
    """The folder that a ZIP holds; its only folder if it holds nothing else."""
    target = archive.with_name(archive.stem + ".unpacked")
    if not target.exists():
        run_confined(unpack_zip, archive, target)
    inside = [child for child in target.iterdir() if child.name != "__MACOSX"]
    return inside[0] if len(inside) == 1 else target


@st.cache_resource(show_spinner="Reading the file …", max_entries=4)
def examine(path: str, mapping: tuple[tuple[str, str], ...]) -> Import | tuple[tuple[str, ...], dict[str, str]]:
    """What a stored file holds; or, where its columns do not say, the columns and the roles known.

    Raises:
        CrowdError: no crowd data, or a damaged file.
    """
    from crowdcore.data import MappingError, examine

    try:
        return run_confined(examine, path, **dict(mapping))
    except MappingError as question:
        return question.columns, question.roles


def accept(examined: Import) -> str:
    """Take a file in, with all that is dropped or merged; it becomes a dataset of the workspace.

    Returns:
        The name to open it by.

    Raises:
        CrowdError: its tables would not fit into memory.
    """
    from crowdcore.data.writers import write_folder

    dataset = fitting(examined.dataset(accept=True))
    slug = re.sub(r"[^a-z0-9]+", "-", dataset.name.lower()).strip("-")[:40] or "upload"
    name = f"{slug}-{dataset.fingerprint[:10]}"
    folder = workspace() / "datasets" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        write_folder(dataset, folder)
    uploads = st.session_state.setdefault("uploads", [])
    if name not in uploads:
        uploads.insert(0, name)
    return name
