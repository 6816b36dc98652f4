"""Escape and unescape cells that a spreadsheet would run as formulas.

The rule: a text that begins with one of ``= + - @``, a tab or a carriage return, and is not a plain number, gets an
apostrophe before it; so does a text that begins with an apostrophe before one of these or another apostrophe. Our
readers of delimited text take that apostrophe away again, so that reading gives back what was written.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Arrow: TypeAlias = Any  # pyarrow has no types that mypy can read

_RISKY = r"^'*[=+\-@\t\r]|^''"
_ESCAPED = r"^'[=+\-@\t\r']"
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape(values: Arrow) -> Arrow:
    """Add the apostrophe to risky texts of a pyarrow string array."""
    risky = pc.and_not(pc.match_substring_regex(values, _RISKY), pc.match_substring_regex(values, _NUMBER))
    if not pc.any(risky).as_py():
        return values
    mark, nothing = (pa.scalar(text, values.type) for text in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(mark, values, nothing), values)


def unescape(values: Arrow) -> Arrow:
    """Remove the apostrophe."""
    escaped = pc.match_substring_regex(values, _ESCAPED)
    if not pc.any(escaped).as_py():
        return values
    return pc.if_else(escaped, pc.utf8_slice_codeunits(values, 1), values)


def neutralise(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of a frame whose text cells and column names are safe to open in a spreadsheet; numbers stay."""
    safe = {}
    for number, (_, column) in enumerate(frame.items()):
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
            safe[number] = column
        else:
            text = pa.array([None if pd.isna(v) else str(v) for v in column], pa.large_string())
            safe[number] = pd.Series(escape(text).to_pandas().to_numpy(object), index=frame.index)
    result = pd.DataFrame(safe, index=frame.index)
    result.columns = pd.Index(escape(pa.array([str(c) for c in frame.columns], pa.large_string())).to_pylist())
    return result


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A CSV in UTF-8 whose texts no spreadsheet takes for a formula."""
    return neutralise(frame).to_csv(index=False).encode()
