"""Opening the dataset of a run: uploaded to the workspace, named, or a path."""

from __future__ import annotations

from crowdcore.data import CrowdDataset
from crowdcore.data.catalogue import full_name as spelled, open_labels as open_any
from crowdcore.data.kinds import need_classes
from crowdcore.data.ratings import Labelled
from crowdcore.runs.workspace import Workspace

__all__ = ["open_dataset", "open_labels", "spelled"]


def open_dataset(name: str, workspace: Workspace) -> CrowdDataset:
    """`open_labels` of classes or tags.

    Raises:
        CrowdError: its labels are numbers; it is not there (any more), or its files are at fault.
    """
    return need_classes(open_labels(name, workspace))


def open_labels(name: str, workspace: Workspace) -> Labelled:
    """The dataset of a run's specification.

    What reading drops or merges was accepted when the run was started; its fingerprint tells.

    Raises:
        CrowdError: it is not there (any more), or its files are at fault.
    """
    return open_any(name, accept=True, home=workspace.folder)
