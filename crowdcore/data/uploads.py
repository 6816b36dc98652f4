"""Datasets that were uploaded to the app: folders of the workspace, each with a note of what it is called."""

from __future__ import annotations

from pathlib import Path

from crowdcore.core.errors import SettingError
from crowdcore.core.json_files import read_json
from crowdcore.core.places import workspace

NOTE = "upload.json"
"""File of an upload, and of a dataset that came of one, with its name and how it was read."""


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
    notes = sorted((workspace() / "datasets").glob(f"[!.]*/{NOTE}"))
    return {note.parent.name: note.parent for note in notes}


def find_upload(name: str) -> Path | None:
    """The folder of an uploaded dataset by its name in addresses, or by what the app calls it; None for others.

    Raises:
        SettingError: several are called so.
    """
    folder = upload_folder(name)
    if folder is not None:
        return folder
    called = [folder for folder in uploaded_datasets().values() if read_json(folder / NOTE).get("name") == name]
    if len(called) > 1:
        remedy = f"Pass one of {', '.join(folder.name for folder in called)}."
        raise SettingError("name", "be what one upload alone is called", name, remedy)
    return called[0] if called else None
