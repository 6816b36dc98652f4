"""Attach features, images, texts, extra columns and simulated truth to a dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLIT_ENDINGS, Media, SimulatedTruth
from crowdcore.data.formulas import unescape
from crowdcore.data.readers.base import Raw
from crowdcore.data.rows import Rows
from crowdcore.data.tables.base import Arrow

RESERVED = ("task", "worker", "label", "gold", "split", "file_row")  # columns of the tables that we write

_FILES = {"features": ("features{}.npy",), "images": ("images{}.npy", "images{}.npz", "jpeg{}.npz")}


def attach_rows(folder: Path | None, kind: str, split: IntArray, n_listed: int) -> Rows | None:
    """``features_<split>.npy`` or ``images_<split>.npy`` (or ``.npz``, or ``jpeg_<split>.npz``) of a folder, unopened.

    A file without ``_<split>`` belongs to the tasks without a split. Rows follow the list of tasks.

    Raises:
        DataError: a file has another number of rows than its split has tasks.
    """
    if folder is None:
        return None
    parts: dict[int, Path] = {}
    for code, ending in SPLIT_ENDINGS.items():
        files = [folder / pattern.format(ending) for pattern in _FILES[kind]]
        present = next((file for file in files if file.is_file()), None)
        if present is not None:
            parts[code] = present
    listed = np.where(np.arange(len(split)) < n_listed, split, -2)
    return Rows.from_splits(parts, listed) if parts else None


def media_folder(path: Path | None) -> Path | None:
    """What the paths of media are relative to: the folder read, or that of the file."""
    return path if path is None or path.is_dir() else path.parent


def attach_media(folder: Path | None, images: Rows | None, columns: pd.DataFrame | None) -> Media | None:
    """Images and paths, where there are some."""
    return None if images is None and columns is None else Media(images, columns, folder)


def attach_extra(extra: Arrow | None, rows: IntArray | None, escaped: bool) -> pd.DataFrame | None:
    """The further columns at some rows (None: all); text becomes numbers where those are spelled exactly so."""
    if extra is None:
        return None
    if rows is not None:
        extra = extra.take(pa.array(rows))
    columns: dict[str, pd.Series] = {}
    for name, column in zip(extra.column_names, extra.columns, strict=True):
        unique = name
        while unique in (*RESERVED, *columns):
            unique += "_column"
        columns[unique] = _as_pandas(_numbers(column, escaped))
    return pd.DataFrame(columns)


def _as_pandas(column: Arrow) -> pd.Series:
    """A pandas column that keeps whole numbers whole beside missing ones, and maps as lists of key and value."""
    kind = column.type
    if pa.types.is_map(kind):
        column = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    if pa.types.is_integer(kind) and column.null_count:
        whole = pd.UInt64Dtype() if pa.types.is_uint64(kind) else pd.Int64Dtype()
        values: pd.Series = column.to_pandas(types_mapper=lambda _: whole)
    else:
        values = column.to_pandas()
    return values


def _numbers(column: Arrow, escaped: bool) -> Arrow:
    """Text as whole or floating-point numbers if each is spelled as it would be written again, else as it is."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    for kind in (pa.int64(), pa.float64()) if filled.null_count < len(filled) else ():
        try:
            numbers = filled.cast(kind)
        except pa.ArrowInvalid:
            continue
        if _spelled_so(numbers, filled):
            return numbers
    return unescape(column) if escaped else column


def _spelled_so(numbers: Arrow, text: Arrow) -> bool:
    """Whether all texts are the spelling of their numbers, in Arrow's way (``2``) or in Python's (``2.0``)."""
    if not pc.all(pc.is_finite(numbers)).as_py():
        return False
    if pc.all(pc.equal(numbers.cast(text.type), text)).as_py():
        return True
    pairs = zip(numbers.to_pylist(), text.to_pylist(), strict=True)
    return all(number is None or repr(number) == word for number, word in pairs)


def attach_file_row(raw: Raw, rows: IntArray | None) -> IntArray | None:
    """1-based row of the file for each annotation that was taken in; None for a folder that does not say."""
    if raw.arrays is not None and raw.rows is None:
        return None
    if rows is None:
        return np.arange(1, len(raw.task) + 1, dtype=np.int32) if raw.rows is None else np.asarray(raw.rows, np.int32)
    return np.asarray(raw.row_numbers(rows), np.int32)


def attach_truth(
    truth: SimulatedTruth | None, rows: IntArray | None, n_workers: int, path: Path | None
) -> SimulatedTruth | None:
    """The generating truth, its per-annotation parts at the rows that were taken in.

    Raises:
        DataError: it is about another number of workers.
    """
    if truth is None:
        return None
    for name in ("worker_confusion", "group", "worker_bias", "worker_scale", "worker_noise", "worker_role"):
        part = getattr(truth, name)
        if part is not None and len(part) not in (0, n_workers):
            raise DataError(
                f"The simulated truth has {len(part)} entries of `{name}` for {n_workers} workers", file=path
            )
    if rows is None:
        return truth
    omega, used = truth.omega, truth.used_common
    return replace(
        truth, omega=None if omega is None else omega[rows], used_common=None if used is None else used[rows]
    )
