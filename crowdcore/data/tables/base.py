"""`Table`: interface of files with rows and columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import Codes, Encoder
from crowdcore.data.report import Finding

__all__ = ["MAX_ROWS", "Arrow", "Table"]

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read

MAX_ROWS = 1_000_000_000  # 12 bytes each once read: beyond that the index arrays alone fill a workstation
MAX_COLUMNS = 20_000
SLAB_BYTES = 512 << 20  # text held at once before it becomes codes
HEAD_ROWS = 1000


class Table(ABC):
    """Rows and named columns of one file or frame.

    Attributes:
        columns: names in the file's order; a name's repeats are numbered: ``x``, ``x (2)``.
        repeated: names that repeat.
        path: the file, None for a frame.
        encoding: of a text file.
        delimiter: of a delimited file.
        escaped: whether cells that look like formulas may carry our writers' apostrophe.
        findings: what had to be guessed to open it.
    """

    columns: tuple[str, ...]
    repeated: frozenset[str] = frozenset()
    path: Path | None = None
    encoding: str | None = None
    delimiter: str | None = None
    escaped: bool = False
    findings: tuple[Finding, ...] = ()

    def name_columns(self, names: Iterable[str]) -> None:
        """Set ``columns`` and ``repeated``."""
        seen: Counter[str] = Counter()
        columns: dict[str, None] = {}
        for name in names:
            seen[name] += 1
            number, unique = seen[name], name
            while unique in columns:
                unique, number = f"{name} ({max(number, 2)})", number + 1
            columns[unique] = None
            if len(columns) > MAX_COLUMNS:
                raise DataError(f"There are more than {MAX_COLUMNS:,} columns", "Leave some out.", file=self.path)
        self.columns = tuple(columns)
        self.repeated = frozenset(name for name, count in seen.items() if count > 1)

    @abstractmethod
    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The rows as pyarrow tables or batches with just these columns, in order and of bounded size."""

    @cached_property
    def head(self) -> Arrow:
        """The first rows (up to 1,000) of all columns."""
        taken, n = [], 0
        for piece in self.pieces(self.columns):
            taken.append(pa.table(piece) if isinstance(piece, pa.RecordBatch) else piece)
            n += piece.num_rows
            if n >= HEAD_ROWS:
                break
        if not taken:
            return pa.table({name: pa.array([], pa.string()) for name in self.columns})
        return pa.concat_tables(taken, promote_options="permissive").slice(0, HEAD_ROWS)

    def slabs(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Like `pieces`, gathered to tables of up to 512 MB.

        Raises:
            DataError: more rows than can be held.
        """
        waiting: list[Arrow] = []
        size = rows = 0
        for piece in self.pieces(columns):
            waiting.append(pa.table(piece) if isinstance(piece, pa.RecordBatch) else piece)
            size += piece.nbytes
            rows += piece.num_rows
            if rows > MAX_ROWS:
                raise DataError(f"There are more than {MAX_ROWS:,} rows", "Split the file.", file=self.path)
            if size >= SLAB_BYTES:
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

    def encode(self, columns: tuple[str, ...], keep: tuple[str, ...] = ()) -> tuple[dict[str, Codes], Arrow | None]:
        """Read some columns as codes, and some (``keep``) as they are.

        Returns:
            Column name -> codes; and a pyarrow table of the kept columns (None if there are none).
        """
        encoders = {name: Encoder() for name in columns}
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
        codes = {}
        for name, encoder in encoders.items():
            with self.naming(name):
                codes[name] = encoder.finish()
        return codes, pa.concat_tables(kept, promote_options="permissive") if kept and keep else None
