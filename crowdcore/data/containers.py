"""What is unpacked before it is read: compressed files, archives, workbooks; and NumPy's matrices."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import AnyArray
from crowdcore.data.readers.base import Source
from crowdcore.data.report import Finding, Level
from crowdcore.data.rows import array_names, open_array, read_npz
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import ArrowTable, identify
from crowdcore.data.tables.content import COMPRESSED, NUMPY, OFFICE, SAMPLE, ZIP, is_spreadsheet
from crowdcore.data.tables.workbook import write_sheet
from crowdcore.data.unpack import most_bytes, too_large, unpack_zip

TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq")
MOST_CELLS = 50_000_000  # of a matrix: it is held as a table
_SUFFIXES = (".gz", ".gzip", ".bz2", ".xz", ".zst", ".zstd")
_CHUNK = 1 << 20
_MINUS_ONE = -1


def open_container(path: Path, settings: ReadSettings) -> Source:
    """Open what `identify` found to be a container; the caller closes the source.

    Raises:
        DataError: damaged, too large once unpacked, or with other containers inside.
    """
    with path.open("rb") as file:
        start = file.read(SAMPLE)
    sheet = start.startswith(OFFICE) or (start.startswith(ZIP) and is_spreadsheet(path, start))
    if start.startswith(NUMPY) or (start.startswith(ZIP) and not sheet and _holds_arrays(path)):
        return Source(path.stem, None, _matrix(path, settings), origin=path)
    folder = Path(tempfile.mkdtemp(prefix="crowdcore-"))
    try:
        if start.startswith(ZIP) and not sheet:
            unpack_zip(path, folder / "unpacked")
            content = identify(only_inside(folder / "unpacked"), settings.encoding)
            return Source.of(content, settings, name=path.stem, temporary=folder)
        findings: tuple[Finding, ...] = ()
        if sheet:
            target, findings = write_sheet(path, folder / path.stem, settings.sheet)
        else:
            target = folder / (path.stem if path.suffix.lower() in _SUFFIXES else path.name)
            _decompress(path, next(kind for magic, kind in COMPRESSED.items() if start.startswith(magic)), target)
        content = identify(target, settings.encoding)
        origin = None if content.kind == "folder" else path
        source = Source.of(content, settings, origin=origin, temporary=folder, findings=findings)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return source


def only_inside(folder: Path) -> Path:
    """What an unpacked archive holds: a dataset folder, or the only table beside other files."""
    inside = [child for child in folder.iterdir() if child.name != "__MACOSX" and not child.name.startswith(".")]
    if len(inside) == 1:
        return only_inside(inside[0]) if inside[0].is_dir() and "=" not in inside[0].name else inside[0]
    return folder


def _decompress(path: Path, kind: str, target: Path) -> None:
    """Write what a compressed file holds."""
    most = min(most_bytes(path), shutil.disk_usage(target.parent).free // 2)
    left = most
    try:
        with _reader(path, kind) as packed, target.open("xb") as out:
            while chunk := packed.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise too_large(most, path)
                out.write(chunk)
    except DataError:
        raise
    except Exception as error:  # each library has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"This {kind} file is cut off or damaged ({reason})", "Pack it again.", file=path) from None


def _reader(path: Path, kind: str) -> Any:
    if kind == "zstd":
        return pa.input_stream(str(path), compression="zstd")
    import bz2
    import gzip
    import lzma

    opened: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    return opened[kind](path, "rb")


def _holds_arrays(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def _matrix(path: Path, settings: ReadSettings) -> ArrowTable:
    """A matrix of tasks × workers, or records with named fields, as a table."""
    if zipfile.is_zipfile(path):
        names = array_names(path)
        if len(names) != 1:
            listed = ", ".join(map(repr, names[:8]))
            raise DataError(f"This archive holds several arrays: {listed}", "Save the matrix alone.", file=path)
        array = read_npz(path, names)[names[0]]
    else:
        array = np.asarray(open_array(path))
    if array.size > MOST_CELLS:
        what = f"A matrix of {array.size:,} cells is too large"
        raise DataError(what, "Save its filled cells as Parquet, with columns task, worker, label.", file=path)
    if array.dtype.names and array.ndim == 1:
        frame = pd.DataFrame({name: _plain(array[name]) for name in array.dtype.names})
        return ArrowTable(pa.Table.from_pandas(frame, preserve_index=False), path)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biufUS":
        what = f"This array holds {array.dtype} of the shape {array.shape}, not a matrix of labels"
        raise DataError(what, "Save a matrix of tasks × workers, -1 or NaN where there is no label.", file=path)
    array, findings = _without_minus_one(_plain(array), settings)
    cells = {"task": pa.array(np.arange(len(array)))}
    for number, column in enumerate(array.T):
        cells[str(number)] = pa.array(column, from_pandas=True)
    return ArrowTable(pa.table(cells), path, findings)


def _plain(array: AnyArray) -> AnyArray:
    """Bytes as text."""
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


def _without_minus_one(array: AnyArray, settings: ReadSettings) -> tuple[AnyArray, tuple[Finding, ...]]:
    """The matrix with NaN for -1 where that means missing: among -1, 0, 1 it may be 0 as well, which is asked."""
    if settings.missing is not None or array.dtype.kind not in "if":
        return array, ()
    absent = array == _MINUS_ONE
    others = np.unique(array[~absent & ~np.isnan(array)])
    if not absent.any() or len(others) < 2 or others[0] < 0:
        return array, ()
    filled = np.where(absent, np.nan, array)
    sentence = f"{int(absent.sum()):,} of {array.size:,} cells hold -1, which was read as missing"
    choices = [Remedy("missing", ["-1"], when="-1 is missing"), Remedy("missing", ["0"], when="0 is missing")]
    asked = others.tolist() == [0, 1]
    remedies = choices if asked else [Remedy("missing", [], when="-1 is a label")]
    level: Level = "question" if asked else "note"
    return filled, (Finding("minus-one", level, sentence, int(absent.sum()), remedies=tuple(remedies)),)
