"""Unpack files before reading: compressed files, archives, workbooks, NumPy matrices."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.memory import available_memory
from crowdcore.core.types import AnyArray
from crowdcore.data.readers.base import Source
from crowdcore.data.report import Finding, Level
from crowdcore.data.rows import array_names, open_array, read_npz
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import ArrowTable, identify
from crowdcore.data.tables.content import COMPRESSED, NUMPY, OFFICE, SAMPLE, ZIP, is_spreadsheet
from crowdcore.data.unpack import most_bytes, too_large, unpack_zip

SECONDS = 120.0
_SHARE = 4  # of the memory that the process may take
_SHOWN = 20
# A sheet with one cell far down is a table of gigabytes for calamine, whose allocator then ends the process.
_CODE = """
import csv, json, os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[4]),) * 2)
from datetime import date, time, timedelta
from python_calamine import CalamineWorkbook

def text(cell):
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return cell.isoformat() if isinstance(cell, (date, time)) else cell

book = CalamineWorkbook.from_path(sys.argv[1])
named = sys.argv[3]
shown = [s.name for s in book.sheets_metadata if (str(s.typ), str(s.visible)) ==
         ("SheetTypeEnum.WorkSheet", "SheetVisibleEnum.Visible")]
sheets = {name: book.get_sheet_by_name(name) for name in ([named] if named in book.sheet_names else shown)}
filled = [name for name, sheet in sheets.items() if sheet.height > 1]
heads = {str(next(iter(sheets[name].iter_rows()))) for name in filled}
written = [named] if named in book.sheet_names else filled if len(heads) == 1 and not named else []
for name in written:
    path = sys.argv[2]
    if len(written) > 1:
        os.makedirs(path, exist_ok=True)
        path += "/" + "".join(c if c.isalnum() or c in " ._-" else "_" for c in name)
    with open(path + ".csv", "x", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(list(map(text, row)) for row in sheets[name].iter_rows())
print(json.dumps([book.sheet_names, filled]))
"""


def write_sheet(path: Path, target: Path, sheet: str | None) -> tuple[Path, tuple[Finding, ...]]:
    """Write the named sheet, or the only one with rows; several of the same columns become files of a folder.

    Returns:
        ``target.csv``, or the folder ``target``; and a finding on the sheets read, where there are several.
    """
    arguments = [str(path), str(target), sheet or "", str(available_memory() // _SHARE)]
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-c", _CODE, *arguments], capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError("Reading this workbook takes too long", "Save the sheet as CSV.", file=path) from None
    if process.returncode:
        last = (process.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        reason = last.partition(":")[2].strip()[:200] if process.returncode == 1 else "it needs too much memory"
        raise DataError(f"This workbook cannot be read ({reason})", "Save the sheet as CSV.", file=path)
    names, filled = json.loads(process.stdout)
    choices = tuple(Remedy("sheet", name, effect="read it") for name in (filled or names)[:_SHOWN])
    if target.is_dir():
        listed = ", ".join(map(repr, filled[:_SHOWN]))
        sentence = f"{len(filled)} sheets of the same columns were read together: {listed}"
        return target, (Finding("sheet", "warning", sentence, len(filled), remedies=choices),)
    if (written := Path(f"{target}.csv")).is_file():
        read = sheet if sheet is not None else filled[0]
        if len(names) == 1:
            return written, ()
        other = Remedy("sheet", when="another one is meant")
        return written, (Finding("sheet", "note", f"The sheet {read!r} was read", len(names), remedies=(other,)),)
    if sheet is not None:
        what = f"There is no sheet {sheet!r}"
    elif filled:
        what = f"{len(filled)} sheets hold rows"
    else:
        raise DataError("No sheet holds rows", file=path)
    raise DataError(what, file=path, code="sheet", remedies=choices)


TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq")
MOST_CELLS = 50_000_000  # of a matrix: it is held as a table
_SUFFIXES = (".gz", ".gzip", ".bz2", ".xz", ".zst", ".zstd")
_CHUNK = 1 << 20


def open_container(path: Path, settings: ReadSettings) -> Source:
    """Open a container, as `identify` recognised it; the caller closes the source."""
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
    """Find the dataset in an unpacked archive: a dataset folder, or the only table beside other files."""
    inside = [child for child in folder.iterdir() if child.name != "__MACOSX" and not child.name.startswith(".")]
    if len(inside) == 1:
        return only_inside(inside[0]) if inside[0].is_dir() and "=" not in inside[0].name else inside[0]
    return folder


def _decompress(path: Path, kind: str, target: Path) -> None:
    """Write the content of a compressed file."""
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
    """The matrix with NaN for -1 where that means missing; among -1, 0, 1 it may be a class, which is asked."""
    if settings.missing is not None or array.dtype.kind not in "if":
        return array, ()
    absent = array == -1
    others = np.unique(array[~absent & ~np.isnan(array)])
    if not absent.any() or len(others) < 2 or others[0] < 0:
        return array, ()
    filled = np.where(absent, np.nan, array)
    sentence = f"{int(absent.sum()):,} of {array.size:,} cells hold -1, which was read as missing"
    choices = [Remedy("missing", ["-1"], when="-1 is missing"), Remedy("missing", ["0"], when="0 is missing")]
    ambiguous = others.tolist() == [0, 1]
    remedies = choices if ambiguous else [Remedy("missing", [], when="-1 is a label")]
    level: Level = "question" if ambiguous else "note"
    return filled, (Finding("minus-one", level, sentence, int(absent.sum()), remedies=tuple(remedies)),)
