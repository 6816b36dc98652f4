"""Uploaded files: kept in the workspace, examined, accepted, listed and renamed."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import streamlit as st

from crowdcore.core.confined import run_confined
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.core.files import workspace, write_json
from crowdcore.data import catalogue, uploads as kept
from crowdcore.data.catalogue import NOTE, Upload, note_of, upload_folder
from crowdcore.data.readers.folder import is_dataset_folder
from crowdcore.data.unpack import is_archive
from crowdcore.data.uploads import digest_of, stored_file
from dashboard.services.opening import fitting

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.data import Import
    from crowdcore.data.reading.examine import RatingValues
LONGEST = 100  # characters of a title


def list_uploads() -> list[Upload]:
    """Uploads of the visitor (of all, where nobody signs in), the newest first."""
    return catalogue.list_uploads(owner())


def owner() -> str:
    """E-mail address of the visitor, empty where nobody signs in."""
    return str(st.user.to_dict().get("email") or "")


def free_title(title: str) -> str:
    """The title itself, or with a number where a dataset is called so already."""
    import crowdcore as cc

    taken = {*cc.list_datasets(), *(upload.name for upload in list_uploads() if upload.dataset)}
    titles = (title if n == 1 else f"{title} ({n})" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in titles if candidate not in taken)


def note_dataset(folder: Path, name: str, file: str, mapping: Mapping[str, Any], notes: tuple[str, ...]) -> None:
    """Write a dataset's origin, reading settings and notes beside it."""
    size = note_of(workspace() / "uploads" / file).get("size", 0) if file else 0
    note = {"name": name, "file": file, "size": size, "mapping": dict(mapping), "notes": notes}
    write_json(folder / NOTE, note | {"when": kept.now(), "owner": owner()})


def rename_upload(upload: Upload, name: str) -> None:
    """Rename an upload; its address stays.

    Raises:
        SettingError: no name, a long one, or that of another dataset.
    """
    name = " ".join(name.split())
    if name == upload.name:
        return
    if not 0 < len(name) <= LONGEST:
        raise SettingError("name", f"have 1 to {LONGEST} characters", name)
    if free_title(name) != name:
        raise SettingError("name", "differ from those of other datasets", name)
    home = upload_folder(upload.dataset) if upload.dataset else workspace() / "uploads" / upload.file
    if home is not None:
        write_json(home / NOTE, {**note_of(home), "name": name})


T = TypeVar("T")
Mapped = tuple[tuple[str, Any], ...]
"""Settings for reading a file: pairs of name and value."""

OF_A_KIND = {"kind", "classes", "merge_classes", "multi_select", "valid_share", "test_share", "low", "high", "levels"}
"""Settings that mean nothing for labels of another kind."""
_SAMPLE = 1 << 16  # bytes of a text that are decoded for examples
_ENCODINGS = (
    *("utf-8", "cp1252", "cp1251", "cp1250", "koi8-r", "cp1253", "cp1254", "cp1255", "cp1256", "iso8859-15"),
    *("gb18030", "big5", "shift_jis", "euc_kr", "utf-16"),
)
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


def receive(name: str, content: BinaryIO) -> str:
    """Store an uploaded file; a ZIP is unpacked.

    Returns:
        The path of the file or folder to examine.

    Raises:
        CrowdError: a damaged archive, or one that unpacks to too much.
    """
    return _to_read(kept.store_upload(name, content, owner()))


def named_file() -> Path | None:
    """The file that the command line names after ``--``, where a dataset may be named, too."""
    path = Path(*sys.argv[1:2])
    return path if path.is_file() else None


def file_to_open() -> str:
    """Digest of `named_file`, which a session opens once; empty without."""
    path = named_file()
    if path is None or st.session_state.get("asked"):
        return ""
    st.session_state["asked"] = True
    with path.open("rb") as content:
        return digest_of(receive(path.name, content))


def receive_again(digest: str) -> str:
    """The path to examine of a file that was stored before.

    Raises:
        DataError: it is gone, or a damaged archive.
    """
    file = stored_file(digest)
    if file is None:
        raise DataError("This upload is no longer there", "Upload the file again.")
    return _to_read(file)


def _to_read(file: Path) -> str:
    return str(_unpacked(file) if is_archive(file) else file)


