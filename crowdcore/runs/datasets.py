"""Opening the dataset of a run: uploaded to the workspace, named, or a path."""

from __future__ import annotations

from pathlib import Path

from crowdcore.data import CrowdDataset, load_dataset, read_dataset
from crowdcore.runs.workspace import Workspace

__all__ = ["open_dataset", "spelled"]


def spelled(name: str) -> str:
    """How a run calls a dataset: its name, or the absolute path of a file or folder."""
    is_path = "/" in name or "\\" in name or (bool(Path(name).suffix) and Path(name).exists())
    return str(Path(name).resolve()) if is_path else name


def open_dataset(name: str, workspace: Workspace) -> CrowdDataset:
    """The dataset of a run's specification.

    Raises:
        CrowdError: it is not there (any more), or its files are at fault.
    """
    if Path(name).is_absolute():
        return read_dataset(name)
    uploaded = workspace.folder / "datasets" / name
    return read_dataset(uploaded) if name not in {"", ".", ".."} and uploaded.is_dir() else load_dataset(name)
