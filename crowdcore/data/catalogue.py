"""Datasets by name or path: uploads, and folders below ``CROWDCORE_DATA``, the embedded data and the cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crowdcore.core.errors import CrowdError, SettingError, did_you_mean
from crowdcore.core.files import cache_folder, read_json, workspace
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.encoder import encode
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.data.readers.base import open_table
from crowdcore.data.readers.folder import are_tag_sequences, find_table, is_dataset_folder, read_class_list
from crowdcore.data.reading import read_dataset, read_ratings
from crowdcore.data.settings import ReadSettings, need_classes
from crowdcore.data.tables import identify

_PACKAGE = Path(__file__).resolve().parents[1]
_INSIDE = _PACKAGE / "_data"
_EMBEDDED = _INSIDE if _INSIDE.is_dir() else _PACKAGE.parent / "data"  # of a wheel, or of a checkout
# Datasets whose pictures lie in another dataset's folder, under the same task ids.
_PICTURES = {"cifar10n": "cifar10_images", "cifar10s": "cifar10_images", "cifar10h_counts": "cifar10_images"}

NOTE = "upload.json"
"""File in the folder of an upload, and of a dataset made of one, with its name, owner and reading settings."""

FolderKind = Literal["crowd", "labelled", "ratings", "sequences", "damaged"]
_REASONS: dict[FolderKind, str] = {
    "crowd": "",
    "labelled": "It has true classes but no annotations: simulate workers on it.",
    "ratings": "Its labels are numbers: `crowdcore ratings` and the exhibits rating-… are about them.",
    "sequences": "",
}


@dataclass(frozen=True)
class DatasetInfo:
    """A named dataset at a glance, without reading it.

    Args:
        name: name for `load_dataset`.
        folder: its folder.
        kind: crowd (has annotations), labelled (has none), ratings, sequences (a crowd that tags tokens), or damaged.
        reason: why it cannot be analysed, empty for a crowd.
    """

    name: str
    folder: Path
    kind: FolderKind
    reason: str

    @property
    def loads(self) -> bool:
        """True if `load_dataset` can load it."""
        return self.kind != "damaged"


def search_path() -> list[Path]:
    """Folders searched for datasets, first wins: ``CROWDCORE_DATA``, embedded data, ``data`` here, the cache."""
    given = [Path(p) for p in os.environ.get("CROWDCORE_DATA", "").split(os.pathsep) if p]
    return list(dict.fromkeys([*given, _EMBEDDED, Path("data").absolute(), cache_folder()]))


def is_embedded(folder: Path) -> bool:
    """Return whether a dataset's folder came with the package."""
    return folder.parent == _EMBEDDED


def dataset_folders() -> dict[str, Path]:
    """Name -> folder of every dataset found, in alphabetical order."""
    named: dict[str, Path] = {}
    for folder in search_path():
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            for child in folder.iterdir():
                if child.name not in named and not child.name.startswith(".") and is_dataset_folder(child):
                    named[child.name] = child
    return dict(sorted(named.items()))


def is_path(name: str) -> bool:
    """Return whether a name is a path: it has a slash or only dots, or the ending of a file or folder that exists."""
    return "/" in name or "\\" in name or name in (".", "..") or (bool(Path(name).suffix) and Path(name).exists())


def list_datasets() -> list[str]:
    """Names of all datasets; `describe_datasets` says which of them `load_dataset` can load.

    Examples:
        >>> import crowdcore as cc
        >>> "demo" in cc.list_datasets()
        True
    """
    return list(dataset_folders())


def describe_datasets() -> list[DatasetInfo]:
    """Describe each named dataset, and why one cannot be analysed; reads no more than the start of its tables."""
    infos = []
    for name, folder in dataset_folders().items():
        try:
            kind = _kind(folder)
            infos.append(DatasetInfo(name, folder, kind, _REASONS[kind]))
        except CrowdError as error:
            infos.append(DatasetInfo(name, folder, "damaged", str(error)))
    return infos


def _kind(folder: Path) -> FolderKind:
    classes, target = read_class_list(folder)
    if target != "classes":
        return target
    path = find_table(folder, "annotations")
    if path is None:
        return "labelled"
    head = open_table(identify(path), ReadSettings()).head
    if find_table(folder, "tokens") is not None:
        return "sequences"
    tagged = "label" in head.column_names and are_tag_sequences(encode(head["label"]), classes)
    return "sequences" if tagged else "crowd"


