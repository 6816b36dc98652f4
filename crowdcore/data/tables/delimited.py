"""Delimited text (CSV, TSV …), streamed through pyarrow's parser."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.csv as pa_csv

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.memory import release_memory
from crowdcore.data.dictionary import strings
from crowdcore.data.formulas import unescape
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow, Table
from crowdcore.data.tables.content import Content
from crowdcore.data.tables.quotes import CELL_LIMIT, check_quotes

BLOCK = CELL_LIMIT  # no single row may be longer
USUAL_BLOCK = 1 << 20
RELEASED = 8  # blocks after which their memory is given back: it lies in holes between texts that are kept
_DELIMITERS = (",", "\t", ";", "|", " ")
_LINE_END = re.compile(r"\r\n|\r|\n")
_DELIMITER_SAID = re.compile(r'("?)sep=([^"\r\n])\1(?:\r\n|\r|\n)')  # by the first line, as Excel reads and writes it
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_UNFILLED = ["Approve", "Reject"]  # columns that Mechanical Turk names last, and for which its rows have no cells
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected \d+ columns, got (\d+)")
_NUMBER = re.compile(r"^\s*(-?[0-9]+(\.[0-9]*)?)?\s*$")


class DelimitedTable(Table):
    """A text file of rows; delimiter and header are found by content. All cells are read as strings."""

    escaped = True

    def __init__(self, content: Content, settings: ReadSettings) -> None:
        self.path, self.encoding = content.path, content.encoding
        if settings.delimiter is not None and (not settings.delimiter.isascii() or settings.delimiter in '"\r\n\0'):
            raise SettingError("delimiter", "be one ASCII character, but no quote or line end", settings.delimiter)
        blank = _BLANK_LINES.match(content.sample)
        assert blank is not None
        self._before = len(_LINE_END.findall(blank.group()))  # blank lines before the first row
        sample = content.sample[blank.end() :]
        if said := _DELIMITER_SAID.match(sample):
            self._before, sample = self._before + 1, sample[said.end() :]
        delimiter = settings.delimiter or (said[2] if said else None)
        self.delimiter = delimiter or _find_delimiter(sample, content.path.suffix.lower())
        self._single_line = _LINE_END.search(sample) is None
        rows = [row for row in _rows(sample, self.delimiter) if row]
        if not rows:
            raise DataError("No row could be read", file=self.path)
        first, sizes = rows[0], {len(row) for row in rows[1:]}
        numbers = len(first) > 1 and all(_NUMBER.match(cell) for cell in first)
        self.header = settings.header if settings.header is not None else not numbers
        doubts = check_quotes(content.path, self.encoding or "utf-8", self.delimiter, self.header, self._before)
        self.findings = (*content.findings, *doubts)
        names = [cell.strip() for cell in first] if self.header else [str(i + 1) for i in range(len(first))]
        if names[-2:] == _UNFILLED and len(names) not in sizes and len(names) - 2 in sizes:
            names = names[:-2]
            sentence = f"The rows have no cells for the columns {' and '.join(map(repr, _UNFILLED))}"
            self.findings += (Finding("unfilled-columns", "note", sentence, len(_UNFILLED)),)
        self.name_columns(unescape(strings(names)).to_pylist())

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Batches of up to 1 MiB of text, or 8 MiB once a row is longer."""
        n = 0  # rows given so far
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

        No handler of invalid rows: one of Arrow's threads lets go of it after the last row, and aborts the process if
        that is just ending.
        """
        numbered = [f"{i}" for i in range(len(self.columns))]
        wanted = [self.columns.index(name) for name in columns]
        reader = pa_csv.open_csv(
            self.path,
            read_options=pa_csv.ReadOptions(
                column_names=numbered,
                skip_rows=self._before,
                skip_rows_after_names=int(self.header),
                encoding={"utf-8-sig": "utf-8"}.get(self.encoding or "utf-8", self.encoding),
                block_size=block,
                use_threads=False,  # as fast here, and only so do errors carry their row
            ),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                include_columns=[numbered[i] for i in wanted],
                column_types=dict.fromkeys(numbered, pa.large_string()),
                strings_can_be_null=False,
            ),
        )
        for number, batch in enumerate(reader):
            yield batch.rename_columns(list(columns))
            if number % RELEASED == 0:
                release_memory()

    def _fault(self, error: Exception, n: int) -> DataError:
        if ragged := _RAGGED.match(str(error)):
            number, cells = ragged.groups()
            row = None if number is None else int(number) - self._before - int(self.header)
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
    """Whether a row was longer than a block, as Arrow says it."""
    return "straddling" in str(error) or "out of sync" in str(error)


def _rows(sample: str, delimiter: str) -> list[list[str]]:
    """The sample's first rows, up to 200; a cell too long for Python's reader ends it."""
    rows = []
    try:
        for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 200):
            rows.append(row)  # noqa: PERF402  # what was read before an error counts
    except csv.Error:
        pass
    return rows


def _find_delimiter(sample: str, suffix: str) -> str:
    """The delimiter that cuts most rows into the same number (above one) of cells as the first."""
    candidates = ("\t", *(d for d in _DELIMITERS if d != "\t")) if suffix == ".tsv" else _DELIMITERS
    best, best_share = "", 0.0
    for delimiter in candidates:
        rows = [row for row in _rows(sample, delimiter) if row]
        if not rows or len(rows[0]) < 2:
            continue
        share = Counter(len(row) for row in rows)[len(rows[0])] / len(rows)
        if share > best_share + 1e-9:
            best, best_share = delimiter, share
    return best or ("\t" if suffix == ".tsv" else ",")
