"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crowdcore.core.errors import DataError
from crowdcore.data.tables import base
from crowdcore.data.tables.base import Arrow, Table

__all__ = ["ParquetTable"]

BATCH_CELLS = 3 << 20
_FAULTS = (pa.ArrowException, OSError, ValueError, KeyError)


class ParquetTable(Table):
    """A Parquet file, read in batches of three million cells."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = pq.ParquetFile(path)
        except _FAULTS as error:
            raise self._broken(error) from None
        self.name_columns(self._file.schema_arrow.names)
        if self.repeated:
            raise DataError(f"Two columns are called {min(self.repeated)!r}", "Rename one.", file=path)
        self.n_rows = self._file.metadata.num_rows
        if self.n_rows > base.MAX_ROWS:
            raise DataError(f"There are more than {base.MAX_ROWS:,} rows", "Split the file.", file=path)

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Batches of a million rows, fewer where there are many columns."""
        size = max(BATCH_CELLS // max(len(columns), 1), 1)
        try:
            for batch in self._file.iter_batches(size, columns=list(columns)):
                for column in batch.columns:
                    if pa.types.is_dictionary(column.type):
                        column.validate(full=True)  # a damaged file may hold indices beyond its dictionary
                yield batch
        except _FAULTS as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split())[:200]
        return DataError(
            f"This Parquet file is cut off or damaged ({reason})", "Copy or write it again.", file=self.path
        )