def open_labels(name: str | Path, *, accept: bool = False, home: Path | None = None, **mapping: Any) -> Labelled:
    """Open a dataset with labels of any kind; Python, commands, runs and the app use this.

    Args:
        name: name or path for `find_dataset`; a `Path` is opened directly.
        accept: continue although something would be dropped or merged, which ``notes`` of the dataset report.
        home: the workspace whose uploads are searched; default: that of `workspace`.
        mapping: fields of `crowdcore.data.ReadSettings`.

    Raises:
        SettingError: there is no such dataset, or ``mapping`` is invalid.
        DataError: its files are at fault, or something would be dropped or merged unaccepted.

    Examples:
        >>> open_labels("demo").n_tasks
        1797
    """
    path = name if isinstance(name, Path) else find_dataset(name, home)
    dataset: Labelled = read_dataset(path, accept=accept, **mapping)
    return dataset if dataset.kind.numeric else _with_lent_pictures(need_classes(dataset), path)


def load_dataset(name: str, *, accept: bool = False, **mapping: Any) -> CrowdDataset | Any:
    """Load a named dataset, with labels of any kind.

    Args:
        name: one of `list_datasets`.
        accept: continue although something would be dropped or merged.
        mapping: fields of `crowdcore.data.ReadSettings`, such as ``repeats="first"``.

    Returns:
        A `CrowdDataset`, or a `RatingDataset` where the labels are numbers.

    Raises:
        SettingError: no dataset of that name; the nearest one is suggested.
        DataError: its files are at fault, or something would be dropped or merged unaccepted.

    Examples:
        >>> import crowdcore as cc
        >>> cc.load_dataset("demo")
        CrowdDataset('demo': 1797 tasks, 40 workers, 10 classes, 5254 annotations)
    """
    return open_labels(_folder(name, dataset_folders()), accept=accept, **mapping)


def load_ratings(name: str, *, accept: bool = False, **mapping: Any) -> RatingDataset:
    """`load_dataset` with ``kind="ratings"``: labels are numbers in a range, such as ``low=0, high=1``."""
    return read_ratings(_folder(name, dataset_folders()), accept=accept, **mapping)


def find_dataset(name: str, home: Path | None = None) -> Path:
    """The file or folder of a dataset: an upload by its address, a named dataset, an upload by its title, or a path.

    ``home`` is the workspace of the uploads; default: that of `workspace`.
    """
    folders = dataset_folders()
    place = upload_folder(name, home) or folders.get(name)
    path = Path(name)
    if place is None and is_path(name) and (path.exists() or path.is_absolute()):
        place = path
    place = place or find_upload(name)
    return place or (path if is_path(name) else _folder(name, folders))


def upload_folder(name: str, home: Path | None = None) -> Path | None:
    """The folder of an uploaded dataset by its name in addresses, or None; a name never leads out of the workspace."""
    folder = workspace(home) / "datasets" / name
    return folder if Path(name).name == name and name not in {"", ".", ".."} and folder.is_dir() else None


def uploaded_datasets() -> dict[str, Path]:
    """Name in addresses -> folder of every upload that became a dataset of the workspace."""
    return {note.parent.name: note.parent for note in sorted(upload_notes("datasets"))}


def find_upload(name: str) -> Path | None:
    """The folder of an uploaded dataset by its name in addresses or its title in the app; None for others."""
    folder = upload_folder(name)
    if folder is not None:
        return folder
    called = [folder for folder in uploaded_datasets().values() if note_of(folder).get("name") == name]
    if len(called) > 1:
        remedy = f"Pass one of {', '.join(folder.name for folder in called)}."
        raise SettingError("name", "be what one upload alone is called", name, remedy)
    return called[0] if called else None


@dataclass(frozen=True)
class Upload:
    """A file that someone uploaded, and the dataset made of it.

    Args:
        name: its title.
        file: digest of the stored file, empty if there is none (any more).
        dataset: the dataset's name in addresses, empty until the file is imported.
        size: bytes of the file.
        when: time at which it was stored or imported.
        mapping: settings that it was read with.
    """

    name: str
    file: str
    dataset: str
    size: int
    when: datetime
    mapping: Mapping[str, Any]

    @property
    def rated(self) -> bool:
        """True if its labels were read as ratings."""
        return self.mapping.get("kind") == "ratings"


