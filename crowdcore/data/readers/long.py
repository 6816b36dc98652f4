"""Long tables: one row per annotation."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.columns import assign_roles, read_roles
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.settings import MEDIA, ReadSettings

__all__ = ["LongTable"]

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
        table = source.need_table()
        columns = read_roles(table, settings, NEEDED)
        part = columns.codes
        if len(part["task"]) == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        media = {role: part[role] for role in MEDIA if role in part}
        tasks = RawTasks(part["task"], False, part.get("gold"), part.get("split"), media, table.escaped)
        return Raw(
            self.name,
            part["task"],
            part["worker"],
            part["label"],
            columns=table.columns,
            roles=columns.roles,
            encoding=table.encoding,
            delimiter=table.delimiter,
            escaped=table.escaped,
            missing=settings.missing or (),
            extra=columns.extra,
            tasks=tasks if tasks.gold or tasks.split or media else None,
            findings=tuple(columns.findings),
            folder=source.path.parent if source.path and media else None,
        )
