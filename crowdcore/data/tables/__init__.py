"""Tables from CSV, JSON lines, Parquet or data frames, read in pieces of bounded size."""

from __future__ import annotations

from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Table
from crowdcore.data.tables.content import Content, identify, looks_like_conll
from crowdcore.data.tables.delimited import DelimitedTable
from crowdcore.data.tables.json_table import JsonTable
from crowdcore.data.tables.parquet import ParquetTable

__all__ = [
    "Content",
    "DelimitedTable",
    "JsonTable",
    "ParquetTable",
    "Table",
    "identify",
    "looks_like_conll",
    "open_table",
]


def open_table(content: Content, settings: ReadSettings) -> Table:
    """Open a file that `identify` found to hold a table."""
    if content.kind == "parquet":
        return ParquetTable(content.path)
    if content.kind == "text":
        return DelimitedTable(content, settings)
    return JsonTable(content)
