"""Which further column says when a label was given: the one that is named, else one whose name and content say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.times import TIME, moments, read_moments, says_when_done, tells_time

_DIFFERS = 0.2  # share of the tasks, and of the workers, with several labels whose times must differ
_OTHER = f"other {TIME}"


def time_columns(names: Iterable[str]) -> list[str]:
    """Columns that hold times by their names, the most telling first: ``timestamp``, then when a label was done."""
    return sorted(filter(tells_time, names), key=lambda name: (name != TIME, not says_when_done(name)))


def with_time(raw: Raw, settings: ReadSettings) -> tuple[Raw, list[Finding]]:
    """What was read, with the time of each label in the column ``timestamp``, and a note that says from which.

    A column called ``timestamp`` stays unless another one is named. Else one is taken whose name says so and whose
    every cell can be read, if it differs within tasks and within workers: a task's date is no time of a label.

    Raises:
        DataError: the column that the settings name is not there, or holds no times.
    """
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    if settings.time is not None:
        if settings.time not in extra.column_names:
            raise DataError("There is no further column of this name", file=raw.path, column=settings.time)
        when = read_moments(extra[settings.time].to_pandas(), told=True)
        if when is None:
            raise DataError("The times of this column cannot be read", file=raw.path, column=settings.time)
        return _renamed(raw, settings.time, when), []
    if TIME in extra.column_names:
        return raw, []
    for name in time_columns(extra.column_names):
        values = extra[name].to_pandas()
        when = read_moments(values)
        if when is None or np.isnan(when[_filled(values)]).any():
            continue
        if _differs(when, raw.task.codes) and _differs(when, raw.worker.codes):
            sentence = "This column was taken as the time at which a label was given"
            note = Finding("time-column", "note", sentence, column=name, remedies=(Remedy("time", when="another is"),))
            return _renamed(raw, name, when), [note]
    return raw, []


def _renamed(raw: Raw, name: str, when: FloatArray) -> Raw:
    """A column called ``timestamp``; as texts in ISO 8601, in UTC, where the cells themselves would not be read."""
    extra: Arrow = raw.extra
    values = extra[name].to_pandas()
    if name != TIME and not np.array_equal(moments(values), when, equal_nan=True):
        texts = pd.Series(pd.to_datetime(when, unit="s", utc=True)).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        extra = extra.set_column(extra.column_names.index(name), name, pa.array(texts, pa.large_string()))
    names = {name: TIME} | ({TIME: _OTHER} if name != TIME else {})
    extra = extra.rename_columns([names.get(column, column) for column in extra.column_names])
    return replace(raw, extra=extra, roles={**raw.roles, "time": name})


def _filled(values: pd.Series) -> np.ndarray:
    return np.asarray(values.notna() & (values.astype("str").str.strip() != ""))


def _differs(when: FloatArray, group: IntArray) -> bool:
    """Whether times differ within groups (tasks, or workers); True where none has two times."""
    known = np.isfinite(when) & (group >= 0)
    values = pd.Series(when[known]).groupby(group[known])
    several = values.count() > 1
    return not several.any() or float((values.nunique()[several] > 1).mean()) > _DIFFERS