def _unpacked(archive: Path) -> Path:
    """The folder that a ZIP holds (its only folder if it holds nothing else), or the only table beside images there."""
    target = kept.unpacked_folder(archive)
    inside = [child for child in target.iterdir() if child.name != "__MACOSX"]
    folder = inside[0] if len(inside) == 1 and inside[0].is_dir() else target
    tables = [] if is_dataset_folder(folder) else [c for c in folder.iterdir() if c.suffix.lower() in _TABLES]
    return tables[0] if len(tables) == 1 else folder


def title_of(name: str, path: str) -> str:
    """Title of a dataset: for a table in a ZIP, which may be one of many ``votes.csv``, the ZIP's."""
    stored = stored_file(digest_of(path))
    in_archive = stored is not None and stored.suffix.lower() == ".zip" and Path(path).suffix.lower() in _TABLES
    return stored.stem if stored is not None and in_archive else name


def examine(path: str, mapping: Mapped) -> Import:
    """Examine a stored file.

    Raises:
        CrowdError: no crowd data, a damaged file, or columns that do not say what they hold.
    """
    from crowdcore.data.reading.examine import examine_table

    return _with_media(_read(examine_table, path, mapping), path, mapping)


def rating_values(path: str, mapping: Mapped) -> RatingValues:
    """The labels of a stored file of ratings, before their range or order is known; see `examine`."""
    from crowdcore.data.reading.examine import rating_values

    return _read(rating_values, path, tuple(one for one in mapping if one[0] not in ("low", "high", "levels")))


def first_rows(path: str, mapping: Mapped) -> pd.DataFrame | None:
    """The first rows of a stored file as they are cut into columns; None where they cannot be."""
    from crowdcore.data.reading.examine import first_rows

    try:
        return _read(first_rows, path, mapping)
    except CrowdError:
        return None


def _read(read: Callable[..., T], path: str, mapping: Mapped) -> T:
    outcome = _read_or_refused(read, path, mapping)
    if isinstance(outcome, DataError):
        raise outcome
    return outcome


@st.cache_resource(show_spinner="Reading the file …", max_entries=8, hash_funcs={FunctionType: attrgetter("__name__")})
def _read_or_refused(read: Callable[..., T], path: str, mapping: Mapped) -> T | DataError:
    try:
        return run_confined(read, path, **dict(mapping))
    except DataError as refusal:
        return refusal


def worker_columns(read: Import) -> tuple[str, ...]:
    """The columns of a wide table that were read as workers, all of them."""
    report = read.report
    if report.format != "wide":
        return ()
    workers = {*map(str, read.dataset(accept=True).worker_ids)}
    return tuple(column for column in report.columns if column in workers)


@st.cache_data(show_spinner=False, max_entries=8)
def decoded(path: str) -> dict[str, tuple[str, ...]]:
    """Encodings that can decode the beginning of a text -> a few words with letters other than a to z."""
    file = Path(path)
    if not file.is_file():
        return dict.fromkeys(_ENCODINGS, ())
    with file.open("rb") as opened:
        start = opened.read(_SAMPLE)
    samples: dict[str, tuple[str, ...]] = {}
    for encoding in _ENCODINGS:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(start)
        except UnicodeError:
            continue
        if "\0" not in text and "\ufffd" not in text:
            words = re.findall(r"""[^\s,;|"']*[^\x00-\x7f\s,;|"'][^\s,;|"']*""", text)
            samples[encoding] = tuple(word[:20] for word in dict.fromkeys(words))[:3]
    return samples


@st.cache_resource(show_spinner="Looking at images and texts …", max_entries=8)
def _with_media(_examined: Import, path: str, mapping: Mapped) -> Import:
    return _examined.with_media()  # opens images in children of its own


def accept(examined: Import, path: str = "", mapping: Mapped = ()) -> str:
    """Import a file with all that is dropped or merged, as a dataset of the workspace.

    Args:
        examined: what `examine` found.
        path: the stored file.
        mapping: how it was read.

    Returns:
        The name to open it by.

    Raises:
        CrowdError: its tables would not fit into memory.
    """
    from crowdcore.data.writers import write_folder

    dataset = examined.dataset(accept=True)
    fitting(dataset)
    title = title_of(dataset.name, path)
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "upload"
    identity = json.dumps([dataset.fingerprint, digest_of(path), mapping])
    name = f"{slug}-{hashlib.blake2b(identity.encode(), digest_size=5).hexdigest()}"

    def fill(folder: Path) -> None:
        write_folder(dataset, folder)
        note_dataset(folder, free_title(title), digest_of(path), dict(mapping), dataset.notes)

    kept.make_dataset(name, fill)
    return name
