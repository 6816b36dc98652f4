"""Check the quotes of a delimited file: a stray one would make many rows a single cell."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.data.report import Finding, make_change, plural

CELL_LIMIT = 8 << 20  # characters of one cell
CHUNK = 1 << 18
KNOWN_ROWS = 1000  # rows whose cells are remembered, to recognise rows within a cell
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = ("utf-8", "utf-8-sig", "ascii", "latin-1", "iso-8859-1", "cp1252")  # a quote's byte is always a quote

csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


def check_quotes(path: Path, encoding: str, delimiter: str, header: bool, before: int = 0) -> tuple[Finding, ...]:
    """Look at every quote: one pass over the bytes, and where that finds anything odd one with a strict parser.

    Args:
        path: the file.
        encoding: its own.
        delimiter: between cells.
        header: whether its first row names columns.
        before: lines before that row.

    Returns:
        A change to accept where cells hold lines that look like rows of the table.

    Raises:
        DataError: a quote is never closed, or something follows a closing quote; says in which row.
    """
    if encoding in _PLAIN and _plainly_fine(path, ord(delimiter)):
        return ()
    known: list[set[str]] = []
    early: list[tuple[int, list[str]]] = []  # rows of several lines, to be looked at when enough is known
    swallowed: dict[int, int] = {}
    number, begun = -int(header), 1
    reader = csv.reader(islice(_lines(path, encoding), before, None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                number += 1
                known = known or [set() for _ in row]
                known = known[: len(row)] if number == 1 else known  # a header may name more columns than rows have
                if reader.line_num > begun:
                    early.append((number, row))
                    if number > KNOWN_ROWS:
                        swallowed |= _swallowed(early, known, delimiter)
                        early = []
                elif number <= KNOWN_ROWS:
                    for seen, cell in zip(known, row, strict=False):
                        seen.add(cell.strip())
            begun = reader.line_num + 1
    except csv.Error as error:
        raise _fault(str(error), path, max(number + 1, 0), header, reader.line_num - begun) from None
    swallowed |= _swallowed(early, known, delimiter)
    if not swallowed:
        return ()
    cells, rows = plural(len(swallowed), "quoted cell"), plural(sum(swallowed.values()), "row")
    fate = f"be read with lines inside that look like {rows} of the table"
    remedy = "Close or double the stray quote, or accept if this is text."
    return (make_change("rows-in-a-cell", cells, fate, np.array([*swallowed]), remedy=remedy),)


def _plainly_fine(path: Path, delimiter: int) -> bool:
    """Whether each quote opens or closes a cell within one line, or is one of the two that stand for one inside.

    Raises:
        DataError: a line that is far too long.
    """
    ends = np.zeros(256, bool)
    ends[[10, 13, 34, delimiter]] = True  # a quote written twice closes and opens again
    rest = b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if b"\n" not in chunk:
                chunk = chunk.replace(b"\r", b"\n")
            text, _, tail = (rest + chunk).rpartition(b"\n")
            if len(tail) > 2 * CELL_LIMIT:
                raise _fault("limit", path, None, False, 0)
            rest = b"\n" + tail
            if not _well_quoted(text + b"\n", ends):
                return False
    return _well_quoted(rest + b"\n", ends)


def _well_quoted(lines: bytes, ends: np.ndarray) -> bool:
    """The same of whole lines, with one more line end before them."""
    if b'"' not in lines:
        return True
    raw = np.frombuffer(lines.replace(b"\n" + codecs.BOM_UTF8, b"\n"), np.uint8)
    quotes = np.flatnonzero(raw == 34)
    if len(quotes) % 2 or not ends[raw[quotes[::2] - 1]].all() or not ends[raw[quotes[1::2] + 1]].all():
        return False
    breaks = np.flatnonzero((raw == 10) | (raw == 13))
    return not (np.searchsorted(quotes, breaks) % 2).any()


def _lines(path: Path, encoding: str) -> Iterator[str]:
    with path.open(encoding=encoding, newline="") as file:
        for number, line in enumerate(file):
            yield line if number else line.removeprefix("\ufeff")


def _fault(error: str, path: Path, row: int | None, header: bool, lines: int) -> DataError:
    if "unexpected end" in error:
        more = f"; {plural(lines, 'line')} after it would become one cell" if lines > 0 else ""
        sentence = f"A quote is opened in this row and never closed{more}"
        return DataError(sentence, "Close it.", file=path, row=row, header=header)
    if "limit" in error:
        sentence = f"A cell is longer than {CELL_LIMIT >> 20} MiB, or a quote is never closed"
        return DataError(sentence, file=path, row=row, header=header)
    remedy = 'Write a quote inside a quoted cell twice ("").'
    return DataError("There is text after a closing quote in this row", remedy, file=path, row=row, header=header)


def _swallowed(rows: list[tuple[int, list[str]]], known: list[set[str]], delimiter: str) -> dict[int, int]:
    """Number of each row of several lines that seems to hold others -> how many."""
    return {number: found for number, row in rows if (found := _rows_within(row, known, delimiter))}


def _rows_within(row: list[str], known: list[set[str]], delimiter: str) -> int:
    """How many rows of the table a row of several lines seems to hold besides itself."""
    n = len(known)
    if len(row) != n:
        return 0
    found = 0
    for place, cell in enumerate(row):
        first, *others = _LINE_END.split(cell)
        lines = [first, *(line for line in others[:-1] if line.strip()), *others[-1:]]
        cut = [next(csv.reader([line], delimiter=delimiter), []) or [""] for line in lines]
        if len(cut) < 2 or len(cut[0]) != n - place:
            continue
        begins = [place, *[0] * (len(cut) - 1)]  # the first line lacks the cells before this one, the last those after
        sizes = [n - place, *[n] * (len(cut) - 2), place + 1]
        fitting = [(cells, at) for cells, at, size in zip(cut, begins, sizes, strict=True) if len(cells) == size]
        seen = any(
            word.strip() and (word.strip() in known[column] or word.strip() == row[column].strip())
            for cells, at in fitting
            for column, word in enumerate(cells, at)
            if column != place
        )
        if 2 * (len(fitting) - 1) >= len(cut) - 1 and (seen or len(cut) > 10):
            found += len(cut) - 1
    return found
