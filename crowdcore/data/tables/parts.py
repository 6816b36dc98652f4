"""Rows of several files as one table, with what their paths say as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

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
        folder: where they are from.
        parts: each table, with names and values that are the same in all of its rows.
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
