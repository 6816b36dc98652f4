"""Tables from CSV, JSON lines, Parquet or data frames, read in pieces of bounded size."""

from __future__ import annotations

from crowdcore.data.tables.base import ArrowTable, Table
from crowdcore.data.tables.content import Content, identify, looks_like_conll
from crowdcore.data.tables.delimited import DelimitedTable
from crowdcore.data.tables.json_table import JsonTable
from crowdcore.data.tables.parquet import ParquetTable

__all__ = ["ArrowTable", "Content", "DelimitedTable", "JsonTable", "ParquetTable", "Table"]
__all__ += ["identify", "looks_like_conll"]
