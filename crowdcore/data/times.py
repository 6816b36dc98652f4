"""When labels were given, and how long they took: columns of the annotations, read as seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray

TIME, SECONDS = "timestamp", "seconds"
"""The columns of `CrowdDataset.extra` that say when a label was given, and how many seconds it took."""
_LARGEST = 1e11  # s since 1970, in the year 5138: larger numbers are in a smaller unit
_CLOCK = 9.2e9  # s: nanoseconds since 1970 fit 64 bits until the year 2262; dates beyond stand for "never"


def moments(values: pd.Series) -> FloatArray:
    """(n,) points in time, in seconds since 1970 or as written; NaN where missing, unreadable or centuries away.

    Numbers are seconds, or milli-, micro- or nanoseconds since 1970 where they are too large for seconds. Other texts
    are read as ISO 8601. A column of texts holds one of both, that of most cells: beside dates a number is unreadable.

    Examples:
        >>> moments(pd.Series([1_700_000_000, 1_700_000_000_000])).tolist()
        [1700000000.0, 1700000000.0]
        >>> moments(pd.Series(["2023-11-14T22:13:20Z", "soon"])).tolist()
        [1700000000.0, nan]
    """
    number = _numbers(values)
    is_date = pd.api.types.is_datetime64_any_dtype(values.dtype)
    if is_date or 2 * np.isfinite(number).sum() <= _filled(values):
        read = pd.to_datetime(values if is_date else values.astype("str"), utc=True, errors="coerce", format="ISO8601")
        first, last = (pd.Timestamp(end, unit="s", tz="UTC") for end in (-_CLOCK, _CLOCK))
        near = read.where(read.between(first, last))
        found: FloatArray = (near - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(np.float64)
        return found if is_date else np.where(np.isfinite(number), np.nan, found)
    seconds = in_seconds(number)
    return np.where(np.abs(seconds) <= _CLOCK, seconds, np.nan)


def in_seconds(number: FloatArray) -> FloatArray:
    """Points in time as seconds: those too large for it are in milli-, micro- or nanoseconds since 1970."""
    for _ in range(3):
        number = np.where(np.abs(number) > _LARGEST, number / 1000, number)
    return number


def durations(values: pd.Series) -> FloatArray:
    """(n,) seconds; NaN where missing, below 0 or no number.

    Examples:
        >>> durations(pd.Series(["2.5", "-1", "3 s"])).tolist()
        [2.5, nan, nan]
    """
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        number: FloatArray = values.dt.total_seconds().to_numpy(np.float64)
    else:
        number = _numbers(values)
    return np.where(number >= 0, number, np.nan)


def _numbers(values: pd.Series) -> FloatArray:
    """(n,) as numbers, NaN for what is none or not finite."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return np.full(len(values), np.nan)
    number: FloatArray = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isfinite(number), number, np.nan)


def _filled(values: pd.Series) -> int:
    """Cells that are neither missing nor blank."""
    return int((values.notna() & (values.astype("str").str.strip() != "")).sum())
