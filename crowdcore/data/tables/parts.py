"""Tables made of others: the rows of several files, and columns that name a task together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.data.columns import MappingError
from crowdcore.data.dictionary import as_text
from crowdcore.data.report import Finding
from crowdcore.data.tables.base import Arrow, Table

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def path_keys(folder: Path, file: Path) -> dict[str, str | None]:
    """Name -> value of the folders ``name=value`` that a file lies in, as Hive and Spark write them."""
    parts = (part.partition("=") for part in file.relative_to(folder).parts[:-1])
    values = {unquote(name): unquote(value) for name, equal, value in parts if equal}
    return {name: None if value == _NO_VALUE else value for name, value in values.items()}


class PartsTable(Table):
    """Tables one after another; a column that one of them lacks is empty there.

    Args:
        folder: their folder.
        parts: each table, with the names and values that all of its rows share.
    """

    def __init__(self, folder: Path, parts: Sequence[tuple[Table, Mapping[str, str | None]]]) -> None:
        first = parts[0][0]
        self.path, self._parts = folder, parts
        self.nests = any(table.nests for table, _ in parts)
        self.encoding, self.delimiter, self.escaped = first.encoding, first.delimiter, first.escaped
        self.findings = tuple({(f.code, f.sentence): f for table, _ in parts for f in table.findings}.values())
        self.name_columns(dict.fromkeys(name for table, known in parts for name in (*table.columns, *known)))
        self.n_rows = sum(table.n_rows for table, _ in parts) if all(table.n_rows for table, _ in parts) else 0

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The pieces of each table."""
        for table, known in self._parts:
            inside = tuple(name for name in columns if name in table.columns and name not in known)
            for piece in table.stream(inside or table.columns[:1]):
                n = piece.num_rows
                cells = {name: piece[name] for name in inside}
                for name in columns:
                    if name not in cells:
                        cells[name] = pa.repeat(pa.scalar(known.get(name), pa.large_string()), n)
                yield pa.table({name: cells[name] for name in columns})

    def headers_within(self, per_row: int) -> list[Finding]:
        """`repeated_headers` of the tables."""
        return [finding for table, _ in self._parts for finding in table.repeated_headers(per_row)]


BETWEEN = " / "


class JoinedTable(Table):
    """The columns of a table, and last the joined one; a row that lacks a part has no joined name.

    Args:
        table: the table.
        parts: two or more of its columns.

    Raises:
        MappingError: one of them does not exist.
        DataError: fewer than two different columns, or one of several of the same name.
    """

    def __init__(self, table: Table, parts: tuple[str, ...]) -> None:
        for part in parts:
            if part not in table.columns:
                raise MappingError(f"There is no column {part!r}", table.columns, {}, table.path, "task")
            if part in table.repeated:
                raise DataError(f"Two columns are called {part!r}", "Rename one.", file=table.path, column=part)
        if len({*parts}) < max(2, len(parts)):
            raise DataError("A task of several columns needs two or more different ones", file=table.path)
        self.__dict__.update({name: value for name, value in vars(table).items() if name != "head"})
        self._table, self.parts, self.joined = table, parts, BETWEEN.join(parts)
        self.columns = (*table.columns, self.joined)
        self.written = {**table.written, self.joined: self.joined}

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The pieces of the table; `stream` joins."""
        yield from self._table.pieces(columns)

    def stream(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The pieces of the table, its cells filled, with the joined column if it is requested."""
        own = columns
        if self.joined in columns:
            own = tuple(dict.fromkeys(c for c in (*columns, *self.parts) if c != self.joined))
        for piece in self._table.stream(own):
            self.n_read, self.headers_again = self._table.n_read, self._table.headers_again
            if self.joined in columns:
                named = dict(zip(own, piece.columns, strict=True))
                texts = [_text(named[part]) for part in self.parts]
                named[self.joined] = pc.binary_join_element_wise(*texts, pa.scalar(BETWEEN, pa.large_string()))
                piece = pa.table([named[c] for c in columns], names=list(columns))
            yield piece
        self.nested = self._table.nested


def _text(column: Arrow) -> Arrow:
    """Trimmed names, missing where they are empty."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    trimmed = pc.utf8_trim_whitespace(as_text(whole))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.large_string()), trimmed)
