"""Long tables: one row per annotation."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.columns import assign_roles
from crowdcore.data.readers.base import Raw, Reader, Source, read_annotations
from crowdcore.data.settings import ReadSettings

NEEDED = ("task", "worker", "label")


class LongTable(Reader):
    """CSV, TSV, JSON lines, Parquet or a frame with a column each for task, worker and label."""

    name: ClassVar[str] = "long"
    title: ClassVar[str] = "Long table (a row per annotation)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Columns for task, worker and label are recognised or named."""
        if source.table is None:
            return 0.0
        roles = assign_roles(source.table, settings)
        return 0.6 if all(role in roles for role in NEEDED) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns that play a role, and keep the others beside them."""
        raw = read_annotations(source.need_table(), settings, self.name)
        if len(raw.task) == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        return raw
