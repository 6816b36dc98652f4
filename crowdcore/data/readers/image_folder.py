"""Folders of images: a subfolder for each class, or such folders for each split."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.media import SUFFIXES
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.readers.folder import is_dataset_folder
from crowdcore.data.settings import ReadSettings

_SPLITS = {"train", "training", "valid", "validation", "val", "dev", "test", "testing"}


class ImageFolder(Reader):
    """``<class>/<image>`` or ``<split>/<class>/<image>``: true classes and images, without annotations."""

    name: ClassVar[str] = "image-folder"
    title: ClassVar[str] = "Folder of images by class"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A folder whose subfolders hold images."""
        folder = source.path
        found = folder is not None and folder.is_dir() and not is_dataset_folder(folder)
        return 0.5 if found and folder and any(islice(_images(folder), 1)) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Tasks are the images' paths, gold is the folder each lies in."""
        folder = source.path
        paths = sorted(_images(folder)) if folder is not None and folder.is_dir() else []
        if not paths:
            raise DataError("This folder has no subfolders with images", "Put the images of a class into one each.")
        names = [path.as_posix() for path in paths]
        splits = [path.parts[0] if len(path.parts) == 3 else "" for path in paths]
        nothing = Codes(strings([]), np.empty(0, np.int32))
        gold, split = _codes([path.parts[-2] for path in paths]), _codes(splits) if any(splits) else None
        tasks = RawTasks(_codes(names), True, gold, split, {"image": _codes(names)})
        classes = tuple(sorted({path.parts[-2] for path in paths}))
        return Raw(self.name, nothing, nothing, nothing, n_rows=0, tasks=tasks, classes=classes, classes_from="folders")


def _images(folder: Path) -> Iterator[Path]:
    """Paths of the images below subfolders, relative to the folder; what is hidden is left out."""
    for pattern in ("*/*", "*/*/*"):
        for file in folder.glob(pattern):
            path = file.relative_to(folder)
            own = len(path.parts) == 2 or path.parts[0].lower() in _SPLITS
            if own and file.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts):
                yield path


def _codes(values: list[str]) -> Codes:
    return encode(strings(value or None for value in values))
