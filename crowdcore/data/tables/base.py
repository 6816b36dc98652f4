"""`Table`: interface of files with rows and columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.memory import release_memory
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes
from crowdcore.data.encoder import Encoder
from crowdcore.data.report import Finding, make_change, plural

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read

MAX_ROWS = 1_000_000_000  # 12 bytes each once read: beyond that the index arrays alone fill a workstation
MAX_COLUMNS = 20_000
SLAB_BYTES = 512 << 20  # most text in memory at once before it becomes codes; of small files a quarter
SLAB_LEAST = 2 << 20
HEAD_ROWS = 1000
RESERVED = ("task", "worker", "label", "gold", "split", "file_row")  # columns of tables that our writers make


class Table(ABC):
    """Rows and named columns of one file or frame.

    Attributes:
        columns: names in the file's order; repeated names are numbered: ``x``, ``x (2)``.
        written: column -> its name in the file.
        repeated: names that repeat.
        path: the file, None for a frame.
        encoding: of a text file.
        delimiter: of a delimited file.
        escaped: whether cells that look like formulas may carry our writers' apostrophe.
        header: whether the first row held the names.
        findings: guesses made to open it.
        n_rows: number of rows; 0 if it is only known after reading all.
        n_read: rows that the last `stream` has yielded.
        fill: columns whose empty cells take the cell above.
        headers_again: (k,) rows of it, from 0, that repeat the names and were skipped.
        nests: whether some columns hold lists or records.
        written_nested: column whose cells are lists or records as text -> separator of their entries, "" for JSON.
        nested: column -> row and value of the first list or record in it, as far as read.
        nested_remedy: advice on lists and records in place of names.
        categorical: the columns whose type lists their values, used or not.
    """

    columns: tuple[str, ...]
    written: dict[str, str]
    repeated: frozenset[str] = frozenset()
    path: Path | None = None
    encoding: str | None = None
    delimiter: str | None = None
    escaped: bool = False
    header: bool = False
    findings: tuple[Finding, ...] = ()
    n_rows: int = 0
    n_read: int = 0
    fill: tuple[str, ...] = ()
    headers_again: IntArray = np.empty(0, np.int64)
    nests: bool = False
    written_nested: Mapping[str, str] = MappingProxyType({})
    nested: Mapping[str, tuple[int, str]] = MappingProxyType({})
    nested_remedy: str = "Write a plain name or number in its place."
    categorical: frozenset[str] = frozenset()

    def name_columns(self, names: Iterable[str]) -> None:
        """Set ``columns`` and ``repeated``."""
        seen: Counter[str] = Counter()
        columns: dict[str, str] = {}
        for name in names:
            seen[name] += 1
            number, unique = seen[name], name
            while unique in columns:
                unique, number = f"{name} ({max(number, 2)})", number + 1
            columns[unique] = name
            if len(columns) > MAX_COLUMNS:
                raise DataError(f"There are more than {MAX_COLUMNS:,} columns", "Leave some out.", file=self.path)
        self.columns, self.written = tuple(columns), columns
        self.repeated = frozenset(name for name, count in seen.items() if count > 1)

    @property
    def about(self) -> dict[str, Any]:
        """Description of the table for the report."""
        return {name: getattr(self, name) for name in ("columns", "encoding", "delimiter", "header", "escaped")}

    @abstractmethod
    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The rows as pyarrow tables or batches with just these columns, in order and of bounded size."""

    def stream(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """`pieces` as tables, without rows that repeat the column names; counts the rows."""
        self.n_read, self.headers_again = 0, np.empty(0, np.int64)
        above: dict[str, Any] = {}
        for piece in self.pieces(columns):
            chunk = pa.table(piece) if isinstance(piece, pa.RecordBatch) else piece
            again = self._names_again(chunk) if self.header and len(columns) > 1 else []
            self.headers_again = np.append(self.headers_again, np.array(again, np.int64) + self.n_read)
            self.n_read += chunk.num_rows
            chunk = chunk.take(pa.array(np.delete(np.arange(chunk.num_rows), again))) if again else chunk
            for name in self.fill:
                if name in columns:
                    chunk, above[name] = _fill_down(chunk, columns.index(name), above.get(name))
            yield chunk

    def _names_again(self, chunk: Arrow) -> list[int]:
        """Rows that repeat the column names, as where files were joined end to end."""
        names = [self.written[column] for column in chunk.column_names]
        last = pc.utf8_trim_whitespace(chunk[len(names) - 1])
        first = pc.utf8_trim_whitespace(chunk[0])
        known = pa.array([*names, f"\ufeff{names[0]}"], last.type)
        likely = np.flatnonzero(np.asarray(pc.and_(pc.is_in(last, known), pc.is_in(first, known)).fill_null(False)))
        if not len(likely):
            return []
        cells = chunk.take(pa.array(likely)).to_pydict()
        again = []
        for row, *values in zip(likely, *cells.values(), strict=True):
            texts = [str(cell).strip("\ufeff \t") for cell in values]
            if texts == names:
                again.append(int(row))
            elif sorted(texts) == sorted(names) and len(set(names)) > 2:
                what = "This row holds the names of the columns in another order, and so may the rows below it"
                number = self.n_read + int(row) + 1
                remedy = "Split the file above this row."
                raise DataError(what, remedy, file=self.path, row=number, header=True, code="header-in-another-order")
        return again

    @property
    def rows(self) -> IntArray | None:
        """1-based numbers of the rows that `stream` yielded, None: 1, 2, 3 …"""
        if not len(self.headers_again):
            return None
        return np.delete(np.arange(1, self.n_read + 1), self.headers_again)

    def row_numbers(self, chosen: IntArray) -> IntArray:
        """1-based file rows of some rows that `stream` yielded."""
        rows = self.rows
        return chosen + 1 if rows is None else rows[chosen]

    def repeated_headers(self, per_row: int) -> list[Finding]:
        """Finding on repeated header rows; ``per_row``: annotations in a row."""
        n = len(self.headers_again)
        if not n:
            return []
        what = f"{plural(n, 'row')} that {'repeats' if n == 1 else 'repeat'} the column names"
        return [make_change("repeated-header", what, "be left out", self.headers_again + 1, left_out=n * per_row)]

    def refuse_nested(self, columns: Iterable[str]) -> None:
        """Refuse columns that hold lists or records, as far as read; names the first such column, row and value."""
        for column in columns:
            if column in self.nested:
                row, value = self.nested[column]
                sentence = f"{value} is a list or a record, not a name or number"
                raise DataError(sentence, self.nested_remedy, file=self.path, row=row, column=column)

    @cached_property
    def head(self) -> Arrow:
        """The first rows (up to 1,000) of all columns."""
        pieces, n = [], 0
        for piece in self.stream(self.columns):
            pieces.append(piece)
            n += piece.num_rows
            if n >= HEAD_ROWS:
                break
        if not pieces:
            return pa.table({name: pa.array([], pa.string()) for name in self.columns})
        rows = pa.concat_tables(pieces, promote_options="permissive")
        return rows.take(pa.array(np.arange(min(n, HEAD_ROWS))))  # a slice would keep the whole piece

    def words(self, column: str) -> list[str]:
        """The first cells of a column as text, "" for missing ones."""
        try:
            values = self.head.column(self.columns.index(column)).to_pylist()
        except UnicodeDecodeError:
            raise DataError("This column holds text that is not UTF-8", file=self.path, column=column) from None
        return ["" if value is None or value != value else str(value).strip() for value in values]

    def slabs(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Like `stream`, in tables of up to 512 MB, or a quarter of the file."""
        waiting: list[Arrow] = []
        size = rows = 0
        quarter = SLAB_BYTES if self.path is None else max(SLAB_LEAST, self.path.stat().st_size // 4)
        for piece in self.stream(columns):
            waiting.append(piece)
            size += piece.nbytes
            rows += piece.num_rows
            if rows > MAX_ROWS:
                raise DataError(f"There are more than {MAX_ROWS:,} rows", "Split the file.", file=self.path)
            if size >= min(SLAB_BYTES, quarter):
                yield pa.concat_tables(waiting, promote_options="permissive")
                waiting, size = [], 0
        if waiting:
            yield pa.concat_tables(waiting, promote_options="permissive")

    @contextmanager
    def naming(self, column: str) -> Iterator[None]:
        """Add file and column to a refusal that is about a column's values."""
        try:
            yield
        except DataError as error:
            raise DataError(f"This column {str(error).removesuffix('.')}", file=self.path, column=column) from None
        except pa.ArrowException as error:
            raise DataError(f"This column is damaged ({error})", file=self.path, column=column) from None

    def encode(
        self, columns: tuple[str, ...], keep: tuple[str, ...] = (), listed: Mapping[str, Arrow] = MappingProxyType({})
    ) -> tuple[dict[str, Codes], Arrow | None]:
        """Some columns as codes, by name; and a pyarrow table of the columns to ``keep`` unchanged, None without any.

        ``listed``: column -> names that it is likely to hold in this order, see `Encoder`.
        """
        encoders = {name: Encoder(listed.get(name), self.n_rows) for name in columns}
        kept: list[Arrow] = []
        for slab in self.slabs((*columns, *keep)):
            for name, encoder in encoders.items():
                with self.naming(name):
                    encoder.add(slab[name])
            spelled = []
            for name in keep:
                with self.naming(name):
                    column, kind = slab[name], slab[name].type
                    spelled.append(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
            kept.append(pa.table(spelled, names=list(keep)))
            del slab, spelled  # before the next one is read
            release_memory()
        codes = {}
        for name in columns:
            with self.naming(name):
                codes[name] = encoders.pop(name).finish()
        release_memory()
        return codes, pa.concat_tables(kept, promote_options="permissive") if kept and keep else None


def fill_down(table: Table, columns: tuple[str, ...] | None) -> None:
    """Let empty cells take the cell above: in some columns, or (None) where cells seem to have been merged."""
    if columns is not None:
        unknown = [name for name in columns if name not in table.columns]
        if unknown:
            raise SettingError("fill", f"name columns such as {table.columns[0]!r}", unknown[0])
        table.fill = columns
    elif (table.delimiter is not None or isinstance(table, ArrowTable)) and (name := _merged_column(table)):
        sentence = f"Cells of {name!r} seem to have been merged: each empty one was read as the cell above"
        remedies = (Remedy("fill", [name], when="so"), Remedy("fill", [], when="they are empty"))
        table.findings += (Finding("merged-cells", "question", sentence, column=name, remedies=remedies),)
        table.fill = (name,)
    table.__dict__.pop("head", None)


def _merged_column(table: Table) -> str | None:
    """The first column, if its cells all differ, at least a third is empty, and the cells beside these are filled."""
    head = table.head
    if len(head) < 4 or head.num_columns < 3 or any(pa.types.is_nested(kind) for kind in head.schema.types):
        return None
    words = [head.column(0).cast(pa.large_string()).to_pylist(), *(head.column(i) for i in range(1, head.num_columns))]
    first = [(word or "").strip() for word in words[0]]
    void = np.array([not word for word in first])
    filled = [word for word in first if word]
    if not filled or void[0] or 3 * void.sum() < len(first) or len(set(filled)) < len(filled):
        return None
    beside = head.filter(pa.array(void))
    full = [
        pc.mean(pc.not_equal(c.cast(pa.large_string()).fill_null(""), "").cast(pa.int8())).as_py()
        for c in beside.columns[1:]
    ]
    return table.columns[0] if sum(share > 0.95 for share in full) > 1 else None


def _fill_down(chunk: Arrow, place: int, above: Any) -> tuple[Arrow, Any]:
    """Fill a column's empty cells with the cell above (``above`` the first: ``above``); also returns its last cell."""
    column = chunk[place].combine_chunks()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), pa.scalar(None, column.type), column)
    column = pc.fill_null_forward(column)
    if above is not None:
        column = column.fill_null(above)
    last = column[-1] if len(column) else above
    return chunk.set_column(place, chunk.column_names[place], column), last if last is None or last.is_valid else above


class ArrowTable(Table):
    """A pyarrow table in memory."""

    def __init__(self, table: Arrow, path: Path | None = None, findings: tuple[Finding, ...] = ()) -> None:
        self.name_columns(table.column_names)
        self._table, self.path, self.findings = table.rename_columns(list(self.columns)), path, findings
        self.nests = any(map(pa.types.is_nested, table.schema.types))
        self.categorical = categorical(self._table.schema)

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The whole table at once."""
        yield self._table.select([self.columns.index(name) for name in columns])


def categorical(schema: Arrow) -> frozenset[str]:
    """The columns whose type lists their values."""
    return frozenset(field.name for field in schema if pa.types.is_dictionary(field.type))
