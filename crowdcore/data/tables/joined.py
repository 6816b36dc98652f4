"""`JoinedTable`: a table with one column more, that names by several columns together: ``3 / 1``."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.data.columns import MappingError
from crowdcore.data.dictionary import as_text
from crowdcore.data.tables.base import Arrow, Table

BETWEEN = " / "


class JoinedTable(Table):
    """The columns of a table, and last the joined one; a row that lacks a part has no joined name.

    Args:
        table: the table.
        parts: two or more of its columns.

    Raises:
        MappingError: one of them is not there.
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
        """Those of the table, its cells filled, with the joined column where it is asked for."""
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

    @property
    def nested_remedy(self) -> str:
        """That of the table."""
        return self._table.nested_remedy

    def refuse_document(self) -> None:
        """Refuse what the table refuses."""
        self._table.refuse_document()


def _text(column: Arrow) -> Arrow:
    """Trimmed names, missing where they are empty."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    trimmed = pc.utf8_trim_whitespace(as_text(whole))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.large_string()), trimmed)
