"""Sheets of Excel and OpenDocument workbooks, written as CSV by a process of bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.memory import available_memory
from crowdcore.data.report import Finding

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
        ``target.csv``, or the folder ``target``; and which sheets were read, where there are several.

    Raises:
        DataError: several sheets hold rows, none of that name, or a damaged workbook.
    """
    arguments = [str(path), str(target), sheet or "", str(available_memory() // _SHARE)]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _CODE, *arguments], capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError("Reading this workbook takes too long", "Save the sheet as CSV.", file=path) from None
    if done.returncode:
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        reason = last.partition(":")[2].strip()[:200] if done.returncode == 1 else "it needs too much memory"
        raise DataError(f"This workbook cannot be read ({reason})", "Save the sheet as CSV.", file=path)
    names, filled = json.loads(done.stdout)
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
