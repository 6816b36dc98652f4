"""Points in time as annotation tools write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np

from crowdcore.data.times import in_seconds

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
_JAVA = re.compile(r"^\w{3} (\w{3}) +(\d+) (\d+):(\d+):(\d+) (\w{3}) (\d{4})$")  # Thu Jun 16 12:59:33 PDT 2011
_AMERICAN = re.compile(r"^(\d+)/(\d+)/(\d{4}) (\d+):(\d+):(\d+)$")  # 6/30/2014 14:28:16


def iso_time(value: object) -> str | None:
    """A point in time in ISO 8601, in UTC (``…Z``) where its zone is known; what is not understood as it stands.

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
