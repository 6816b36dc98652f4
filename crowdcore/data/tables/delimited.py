"""Delimited text (CSV, TSV …): its quotes are checked, then pyarrow's parser streams it."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.memory import release_memory
from crowdcore.data.dictionary import strings, unescape
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow, Table
from crowdcore.data.tables.content import Content
from crowdcore.data.tables.header import KNOWN, NUMBER, Header, explains, find_header, names_index
from crowdcore.data.tables.json_table import nested_columns

CELL_LIMIT = 8 << 20  # characters of one cell
CHUNK = 1 << 18
KNOWN_ROWS = 1000  # rows whose cells are remembered, to recognise rows within a cell
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = ("utf-8", "utf-8-sig", "ascii", "latin-1", "iso-8859-1", "cp1252")  # a quote's byte is always a quote

csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


def check_quotes(path: Path, encoding: str, delimiter: str, header: int, before: int = 0) -> tuple[Finding, ...]:
    """Check every quote: in one pass over the bytes, and if that finds anything odd in one with a strict parser.

    Returns a change to accept where cells hold lines that look like rows of the table; refuses a quote that is never
    closed, or followed by text, and names its row. ``header`` rows name columns, after ``before`` other lines.
    """
    if encoding in _PLAIN and _plainly_fine(path, ord(delimiter)):
        return ()
    known: list[set[str]] = []
    early: list[tuple[int, list[str]]] = []  # rows of several lines, checked once enough rows are known
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
    """Return whether each quote opens or closes a cell within one line, or is one of a doubled pair."""
    ends = np.zeros(256, bool)
    ends[[10, 13, 34, delimiter]] = True  # a quote written twice closes and opens again
    rest = b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if b"\n" not in chunk:
                chunk = chunk.replace(b"\r", b"\n")
            text, _, tail = (rest + chunk).rpartition(b"\n")
            if len(tail) > 2 * CELL_LIMIT:
                raise _fault("limit", path, None, 0, 0)
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


def _fault(error: str, path: Path, row: int | None, header: int, lines: int) -> DataError:
    if "unexpected end" in error:
        more = f"; {plural(lines, 'line')} after it would become one cell" if lines > 0 else ""
        sentence = f"A quote is opened in this row and never closed{more}"
        return DataError(sentence, "Close it.", file=path, row=row, header=bool(header))
    if "limit" in error:
        sentence = f"A cell is longer than {CELL_LIMIT >> 20} MiB, or a quote is never closed"
        return DataError(sentence, file=path, row=row, header=bool(header))
    remedy = 'Write a quote inside a quoted cell twice ("").'
    return DataError("There is text after a closing quote in this row", remedy, file=path, row=row, header=bool(header))


def _swallowed(rows: list[tuple[int, list[str]]], known: list[set[str]], delimiter: str) -> dict[int, int]:
    """Number of each row of several lines that seems to contain others -> their number."""
    return {number: n_rows for number, row in rows if (n_rows := _rows_within(row, known, delimiter))}


def _rows_within(row: list[str], known: list[set[str]], delimiter: str) -> int:
    """Number of rows of the table that a row of several lines seems to contain besides itself."""
    n = len(known)
    if len(row) != n:
        return 0
    n_rows = 0
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
            n_rows += len(cut) - 1
    return n_rows


BLOCK = CELL_LIMIT  # no single row may be longer
USUAL_BLOCK = 1 << 20
RELEASED = 8  # blocks after which freed memory is returned: it lies between texts that are kept
_DELIMITERS = (",", "\t", ";", "|", " ")
_UNUSUAL = {*"^~:#!&*%$@=`\x01\x02\x1e\x1f"}  # tried if none of those separates cells
_DELIMITER_STATED = re.compile(r'("?)sep=([^"\r\n])\1(?:\r\n|\r|\n)')  # by the first line, as Excel reads and writes it
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_UNFILLED = ["Approve", "Reject"]  # the last columns in Mechanical Turk's header, for which rows have no cells
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected \d+ columns, got (\d+)")
_COMMA = re.compile(r"^\s*(-?[0-9]+),([0-9]+)\s*$")
_SPELLED = {  # sign before decimals -> numbers that Python cannot read
    ".": r"^\s*[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?\s*$",
    ",": r"^\s*[-+]?([1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?|[0-9]+,[0-9]+)\s*$",
}


class DelimitedTable(Table):
    """A text file of rows; delimiter and header are found by content. All cells are read as strings."""

    escaped = True

    def __init__(self, content: Content, settings: ReadSettings) -> None:
        self.path, self.encoding = content.path, content.encoding
        if settings.delimiter is not None and (not settings.delimiter.isascii() or settings.delimiter in '"\r\n\0'):
            raise SettingError("delimiter", "be one ASCII character, but no quote or line end", settings.delimiter)
        before, sample, stated = _begin(content.sample, settings.skip)
        self._quoted = settings.quotes is not False
        cut = partial(_rows, sample, quoted=self._quoted)
        self.delimiter = settings.delimiter or stated or _find_delimiter(cut, content.path.suffix.lower(), sample)
        self._single_line = _LINE_END.search(sample) is None
        numbered = cut(self.delimiter)
        begins = [begin for (begin, _), (_, row) in pairwise([(0, []), *numbered]) if row]
        rows = [row for _, row in numbered if row]
        if not rows:
            raise DataError("No row could be read", file=self.path)
        head = Header(0, True, 0)
        if settings.header is not None or settings.extra_headers or not _is_plain(rows):
            titles = settings.skip is None and settings.header is not False
            head = find_header(rows, KNOWN, settings.header, settings.extra_headers, titles)
        self.header, self._named = head.named, int(head.named) + head.extra
        self._before = before + begins[head.skip]
        first, sizes = rows[head.skip], {len(row) for row in rows[head.skip + 1 :]}
        self.findings = (*content.findings, *self._odd_quotes(content.path, sample, self.delimiter), *head.findings)
        names = (
            [cell.strip() for cell in head.joined or first] if self.header else [str(i + 1) for i in range(len(first))]
        )
        if names[-2:] == _UNFILLED and len(names) not in sizes and len(names) - 2 in sizes:
            names = names[:-2]
            sentence = f"The rows have no cells for the columns {' and '.join(map(repr, _UNFILLED))}"
            self.findings += (Finding("unfilled-columns", "note", sentence, len(_UNFILLED)),)
        self.name_columns(unescape(strings(names)).to_pylist())
        below = rows[head.skip + self._named :]
        text = "".join(chain.from_iterable(below))
        self.written_nested = nested_columns(below, self.columns) if any(mark in text for mark in "[{|;,") else {}
        self.nests = bool(self.written_nested)
        self._decimals: dict[str, str] = {}
        commas = []
        for place, name in enumerate(self.columns if settings.decimal is not None or "," in text else ()):
            cells = [row[place].strip() for row in below if place < len(row)]
            cells = [cell for cell in cells if cell]
            sign, example = _decimals(cells, settings.decimal, self.delimiter)
            if sign:
                self._decimals[name] = sign
            if sign == ",":
                commas.append(name)
            elif sign:
                self.findings += (_thousands(name, example, settings.decimal is None),)
        if commas:
            listed = ", ".join(map(repr, commas[:5]))
            sentence = f"Decimal commas were read as points in {plural(len(commas), 'column')}: {listed}"
            remedies = (Remedy("decimal", ".", when="they are none"),) if settings.decimal is None else ()
            note = Finding("decimal-comma", "note", sentence, len(commas), examples=(*commas[:5],), remedies=remedies)
            self.findings += (note,)

    def _odd_quotes(self, path: Path, sample: str, delimiter: str) -> tuple[Finding, ...]:
        """Findings of `check_quotes`, with a remedy if all rows have the same length without quotes."""
        if not self._quoted:
            return ()
        even = len({len(row) for _, row in _rows(sample, delimiter, quoted=False) if row}) == 1
        letters = (Remedy("quotes", False, when="quotes are letters of the names"),) if even else ()
        try:
            doubts = check_quotes(path, self.encoding or "utf-8", delimiter, self._named, self._before)
        except DataError as error:
            error.remedies = letters
            raise
        return tuple(replace(doubt, remedies=letters) for doubt in doubts)

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Batches of up to 1 MiB of text, or 8 MiB once a row is longer."""
        n = 0  # rows yielded so far
        for block in (min(USUAL_BLOCK, BLOCK), BLOCK):
            seen = 0
            try:
                for batch in self._batches(columns, block):
                    before, seen = seen, seen + batch.num_rows
                    if seen > n:
                        yield batch.slice(n - before) if before < n else batch
                        n = seen
                return
            except (pa.ArrowException, UnicodeError, OSError) as error:
                if block == BLOCK or not _is_too_long(error):
                    raise self._fault(error, n) from None

    def _batches(self, columns: tuple[str, ...], block: int) -> Iterator[Arrow]:
        """The rows in blocks of some bytes.

        No handler of invalid rows: one of Arrow's threads releases it after the last row, and aborts the process if
        that is just ending.
        """
        numbered = [f"{i}" for i in range(len(self.columns))]
        wanted = [self.columns.index(name) for name in columns]
        reader = pa_csv.open_csv(
            self.path,
            read_options=pa_csv.ReadOptions(
                column_names=numbered,
                skip_rows=self._before,
                skip_rows_after_names=self._named,
                encoding={"utf-8-sig": "utf-8"}.get(self.encoding or "utf-8", self.encoding),
                block_size=block,
                use_threads=False,  # as fast here, and errors name their row
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.delimiter, quote_char='"' if self._quoted else False, newlines_in_values=self._quoted
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=[numbered[i] for i in wanted],
                column_types=dict.fromkeys(numbered, pa.large_string()),
                strings_can_be_null=False,
            ),
        )
        for number, batch in enumerate(reader):
            batch = batch.rename_columns(list(columns))
            for name, sign in self._decimals.items():
                if name in columns:
                    cells, other = batch[name], ",."[sign == ","]
                    point = pc.replace_substring(pc.replace_substring(cells, other, ""), sign, ".")
                    point = pc.if_else(pc.match_substring_regex(cells, _SPELLED[sign]), point, cells)
                    batch = batch.set_column(columns.index(name), name, point)
            yield batch
            if number % RELEASED == 0:
                release_memory()

    def _fault(self, error: Exception, n: int) -> DataError:
        if ragged := _RAGGED.match(str(error)):
            number, cells = ragged.groups()
            row = None if number is None else int(number) - self._before - self._named
            sentence = f"This row has {plural(int(cells), 'cell')}, but there are {len(self.columns)} columns"
            remedy = "Quote cells that hold the delimiter, and close every quote."
            return DataError(sentence, remedy, file=self.path, row=row, header=self.header)
        if _is_too_long(error):
            if self._single_line:
                return DataError("There are columns, but no rows", file=self.path)
            sentence = f"A row is longer than {BLOCK >> 20} MiB, or a quote is never closed, after row {n:,}"
            return DataError(sentence, file=self.path)
        return DataError(f"This file cannot be read as a table ({str(error)[:200]})", file=self.path)


