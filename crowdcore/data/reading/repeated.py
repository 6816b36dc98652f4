"""Rows that repeat a task for the same worker: a task of two columns, several questions, or answers over time."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import FloatArray
from crowdcore.data.columns import plain
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.times import moments

if TYPE_CHECKING:
    from crowdcore.data.reading.numbering import Annotations, Repeats

_LOOKED_AT = 50_000  # rows
_QUESTIONS = 12  # different values of a column that are the names of questions, at most
_AGAIN = frozenset(
    [
        *("attempt", "round", "trial", "repeat", "repetition", "replicate", "session", "pass", "wave", "version"),
        *("iteration", "run", "order", "position", "rank", "time", "times", "timestamp", "date", "datetime", "day"),
        *("seconds", "sec", "ms", "duration", "confidence", "probability", "created", "submitted", "updated"),
    ]
)
_TIME = re.compile(r"(^|_)(time|timestamp|date|datetime|when|created|submitted|updated|finished|completed)(_|$)|_at$")
_DONE = re.compile(r"submit|complet|finish|updat|modif|annotat|answer|label")  # rather than when a task was created
_LASTS = re.compile(r"(^|_)(seconds?|secs?|ms|spent|taken|duration|elapsed|zone)(_|$)")
_UNREAD, _SINCE = 0.1, 1e8  # share of times that may be unreadable; s since 1970, in 1973: less is a duration
_DATE = re.compile(r"\d{4}-\d\d|\d\d?[/.]\d\d?[/.]\d{2,4}")


def doubt_repeats(raw: Raw, given: Annotations, repeats: Repeats) -> list[Finding]:
    """Ask whether another column says which task, or which question, the rows of a pair are about.

    Args:
        raw: whose further columns are looked at.
        given: the annotations, sorted by task.
        repeats: which of them repeat.
    """
    if "task" not in raw.roles or raw.arrays is not None:  # our own folders say which task each row is about
        return []
    last = int(np.searchsorted(repeats.start, _LOOKED_AT, "right")) - 1
    pairs = np.repeat(np.arange(last), np.diff(repeats.start[: last + 1]))
    places = np.concatenate([repeats.rows[: len(pairs)], np.arange(min(_LOOKED_AT, len(given.task)))])
    rows = pa.array(places if given.rows is None else given.rows[places])
    for name, column in _columns(raw):
        if _AGAIN & {*plain(name).split("_")}:
            continue
        values = encode(column.take(rows))
        code = np.asarray(values.codes)
        inside, overall = code[: len(pairs)], code[len(pairs) :]
        cells = np.unique(np.column_stack([pairs, inside])[inside >= 0], axis=0)
        apart = len(pairs) > 0 and len(cells) > 0.98 * len(pairs)
        if not apart or (overall < 0).mean() > 0.1 or len(np.unique(overall)) > 0.8 * len(overall):
            continue
        words = values.values.to_pylist()
        if all(_DATE.match(word) for word in words[:5]):
            continue
        return [_question(raw, name, words, repeats.n_repeats)]
    return []


def in_time(raw: Raw, given: Annotations, repeats: Repeats, settings: ReadSettings) -> tuple[Repeats, str]:
    """The repeats of each pair by the time at which they were given, and its column ("": none; in file order).

    Raises:
        DataError: the column that the settings name holds no times.
    """
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    named = [name for name in extra.column_names if _TIME.search(plain(name)) and not _LASTS.search(plain(name))]
    named.sort(key=lambda name: not _DONE.search(plain(name)))
    rows = pa.array(repeats.rows if given.rows is None else given.rows[repeats.rows])
    for name in named if settings.time is None else [settings.time]:
        when = _moments(extra[name].take(rows).to_pandas()) if name in extra.column_names else None
        if when is not None:
            pair = np.repeat(np.arange(len(repeats.start) - 1), np.diff(repeats.start))
            order = np.lexsort((when, pair))  # stable: the file's order at the same time
            return replace(repeats, rows=repeats.rows[order]), name
    if settings.time is not None:
        raise DataError("The times of this column cannot be read", file=raw.path, column=settings.time)
    return repeats, ""


def _moments(values: pd.Series) -> FloatArray | None:
    """(n,) seconds since 1970, -inf where missing; None where most are no times, or day and month cannot be told."""
    numbers = pd.api.types.is_numeric_dtype(values.dtype) or bool(pd.to_numeric(values, errors="coerce").notna().any())
    readings = [moments(values)]
    if not numbers and np.isnan(readings[0]).mean() > _UNREAD:
        text, unit = values.astype("str"), pd.Timedelta(seconds=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that day and month are taken the other way
            read = [pd.to_datetime(text, errors="coerce", utc=True, dayfirst=day) for day in (False, True)]
        readings = [((r - pd.Timestamp(0, tz="UTC")) / unit).to_numpy(np.float64) for r in read]
    good = [r for r in readings if np.isnan(r).mean() <= _UNREAD and (not numbers or np.nanmedian(r) > _SINCE)]
    if not good or not np.array_equal(good[0], good[-1], equal_nan=True):
        return None
    return np.nan_to_num(good[0], nan=-np.inf)


def _columns(raw: Raw) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The file's columns that may name a part of the task or a question, those without a role first."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    for name in extra.column_names:
        kind = extra[name].type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            yield name, extra[name]
    about = raw.tasks
    for role, codes in about.media.items() if about is not None and not about.listed else ():
        yield raw.roles[role], pa.chunked_array([codes.values.take(pa.array(codes.codes, mask=codes.missing))])


def _question(raw: Raw, name: str, words: list[str], n: int) -> Finding:
    task = raw.roles["task"]
    what = f"{plural(n, 'row')} {'repeats' if n == 1 else 'repeat'} a task for the same worker, but differ in {name!r}"
    both = Remedy("task", [task, name], when=f"{task!r} and {name!r} name a task together")
    questions: list[Remedy] = []
    if len(words) <= _QUESTIONS and not all(re.fullmatch(r"[-+0-9.]+", word) for word in words):
        questions = [Remedy("question", word, when=f"{name!r} names the question") for word in words]
    code = "several-questions" if questions else "task-of-columns"
    examples = tuple(words[:5])
    return Finding(code, "question", what, n, column=name, examples=examples, remedies=(*questions, both))
