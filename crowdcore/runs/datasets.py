"""Opening the dataset of a run: uploaded to the workspace, named, or a path."""

from __future__ import annotations

from pathlib import Path

from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset, RatingDataset
from crowdcore.data.catalogue import is_path, load_labels, read_labels
from crowdcore.data.ratings import Labelled
from crowdcore.data.uploads import upload_folder
from crowdcore.runs.workspace import Workspace


def spelled(name: str) -> str:
    """How a run calls a dataset: its name, or the absolute path of a file or folder."""
    return str(Path(name).resolve()) if is_path(name) else name


def open_dataset(name: str, workspace: Workspace) -> CrowdDataset:
    """`open_labels` of classes or tags.

    Raises:
        CrowdError: its labels are numbers; it is not there (any more), or its files are at fault.
    """
    opened = open_labels(name, workspace)
    if isinstance(opened, RatingDataset):
        raise DataError(f"The labels of {opened.name} are numbers", "This is for labels that are classes or tags.")
    return opened


def open_labels(name: str, workspace: Workspace) -> Labelled:
    """The dataset of a run's specification.

    Ratings that no range allows are left out, as whoever asked for the run accepted; its fingerprint tells.

    Raises:
        CrowdError: it is not there (any more), or its files are at fault.
    """
    if Path(name).is_absolute():
        return read_labels(name, accept=True)
    uploaded = upload_folder(name, workspace.folder)
    return load_labels(name, accept=True) if uploaded is None else read_labels(uploaded, accept=True)