def _is_too_long(error: Exception) -> bool:
    """Return whether Arrow's error says that a row is longer than a block."""
    return "straddling" in str(error) or "out of sync" in str(error)


def _begin(sample: str, skip: int | None) -> tuple[int, str, str]:
    """Number of lines before the first row, the sample after them, and the delimiter that the first line states."""
    blank = _BLANK_LINES.match(sample)
    assert blank is not None
    before, sample, stated = len(_LINE_END.findall(blank.group())), sample[blank.end() :], ""
    if line := _DELIMITER_STATED.match(sample):
        before, sample, stated = before + 1, sample[line.end() :], line[2]
    if skip:
        lines = [*islice(_LINE_END.finditer(sample), skip)]
        before, sample = before + len(lines), sample[lines[-1].end() :] if lines else ""
        blank = _BLANK_LINES.match(sample)
        assert blank is not None
        before, sample = before + len(_LINE_END.findall(blank.group())), sample[blank.end() :]
    return before, sample, stated


def _is_plain(rows: list[list[str]]) -> bool:
    """Return whether the first row surely holds names: filled, different, no numbers, not repeated below."""
    first, *below = rows
    if len(set(first)) < len(first) or any(not cell.strip() or NUMBER.match(cell) for cell in first):
        return False
    marks = "({[:-"  # or empty
    odd = [r for r in below[:3] if len(r) < len(first) or any(cell.lstrip()[:1] in marks for cell in r)]
    if odd and (names_index(rows) or any(explains(row, below[3:]) for row in odd)):
        return False
    if any(len(row) > len(first) for row in below[:10]):
        return False
    return not any(row != first and any(a == b for a, b in zip(row, first, strict=False)) for row in below)


