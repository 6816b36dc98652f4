"""Times of labels, and repeats of a worker on a task: parts of the task, several questions, or changes of mind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.columns import plain
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.times import TIME, about_time, are_filled, moments, names_completion, names_time, read_moments

if TYPE_CHECKING:
    from crowdcore.data.reading.numbering import Annotations, Repeats

_LOOKED_AT = 50_000  # rows
_QUESTIONS = 12  # most different values of a column with names of questions
_AGAIN = {
    *("attempt", "round", "trial", "repeat", "repetition", "replicate", "session", "pass", "wave", "version"),
    *("iteration", "run", "order", "position", "rank", "confidence", "probability"),
}
_PARTS = {  # names of places in a text, an image or a recording
    *("start", "end", "begin", "start_offset", "end_offset", "offset", "start_char", "end_char", "onset", "xmin"),
    *("ymin", "xmax", "ymax", "x", "y", "width", "height", "w", "h", "x1", "y1", "x2", "y2", "left", "top", "bbox"),
}
_SINCE = 1e8  # seconds since 1970: larger numbers are times
_DATE = re.compile(r"\d{4}-\d\d|\d\d?[/.]\d\d?[/.]\d{2,4}")


def doubt_repeats(raw: Raw, given: Annotations, repeats: Repeats) -> list[Finding]:
    """Ask whether another column names the task, or the question, of the rows of a pair."""
    if "task" not in raw.roles or raw.arrays is not None:  # in our own folders the task is certain
        return []
    last = int(np.searchsorted(repeats.start, _LOOKED_AT, "right")) - 1
    pairs = np.repeat(np.arange(last), np.diff(repeats.start[: last + 1]))
    places = np.concatenate([repeats.rows[: len(pairs)], np.arange(min(_LOOKED_AT, len(given.task)))])
    rows = pa.array(places if given.rows is None else given.rows[places])
    extra: Arrow = pa.table({}) if raw.extra is None or raw.format != "long" else raw.extra
    parts = [n for n in extra.column_names if plain(n) in _PARTS and _are_places(extra[n])]
    if len(parts) > 1 and raw.roles["task"] in raw.columns:
        what = (
            f"Rows are about parts of a task ({', '.join(map(repr, parts[:4]))}), and were read as labels of the whole"
        )
        remedies = (Remedy("task", [raw.roles["task"], *parts], when="each part is a task"),)
        return [Finding("parts-of-tasks", "question", what, repeats.n_repeats, remedies=remedies)]
    for name, column in further_columns(raw):
        if about_time(name) or _AGAIN & {*plain(name).split("_")} or name in raw.roles["task"].split(" / "):
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


def in_time(raw: Raw, given: Annotations, repeats: Repeats) -> tuple[Repeats, str]:
    """The repeats of each pair sorted by time, and the column of times ("" if there is none: in file order)."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    rows = pa.array(repeats.rows if given.rows is None else given.rows[repeats.rows])
    for name in time_columns(extra.column_names):
        when = read_moments(extra[name].take(rows).to_pandas(), sure="time" in raw.roles)
        if when is not None:
            pair = np.repeat(np.arange(len(repeats.start) - 1), np.diff(repeats.start))
            order = np.lexsort((np.nan_to_num(when, nan=-np.inf), pair))  # stable: the file's order at the same time
            return replace(repeats, rows=repeats.rows[order]), raw.roles.get("time", name)
    return repeats, ""


def _are_places(column: Arrow) -> bool:
    """Return whether a column holds numbers, or lists, and no times."""
    if pa.types.is_nested(column.type):
        return True
    numbers = pd.to_numeric(column.slice(0, 1000).to_pandas(), errors="coerce")
    return bool(numbers.notna().mean() > 0.9 and numbers.abs().max() < _SINCE)


def further_columns(raw: Raw) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The file's columns that may name a part of the task or a question; those without a role come first."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    for name in extra.column_names:
        kind = extra[name].type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            yield name, extra[name]
    tasks = raw.tasks
    for role, codes in tasks.media.items() if tasks is not None and not tasks.listed else ():
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


_DIFFERS = 0.2  # share of the tasks, and of the workers, with several labels whose times must differ
_OTHER = f"other {TIME}"


def time_columns(names: Iterable[str]) -> list[str]:
    """Columns that hold times by their names: ``timestamp`` first, then times at which a label was finished."""
    return sorted(filter(names_time, names), key=lambda name: (name != TIME, not names_completion(name)))


def with_time(raw: Raw, settings: ReadSettings) -> tuple[Raw, list[Finding]]:
    """Add the time of each label as column ``timestamp``, with a note on the column that it was taken from.

    A column called ``timestamp`` stays unless another one is named. Without one, a column named like a time is taken
    if all its cells are readable and differ within tasks and within workers: a task's date is no time of a label.
    """
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    if settings.time is not None:
        if settings.time not in extra.column_names:
            raise DataError("There is no further column of this name", file=raw.path, column=settings.time)
        when = read_moments(extra[settings.time].to_pandas(), sure=True)
        if when is None:
            raise DataError("The times of this column cannot be read", file=raw.path, column=settings.time)
        return _renamed(raw, settings.time, when), []
    if TIME in extra.column_names:
        return raw, []
    for name in time_columns(extra.column_names):
        values = extra[name].to_pandas()
        when = read_moments(values)
        if when is None or np.isnan(when[are_filled(values)]).any():
            continue
        if _differs(when, raw.task.codes) and _differs(when, raw.worker.codes):
            sentence = "This column was taken as the time at which a label was given"
            note = Finding("time-column", "note", sentence, column=name, remedies=(Remedy("time", when="another is"),))
            return _renamed(raw, name, when), [note]
    return raw, []


def _renamed(raw: Raw, name: str, when: FloatArray) -> Raw:
    """Rename a column to ``timestamp``; cells that could not be read again become texts in ISO 8601, in UTC."""
    extra: Arrow = raw.extra
    values = extra[name].to_pandas()
    if name != TIME and not np.array_equal(moments(values), when, equal_nan=True):
        texts = pd.Series(pd.to_datetime(when, unit="s", utc=True)).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        extra = extra.set_column(extra.column_names.index(name), name, pa.array(texts, pa.large_string()))
    names = {name: TIME} | ({TIME: _OTHER} if name != TIME else {})
    extra = extra.rename_columns([names.get(column, column) for column in extra.column_names])
    return replace(raw, extra=extra, roles={**raw.roles, "time": name})


def _differs(when: FloatArray, group: IntArray) -> bool:
    """Return whether times differ within groups (tasks, or workers); True if none has two times."""
    known = np.isfinite(when) & (group >= 0)
    values = pd.Series(when[known]).groupby(group[known])
    several = values.count() > 1
    return not several.any() or float((values.nunique()[several] > 1).mean()) > _DIFFERS