def list_uploads(owner: str = "") -> list[Upload]:
    """The uploads of one owner, the newest first; the owner is "" where nobody signs in."""
    datasets = [_upload(note, owner, dataset=note.parent.name) for note in upload_notes("datasets")]
    read = {upload.file for upload in datasets if upload}
    files = [
        _upload(note, owner, file=note.parent.name) for note in upload_notes("uploads") if note.parent.name not in read
    ]
    uploads = [upload for upload in (*datasets, *files) if upload]
    return sorted(uploads, key=lambda upload: upload.when, reverse=True)


def _upload(path: Path, owner: str, **known: str) -> Upload | None:
    """Read the upload of a note; None if another owner made it."""
    note = note_of(path.parent)
    try:
        when = datetime.fromisoformat(note["when"])
        facts = {"file": note.get("file", ""), "dataset": "", **known}
        mapping = {k: tuple(v) if isinstance(v, list) else v for k, v in note.get("mapping", {}).items()}
        upload = Upload(str(note["name"]), size=int(note["size"]), when=when, mapping=mapping, **facts)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return upload if note.get("owner", "") == owner else None


def dataset_title(name: str) -> str:
    """Title of a dataset on pages: of an upload the file's name, unless it was renamed."""
    folder = upload_folder(name)
    return str(note_of(folder).get("name", name)) if folder else name


def upload_notes(where: str) -> list[Path]:
    """The notes in ``uploads`` or ``datasets`` of the workspace."""
    return list((workspace() / where).glob(f"[!.]*/{NOTE}"))


def note_of(folder: Path) -> Mapping[str, Any]:
    """Content of the note in a folder, empty without one; read again only when the file is another one."""
    file = folder / NOTE
    try:
        stat = file.stat()
    except OSError:
        return {}
    return _read_note(file, stat.st_ino, stat.st_mtime_ns)


@lru_cache(maxsize=1024)
def _read_note(file: Path, number: int, changed: int) -> Mapping[str, Any]:
    return read_json(file)


def full_name(name: str) -> str:
    """A dataset's name, or the absolute path where it is a path."""
    return str(Path(name).resolve()) if is_path(name) else name


def _folder(name: str, folders: dict[str, Path]) -> Path:
    """The folder of a named dataset."""
    if name not in folders:
        hint = did_you_mean(str(name), folders) or "There is no such file or folder, either. " * bool(Path(name).suffix)
        if str(name) not in ("", ".", "..") and Path(name).exists():
            path = str(name) if is_path(str(name)) else f"./{name}"
            hint = f"There is such a file or folder: `read_dataset({path!r})` reads it; commands take {path!r}. "
        searched = f"Folders searched: {', '.join(map(str, search_path()))}. Set CROWDCORE_DATA to add one."
        remedy = f"{hint}Found: {', '.join(folders) or 'none'}. {searched}"
        raise SettingError("name", "be an available dataset", name, remedy)
    return folders[name]


def _with_lent_pictures(dataset: CrowdDataset, folder: Path) -> CrowdDataset:
    """A named dataset with the pictures that lie in another dataset's folder."""
    lender = _PICTURES.get(folder.name)
    if lender is None or (dataset.media is not None and dataset.media.images is not None):
        return dataset
    folders = dataset_folders()
    if lender not in folders or folders.get(folder.name) != folder:
        return dataset
    return with_pictures(dataset, read_dataset(folders[lender]))


def with_pictures(dataset: CrowdDataset, lender: CrowdDataset) -> CrowdDataset:
    """The dataset with the images that another one has of tasks of the same id."""
    images = None if lender.media is None else lender.media.images
    if images is None:
        return dataset
    place = lender.task_ids.get_indexer(dataset.task_ids)
    borrowed = images.take(np.maximum(place, 0))
    borrowed = replace(borrowed, part_of=np.where(place >= 0, borrowed.part_of, -1))
    return replace(dataset, media=replace(dataset.media or Media(), images=borrowed))
