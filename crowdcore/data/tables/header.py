"""Find the column names of a delimited file: in the first row, below a title, above rows that explain them, or none."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from crowdcore.core.errors import Remedy
from crowdcore.data.report import Finding, plural

NUMBER = re.compile(r"^\s*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*$")
KNOWN = {"task", "worker", "label", "item", "annotator", "rater", "text", "gold", "id"}  # words that are names
_TITLES = 10  # most rows above the column names
RESPONSES = {"Response", "Open-Ended Response"}
_EXPLAINS = re.compile(
    r'^\s*(\{\s*"ImportId"\s*:|:?-{2,}:?\s*$|\(.*\)$|\[[^"]*\]$)'
)  # as Qualtrics, or units below names


class Header(NamedTuple):
    """Meaning of the first rows.

    Args:
        skip: rows above the names, such as a title.
        named: whether there is a row of names.
        extra: rows below the names that explain them.
        findings: decisions by content.
        joined: the names, if each stands in two rows.
    """

    skip: int
    named: bool
    extra: int
    findings: tuple[Finding, ...] = ()
    joined: tuple[str, ...] = ()


def find_header(rows: list[list[str]], known: set[str], header: bool | None, extra: int | None, titles: bool) -> Header:
    """Decide by content what the settings ``header`` and ``extra`` leave open.

    ``rows`` are the first that are not blank; ``known`` are names of columns that play a role, in lower case.
    """
    findings: list[Finding] = []
    if titles and header is None and extra is None and (joined := _join_header_rows(rows)):
        unfilled = _alone(rows[2:])  # as pandas names the index
        sentence = f"Two rows of names were joined, such as {joined[-1]!r}"
        note = Finding("joined-names", "note", sentence, remedies=(Remedy("header", False, when="they are data"),))
        names = (rows[2][0], *joined[1:]) if unfilled else joined
        return Header(0, True, 1 + unfilled, (note,), names)
    skip = _title_rows(rows, known) if titles else 0
    if skip:
        sentence = (
            f"{plural(skip, 'row')} above the column names {'was' if skip == 1 else 'were'} passed over as a title"
        )
        remedies = (Remedy("skip", 0, when="the first row holds the names"),)
        examples = tuple(row[0][:60] for row in rows[:skip])
        findings.append(Finding("title-rows", "warning", sentence, skip, examples=examples, remedies=remedies))
    above, rows = rows[:skip], rows[skip:]
    named = header
    if header is None:
        named, finding = _first_row(rows, known)
        findings += [finding] if finding else []
    explained, names = extra or 0, tuple[str, ...]()
    repeated = skip > 0 and not above[-1][0].strip() and len({*above[-1][1:]}) == 1  # name of pandas' values
    if header is None and extra is None and named and (names_index(rows) or (repeated and _alone(rows[1:]))):
        explained, names = 1, (rows[1][0], *rows[0][1:])
    elif extra is None and named:
        explained = next((i for i, row in enumerate(rows[1:4], 1) if explains(row, rows[4:])), 0)
        if explained:
            sentence = f"{plural(explained, 'row')} below the column names that explain them were passed over"
            remedies = (Remedy("extra_headers", 0, when="they hold labels"),)
            findings.append(Finding("extra-headers", "warning", sentence, explained, remedies=remedies))
    return Header(skip, bool(named), explained, tuple(findings), names)


JOINT = "__"


def _join_header_rows(rows: list[list[str]]) -> tuple[str, ...]:
    """Names in two rows: groups, each above several columns, and names repeated below each group; else empty."""
    if len(rows) < 4 or len({*map(len, rows[:4])}) > 1 or len(rows[0]) < 5:
        return ()
    groups, names = ([cell.strip() for cell in row] for row in rows[:2])
    above = ""
    for place, group in enumerate(groups):
        above = groups[place] = group or (above if names[place] else "")
    again = Counter(name for group, name in zip(groups, names, strict=True) if group and name)
    pairs = [JOINT.join(filter(None, pair)) for pair in zip(groups, names, strict=True)]
    crossed = len({*filter(None, groups)}) > 1 and bool(again) and min(again.values()) > 1
    data = any(NUMBER.match(name) for name in names) or any({*row} & {*again} for row in rows[2:])
    return () if not crossed or data or len({*pairs}) < len(pairs) else tuple(pairs)


def explains(row: list[str], below: list[list[str]]) -> bool:
    """Return whether a row below the names explains them: as in forms, by units in brackets, or as a rule."""
    filled = [cell for cell in row if cell.strip()]
    if len(filled) > 2 and not row[0].strip() and {*filled} <= RESPONSES:
        return True  # SurveyMonkey's second row
    explained = bool(filled) and 2 * sum(bool(_EXPLAINS.match(cell)) for cell in filled) >= len(filled)
    return explained and not any(explains(other, []) for other in below)


def names_index(rows: list[list[str]]) -> bool:
    """Return whether the second row only names the index, below the name of the columns, as in pivot tables."""
    return _alone(rows[1:]) and {rows[0][0].strip().lower(), rows[1][0].strip().lower()} <= KNOWN


def _alone(rows: list[list[str]]) -> bool:
    """Return whether the first row has only its first cell filled, and the next one more."""
    return len(rows) > 1 and _filled(rows[0][1:]) == 0 < _filled(rows[0]) and _filled(rows[1]) > 1


def _filled(row: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_title(row: list[str], width: int, below: bool) -> bool:
    """Return whether a row is half empty, repeats names in half of the columns, or is short ``below`` a title."""
    filled = [cell.strip() for cell in row if cell.strip()]
    return len(filled) <= width // 2 or 2 * len({*filled}) <= len(filled) or (below and len(row) < width)


def _title_rows(rows: list[list[str]], known: set[str]) -> int:
    """Number of rows above the names: less than half as full as the rows below, and unlike them."""
    widths = [*map(len, rows)]
    width = Counter(widths).most_common(1)[0][0]
    if len(rows) > 3 and set(widths[1:]) == {width} != {widths[0]} and all(map(NUMBER.match, rows[0])):
        return 1  # sizes, as in GLAD's files
    skip = 0
    while skip < min(_TITLES, len(rows) - 2) and _is_title(rows[skip], width, bool(skip)):
        skip += 1
    if not skip or width < 2:
        return 0
    names, below = rows[skip], rows[skip + 1 :]
    same = any(
        cell.strip() and any(place < len(row) and row[place] == cell for row in below)
        for title in rows[:skip]
        for place, cell in enumerate(title)
    )
    typical = sorted(map(_filled, below))[len(below) // 2]
    sure = len(names) == width and _filled(names) >= width - 1 and 2 * typical > width and not same
    return skip if sure and len(set(names)) == len(names) and _first_row(rows[skip:], known)[0] else 0


def _first_row(rows: list[list[str]], known: set[str]) -> tuple[bool, Finding | None]:
    """Return whether the first row holds names, and a finding if that is doubtful."""
    first = [cell.strip() for cell in rows[0]]
    below = [[row[i].strip() for row in rows[1:] if i < len(row) and row != rows[0]] for i in range(len(first))]
    below = [[cell for cell in column if cell] for column in below]
    numbers = [bool(NUMBER.match(cell)) for cell in first]
    if len(first) > 1 and all(numbers):
        return _numbers(first, below)
    if any(cell.lower() in known for cell in first):
        return True, None
    like = unlike = 0
    for place, (cell, number, column) in enumerate(zip(first, numbers, below, strict=True)):
        counted = sum(bool(NUMBER.match(other)) for other in column)
        if cell and column and not number and 5 * counted > 4 * len(column):
            unlike += 1  # a name above numbers
        elif not place and not cell and len(column) == len(rows) - 1:
            unlike += 1  # no name above an index
        elif cell and (cell in column or (number and counted) or _same_shape(cell, column)):
            like += 1
    filled = _filled(first)
    if like >= (1 if first.count("") > 1 else 2) and 2 * like >= filled and not unlike and len(rows) > 2:
        return False, _no_header("looks like those below it")
    return True, None


def _same_shape(cell: str, column: list[str]) -> bool:
    """Return whether a cell with digits is spelled like most of its column but for them: ``img07``."""
    shape = re.sub("[0-9]+", "#", cell)
    return "#" in shape and 2 * sum(re.sub("[0-9]+", "#", other) == shape for other in column) > len(column)


def _no_header(why: str) -> Finding:
    sentence = f"The first row {why}, and was read as data"
    remedies = (Remedy("header", True, when="it holds the columns' names"),)
    return Finding("no-header", "warning", sentence, remedies=remedies)


def _numbers(first: list[str], below: list[list[str]]) -> tuple[bool, Finding | None]:
    """The same for a row of numbers: names if no numbers are below, or if they are pandas' column numbers."""
    if all(below) and not any(NUMBER.match(cell) for column in below for cell in column):
        return True, None
    n = len(first)
    counts = next((start for start in (0, 1) if first == [str(start + i) for i in range(n)]), None)
    if counts is None or not any(below):
        return False, _no_header("holds numbers like those below it")
    words = {cell for column in below for cell in column}
    again = sum(cell in column for cell, column in zip(first, below, strict=True))
    few = 2 * len(words) <= sum(map(len, below)) and len(words) <= 50
    shared = sum(bool(set(column) & set(below[0])) for column in below) == n
    named = (2 * again <= n and n > 2) or (counts == 0 and few and shared and n > 3)
    if not named:
        return False, _no_header("holds numbers like those below it")
    sentence = f"The first row counts the columns from {counts} to {first[-1]}, and was read as their names"
    remedies = (Remedy("header", False, when="it holds labels"),)
    return True, Finding("counted-columns", "warning", sentence, remedies=remedies)
