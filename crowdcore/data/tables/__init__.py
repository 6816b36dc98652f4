"""Tables from CSV, JSON lines, Parquet or data frames, read in pieces of bounded size."""

from __future__ import annotations

from crowdcore.core.errors import DataError
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import ArrowTable, Table
from crowdcore.data.tables.content import Content, identify, looks_like_conll
from crowdcore.data.tables.delimited import DelimitedTable
from crowdcore.data.tables.json_table import JsonTable
from crowdcore.data.tables.parquet import ParquetTable

__all__ = ["ArrowTable", "Content", "DelimitedTable", "JsonTable", "ParquetTable", "Table"]
__all__ += ["identify", "looks_like_conll", "open_table"]


def open_table(content: Content, settings: ReadSettings) -> Table:
    """Open a file that `identify` found to hold a table."""
    if content.kind == "container":
        raise DataError("This is packed once more", "Unpack it first.", file=content.path)
    if content.kind == "parquet":
        return ParquetTable(content.path)
    if content.kind == "text":
        return DelimitedTable(content, settings)
    return JsonTable(content)
