"""Frames already in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import arrow_column
from crowdcore.data.tables.base import Arrow, Table


class FrameTable(Table):
    """A pandas frame; each level of its index is a column of its own if it has a name or does not hold numbers."""

    def __init__(self, frame: pd.DataFrame) -> None:
        columns = [*_levels(frame), *((name, frame.iloc[:, i]) for i, name in enumerate(frame.columns))]
        self.name_columns(_text(name) for name, _ in columns)
        cells = [_column(values, name) for (_, values), name in zip(columns, self.columns, strict=True)]
        self._table = pa.table(cells, names=list(self.columns))

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """The whole table at once."""
        yield self._table.select([self.columns.index(name) for name in columns])


def _levels(frame: pd.DataFrame) -> Iterator[tuple[Any, pd.Series[Any]]]:
    """Name and values of the index's levels that are columns.

    Raises:
        DataError: a level and a column of the same name differ.
    """
    index = frame.index
    for i, name in enumerate(index.names):
        values = index.get_level_values(i).to_series(index=index)
        if name is None and index.nlevels == 1:
            if pd.api.types.is_integer_dtype(values.dtype):
                continue
            name = "task"
        name = f"level_{i}" if name is None else name
        if name not in frame.columns:
            yield name, values
        elif not (isinstance(frame[name], pd.Series) and list(values.map(str)) == list(frame[name].map(str))):
            raise DataError(f"The index and a column are both called {name!r}, and differ", "Rename one.")


def _text(name: object) -> str:
    text = str(name)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise DataError(f"The name {text!r} holds half a surrogate pair, which is not text")
    return text


def _column(values: pd.Series, name: str) -> Arrow:
    """A column as pyarrow; mixed Python objects become strings."""
    try:
        return arrow_column(values)
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