def _decimals(cells: list[str], stated: str | None, delimiter: str) -> tuple[str, str]:
    """The sign before decimals in a column of numbers that Python cannot all read, and a cell that is ambiguous.

    The sign is "" if all can be read, or some are no numbers; the cell is "" if none is ambiguous. Codes of several
    classes, such as 1,3, would all ascend.
    """
    grouped, spelled = ([cell for cell in cells if re.match(_SPELLED[sign], cell)] for sign in ".,")
    if stated != "," and grouped and len(grouped) + sum(bool(NUMBER.match(cell)) for cell in cells) == len(cells):
        sure = any(cell.count(",") > 1 or "." in cell for cell in grouped)
        return ".", "" if sure else grouped[0]
    if stated == "." or not spelled or len(spelled) + sum(cell.lstrip("-").isdigit() for cell in cells) < len(cells):
        return "", ""
    split = [match.groups() for cell in spelled if (match := _COMMA.match(cell))]
    halves = {b for _, b in split} <= {"5", "25", "75"} and not {"5", "25", "75"} & {*cells}
    down = halves or any(int(a) >= int(b) or b[0] == "0" for a, b in split)
    down = down and delimiter != "," and len(split) == len(spelled) and any(len(b) != 3 or a == "0" for a, b in split)
    return "," if stated or down or any("." in cell and "," in cell for cell in spelled) else "", ""


