"""Opened datasets, kept between reruns and sessions, and the age of a run's files."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from crowdcore.core.confined import run_confined
from crowdcore.core.errors import CrowdError, did_you_mean
from crowdcore.core.files import workspace
from crowdcore.core.memory import need_room
from crowdcore.data.catalogue import note_of, upload_folder
from crowdcore.data.settings import need_classes
from crowdcore.exhibits.view import cached
from crowdcore.learning.learners import Kind, kind_of

if TYPE_CHECKING:
    from crowdcore.data import CrowdDataset
    from crowdcore.data.ratings import Labelled

T = TypeVar("T", bound="Labelled")
_FRESH = 1.0  # seconds
_recent: dict[str, tuple[float, Labelled]] = {}


def datasets_folder() -> Path:
    """Folder of the workspace's datasets; created if missing."""
    folder = workspace() / "datasets"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cached
def _open_folder(folder: Path, stamp: int) -> Labelled:
    from crowdcore.data.catalogue import is_embedded, open_labels

    if is_embedded(folder):
        return open_labels(folder, accept=True)
    dataset, kept = fitting(run_confined(open_labels, folder, accept=True)), note_of(folder)
    return replace(dataset, name=kept.get("name", dataset.name), notes=tuple(kept.get("notes", dataset.notes)))


def fitting(dataset: T) -> T:
    """Return the dataset if its pages' tables fit into memory; without gold these begin with a model.

    Raises:
        CrowdError: they do not fit.
    """
    need_room(dataset.name, 0 if dataset.has_gold else dataset.n_tasks, len(dataset.label_names))
    return dataset


def dataset(name: str) -> CrowdDataset:
    """An opened dataset of classes or tags; see `labelled`.

    Raises:
        CrowdError: there is none of that name, its files are at fault, or its labels are numbers.
    """
    return need_classes(labelled(name))


def kind(name: str) -> Kind:
    """Kind of a dataset's labels."""
    return kind_of(labelled(name))


def labelled(name: str) -> Labelled:
    """An opened dataset, named or uploaded; whether its files have changed is looked up once a second.

    Raises:
        CrowdError: there is none of that name, or its files are at fault.
    """
    looked, opened = _recent.get(name, (0.0, None))
    if opened is None or time.monotonic() - looked > _FRESH:
        opened = _looked_up(name)
        _recent.clear()  # one is enough to speed up a run, and keeps nothing else alive
        _recent[name] = time.monotonic(), opened
    return opened


def forget_dataset() -> None:
    """Check again whether files have changed."""
    _recent.clear()


def _looked_up(name: str) -> Labelled:
    from crowdcore.data.catalogue import dataset_folders

    folder = upload_folder(name) or dataset_folders().get(name)
    if folder is None:
        raise CrowdError(
            f"There is no dataset {name!r}. {did_you_mean(name, dataset_folders())}Choose another in the sidebar, or "
            "open a file on Home."
        )
    stamp = max((f.stat().st_mtime_ns for f in folder.iterdir()), default=0)
    return _open_folder(folder, stamp)


def version(run_id: str) -> int:
    """Time of a run's last log line: a cancelled run that is resumed comes to another result."""
    try:
        return (workspace() / "runs" / run_id / "log.txt").stat().st_mtime_ns
    except OSError:
        return 0
