"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdcore.core.errors import DataError
from crowdcore.core.memory import available_memory
from crowdcore.data.dictionary import Codes
from crowdcore.data.tables import base
from crowdcore.data.tables.base import Arrow, Table

BATCH_CELLS = 3 << 17
BATCH_ROWS = 1 << 17
PAGES = 1 << 16  # bytes of a column read at once
CELL = 24  # bytes of memory for every cell, names included: measured on five labels a task
MAX_TEXT = 512 << 20  # most bytes of text in a column of a batch
_FAULTS = (pa.ArrowException, OSError, ValueError, KeyError)


class ParquetTable(Table):
    """A Parquet file, read in batches of about 400,000 cells."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = pq.ParquetFile(path, buffer_size=PAGES, pre_buffer=False)
        except _FAULTS as error:
            raise self._broken(error) from None
        self.name_columns(self._file.schema_arrow.names)
        if self.repeated:
            raise DataError(f"Two columns are called {min(self.repeated)!r}", "Rename one.", file=path)
        self.categorical = base.categorical(self._file.schema_arrow)
        self.n_rows = self._file.metadata.num_rows
        self.nests = any(map(pa.types.is_nested, self._file.schema_arrow.types))
        if self.n_rows > base.MAX_ROWS:
            raise DataError(f"There are more than {base.MAX_ROWS:,} rows", "Split the file.", file=path)

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Batches of 131,072 rows of three columns, fewer where there are many columns."""
        size = min(max(BATCH_CELLS // max(len(columns), 1), 1), BATCH_ROWS)
        try:
            self._check_expansion(columns, size)
            for batch in self._file.iter_batches(size, columns=list(columns), use_threads=False):
                for column in batch.columns:
                    if pa.types.is_dictionary(column.type):
                        column.validate(full=True)  # a damaged file may hold indices beyond its dictionary
                yield batch
        except (DataError, MemoryError):
            raise
        except _FAULTS as error:
            raise self._broken(error) from None

    def encode(
        self, columns: tuple[str, ...], keep: tuple[str, ...] = (), listed: Mapping[str, Arrow] = MappingProxyType({})
    ) -> tuple[dict[str, Codes], Arrow | None]:
        """Like `Table.encode`, column by column, so that the file's reader frees each one before the next."""
        self._check_size((*columns, *keep))
        codes: dict[str, Codes] = {}
        for name in columns:
            codes |= super().encode((name,), (), listed)[0]
        return codes, super().encode((), keep)[1] if keep else None

    def _check_size(self, columns: tuple[str, ...]) -> None:
        """Refuse a file with too many cells by its footer."""
        needed = self.n_rows * len(columns) * CELL
        if needed > available_memory():
            raise DataError(
                f"Its {self.n_rows:,} rows of {len(columns)} columns need about {needed / 2**30:.1f} GiB of memory, "
                f"but there are {available_memory() / 2**30:.1f} GiB",
                "Split the file, or leave columns out.",
                file=self.path,
            )

    def _check_expansion(self, columns: tuple[str, ...], size: int) -> None:
        """Check the dictionaries, by which a file of some kilobytes can repeat a long text a billion times."""
        kinds = {field.name: field.type for field in self._file.schema_arrow}
        text = [n for n in columns if pa.types.is_string(kinds[n]) or pa.types.is_large_string(kinds[n])]
        packed = pq.ParquetFile(self.path, read_dictionary=text, buffer_size=PAGES, pre_buffer=False)
        for g in range(self._file.num_row_groups):
            group = self._file.metadata.row_group(g)
            rows = min(size, group.num_rows)
            chunks = {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
            suspect = [n for n in text if n in chunks and rows * chunks[n].total_uncompressed_size > MAX_TEXT]
            rows_of = packed.iter_batches(1, row_groups=[g], columns=suspect, use_threads=False)
            first = next(rows_of, None) if suspect else None
            for name, column in zip(suspect, first.columns if first else (), strict=False):
                longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                if rows * longest > MAX_TEXT:
                    raise DataError(
                        f"Column {name!r} repeats texts of up to {longest:,} bytes over {rows:,} rows, which expands "
                        f"to more than {MAX_TEXT >> 20} MiB",
                        "Give short names to tasks, workers and labels.",
                        file=self.path,
                    )

    def _broken(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split())[:200]
        return DataError(
            f"This Parquet file is cut off or damaged ({reason})", "Copy or write it again.", file=self.path
        )
