"""Opening the dataset of a run: uploaded to the workspace, named, or a path."""

from __future__ import annotations

from pathlib import Path

from crowdcore.data import CrowdDataset, load_dataset, read_dataset
from crowdcore.runs.workspace import Workspace

__all__ = ["open_dataset"]


def open_dataset(name: str, workspace: Workspace) -> CrowdDataset:
    """The dataset of a run's specification.

    Raises:
        CrowdError: it is not there (any more), or its files are at fault.
    """
    if "/" in name:
        return read_dataset(name)
    uploaded = workspace.folder / "datasets" / name
    if name not in {"", ".", ".."} and Path(name).name == name and uploaded.is_dir():
        return read_dataset(uploaded)
    return load_dataset(name)