def _thousands(column: str, example: str, undecided: bool) -> Finding:
    """Finding on commas read as separators of thousands; ``example``: a cell in which one may be a decimal comma."""
    sentence = "Commas that part the thousands of numbers were left out"
    if not example or not undecided:
        return Finding("thousands", "note", sentence, column=column)
    number = example.replace(",", "")
    remedies = Remedy("decimal", ".", when="so"), Remedy("decimal", ",", when=f"it is {example.replace(',', '.')}")
    sentence = f"Commas were read as parting thousands: {example} as {number}"
    return Finding("thousands", "question", sentence, column=column, examples=(example,), remedies=remedies)


def _rows(sample: str, delimiter: str, quoted: bool) -> list[tuple[int, list[str]]]:
    """Last line and cells of each of the first 200 rows, up to one that is too long for Python's reader."""
    rows: list[tuple[int, list[str]]] = []
    try:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quoting=0 if quoted else 3)
        for row in islice(reader, 200):
            rows.append((reader.line_num, row))  # noqa: PERF401  # what was read before an error counts
    except csv.Error:
        pass
    return rows


def _find_delimiter(cut: Callable[[str], list[tuple[int, list[str]]]], suffix: str, sample: str) -> str:
    """The delimiter that splits most rows into as many cells (above one) as the first, or as most."""
    candidates = ("\t", *(d for d in _DELIMITERS if d != "\t")) if suffix == ".tsv" else _DELIMITERS
    sizes = {d: [len(row) for _, row in cut(d) if row] for d in candidates}
    best, best_share = "", 0.0
    for delimiter, lengths in sizes.items():
        if not lengths or lengths[0] < 2:
            continue
        share = lengths.count(lengths[0]) / len(lengths)
        if share > best_share + 1e-9:
            best, best_share = delimiter, share
    for delimiter, lengths in sizes.items() if best_share < 0.5 else ():  # below a title
        size, count = Counter(lengths).most_common(1)[0] if lengths else (0, 0)
        if size > 1 and count > max(best_share, 0.5) * len(lengths):
            best, best_share = delimiter, count / len(lengths)
    for other in () if best else sorted(_UNUSUAL & {*sample[: sample.find("\n")]}):
        lengths = [len(row) for _, row in cut(other) if row]
        best = best or (other if len(lengths) > 2 and {*lengths} == {max(lengths[0], 3)} else "")
    return best or ("\t" if suffix == ".tsv" else ",")
