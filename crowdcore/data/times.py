"""Times at which labels were given, and durations: recognise their columns by name, and read them."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd

from crowdcore.core.types import BoolArray, FloatArray

TIME, SECONDS = "timestamp", "seconds"
"""Columns of `CrowdDataset.extra`: the time at which a label was given, and the seconds that it took."""
_LARGEST = 1e11  # s since 1970, in the year 5138: larger numbers are in a smaller unit
_CLOCK = 9.2e9  # s: nanoseconds since 1970 fit 64 bits until the year 2262; dates beyond stand for "never"


_DONE = {"submit", "submitted", "submission", "completed", "completion", "finished", "updated", "modified", "saved"}
_DONE |= {"recorded"}
_POINTS = {
    *("time", "times", "timestamp", "timestamps", "datetime", "date", "day", "when", "clock", "created", "started"),
    *("begun", "start", "end", "begin", "zeit", "zeitstempel", "datum", "uhrzeit", "horodateur", "fecha", "hora"),
    *_DONE,
}
_SPANS = frozenset(["seconds", "sec", "secs", "ms", "minute", "minutes", "duration", "elapsed"])
_OF_A_SPAN = _SPANS | {"second", "spent", "taken", "took", "lead", "zone", "timezone"}
_UNREAD, _SINCE = 0.1, 1e8  # share of times that may be unreadable; s since 1970, in 1973: less is a duration


def _words(name: str) -> list[str]:
    """A column's name in words, in lower case: ``createdAt``, ``created_at`` and ``Created at`` are the same."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", "_", name).lower())


def about_time(name: str) -> bool:
    """Return whether a column's name says that it holds times or durations, and so no labels."""
    return bool((_POINTS | _SPANS) & {*_words(name)}) or _words(name)[1:][-1:] == ["at"]


def names_time(name: str) -> bool:
    """Return whether a column's name says that it holds points in time.

    Examples:
        >>> [names_time(name) for name in ("created_at", "submitTime", "time_spent", "label")]
        [True, True, False, False]
    """
    return about_time(name) and not _OF_A_SPAN & {*_words(name)}


def names_completion(name: str) -> bool:
    """Return whether a column's name says when a label was finished, rather than when a task was created."""
    words = {*_words(name)}
    return bool(_DONE & words) or any(word.startswith(("annotat", "answer", "label")) for word in words)


def read_moments(values: pd.Series, *, sure: bool = False) -> FloatArray | None:
    """(n,) seconds since 1970, NaN where missing or unreadable; None where most are no times, or dates are ambiguous.

    Unlike `moments`, this reads ``31.05.2024 14:30`` and ``5/31/2024`` if one of the dates shows which number is the
    day. ``sure``: the settings say that these are times, so that small numbers are, too.
    """
    numbers = pd.api.types.is_numeric_dtype(values.dtype) or bool(pd.to_numeric(values, errors="coerce").notna().any())
    filled = max(int(are_filled(values).sum()), 1)
    readings = [moments(values)]
    if not numbers and np.isfinite(readings[0]).sum() < (1 - _UNREAD) * filled:
        text, unit = values.astype("str"), pd.Timedelta(seconds=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on day and month taken the other way round
            read = [pd.to_datetime(text, errors="coerce", utc=True, dayfirst=day) for day in (False, True)]
        readings = [((r - pd.Timestamp(0, tz="UTC")) / unit).to_numpy(np.float64) for r in read]
    good = [
        r
        for r in readings
        if np.isfinite(r).sum() >= max((1 - _UNREAD) * filled, 1) and (sure or not numbers or np.nanmedian(r) > _SINCE)
    ]
    return good[0] if good and np.array_equal(good[0], good[-1], equal_nan=True) else None


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
    if is_date or 2 * np.isfinite(number).sum() <= are_filled(values).sum():
        read = pd.to_datetime(values if is_date else values.astype("str"), utc=True, errors="coerce", format="ISO8601")
        first, last = (pd.Timestamp(end, unit="s", tz="UTC") for end in (-_CLOCK, _CLOCK))
        near = read.where(read.between(first, last))
        since_1970: FloatArray = (near - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(np.float64)
        return since_1970 if is_date else np.where(np.isfinite(number), np.nan, since_1970)
    seconds = in_seconds(number)
    return np.where(np.abs(seconds) <= _CLOCK, seconds, np.nan)


def in_seconds(number: FloatArray) -> FloatArray:
    """Points in time as seconds: numbers too large for that are milli-, micro- or nanoseconds since 1970."""
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
    """(n,) as numbers, NaN for others and for infinite ones."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return np.full(len(values), np.nan)
    number: FloatArray = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isfinite(number), number, np.nan)


def are_filled(values: pd.Series) -> BoolArray:
    """(n,) mask of the cells that are neither missing nor blank."""
    return np.asarray(values.notna() & (values.astype("str").str.strip() != ""))


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
_JAVA = re.compile(r"^\w{3} (\w{3}) +(\d+) (\d+):(\d+):(\d+) (\w{3}) (\d{4})$")  # Thu Jun 16 12:59:33 PDT 2011
_AMERICAN = re.compile(r"^(\d+)/(\d+)/(\d{4}) (\d+):(\d+):(\d+)$")  # 6/30/2014 14:28:16


def iso_time(value: object) -> str | None:
    """A point in time in ISO 8601, in UTC (``…Z``) where its zone is known; other texts unchanged.

    Seconds or milliseconds since 1970, ISO 8601, Mechanical Turk's ``Thu Jun 16 12:59:33 PDT 2011`` and Appen's
    ``6/30/2014 14:28:16`` are understood.

    Examples:
        >>> iso_time("Thu Jun 16 12:59:33 PDT 2011"), iso_time("6/30/2014 14:28:16"), iso_time(1_700_000_000)
        ('2011-06-16T19:59:33Z', '2014-06-30T14:28:16', '2023-11-14T22:13:20Z')
    """
    if value is None or isinstance(value, bool | dict | list) or value != value or value == "":
        return None
    try:
        moment = _moment(value)
    except (ValueError, OverflowError, OSError):
        return str(value)
    if moment.tzinfo is None:
        return moment.isoformat()
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int | float):
        return datetime.fromtimestamp(float(in_seconds(np.asarray(value, np.float64))), UTC)
    text = str(value).strip()
    if (java := _JAVA.match(text)) and java[6] in _HOURS:
        month, day, hour, minute, second, zone, year = java.groups()
        clock = timezone(timedelta(hours=_HOURS[zone]))
        numbers = (int(year), _MONTHS.index(month.lower()) + 1, int(day), int(hour), int(minute), int(second))
        return datetime(*numbers, tzinfo=clock)
    if american := _AMERICAN.match(text):
        month_number, day_number, year_number, hours, minutes, seconds = map(int, american.groups())
        return datetime(year_number, month_number, day_number, hours, minutes, seconds)
    return datetime.fromisoformat(text)
