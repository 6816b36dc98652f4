"""Named datasets: folders in our format below ``CROWDCORE_DATA``, the embedded data and the user's cache."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import platformdirs

from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doctor import read_dataset
from crowdcore.data.readers.folder import is_dataset_folder

__all__ = ["cache_folder", "dataset_folders", "list_datasets", "load_dataset"]

_PACKAGE = Path(__file__).resolve().parents[1]


def cache_folder() -> Path:
    """Where fetched datasets are kept."""
    return Path(platformdirs.user_cache_dir("crowdcore")) / "datasets"


def search_path() -> list[Path]:
    """Folders searched for datasets, first wins: ``CROWDCORE_DATA``, the embedded data, the cache."""
    given = [Path(p) for p in os.environ.get("CROWDCORE_DATA", "").split(os.pathsep) if p]
    return [*given, _PACKAGE.parent / "data", _PACKAGE / "_data", cache_folder()]


def dataset_folders() -> dict[str, Path]:
    """Name -> folder of every dataset found, in alphabetical order."""
    found: dict[str, Path] = {}
    for folder in search_path():
        if folder.is_dir():
            for child in folder.iterdir():
                if child.name not in found and is_dataset_folder(child):
                    found[child.name] = child
    return dict(sorted(found.items()))


def list_datasets() -> list[str]:
    """Names that `load_dataset` takes."""
    return list(dataset_folders())


def load_dataset(name: str) -> CrowdDataset:
    """Load a named dataset.

    Raises:
        SettingError: no dataset of that name; the nearest one is suggested.
        DataError: its files are at fault.
    """
    folders = dataset_folders()
    if name not in folders:
        near = difflib.get_close_matches(name, folders, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SettingError(
            "name",
            "be a dataset that is here",
            name,
            f"{hint}Found: {', '.join(folders) or 'none'}. Folders searched: "
            f"{', '.join(str(p) for p in search_path())}. Set CROWDCORE_DATA to add one.",
        )
    return read_dataset(folders[name])
