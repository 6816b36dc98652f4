"""Frames already in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.tables.base import Arrow, Table

__all__ = ["FrameTable"]


class FrameTable(Table):
    """A pandas frame; its index is a column of its own if it has a name or holds strings."""

    def __init__(self, frame: pd.DataFrame) -> None:
        index = frame.index
        if index.name is not None or not pd.api.types.is_integer_dtype(index.dtype):
            name = index.name if index.name is not None else "task"
            frame = frame.reset_index(names=name) if name not in frame.columns else frame.reset_index(drop=True)
        self.name_columns(map(str, frame.columns))
        self._table = pa.table(
            [_column(frame.iloc[:, i], name) for i, name in enumerate(self.columns)], names=list(self.columns)
        )

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The whole table at once."""
        yield self._table.select([self.columns.index(name) for name in columns])


def _column(values: pd.Series, name: str) -> Arrow:
    """A column as pyarrow; mixed Python objects become strings."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    except UnicodeEncodeError:
        raise DataError("A value holds characters that are not text", column=name) from None
    text = [None if _is_missing(v) else str(v) for v in values]
    try:
        return pa.array(text, pa.large_string())
    except UnicodeEncodeError:
        raise DataError("A value holds characters that are not text", column=name) from None


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
