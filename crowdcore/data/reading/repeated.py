"""Rows that repeat a task for the same worker: a task of two columns, several questions, or answers over time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import Remedy
from crowdcore.data.columns import plain
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw
from crowdcore.data.reading.when import time_columns
from crowdcore.data.report import Finding, plural
from crowdcore.data.tables.base import Arrow
from crowdcore.data.times import about_time, read_moments

if TYPE_CHECKING:
    from crowdcore.data.reading.numbering import Annotations, Repeats

_LOOKED_AT = 50_000  # rows
_QUESTIONS = 12  # different values of a column that are the names of questions, at most
_AGAIN = frozenset(
    [
        *("attempt", "round", "trial", "repeat", "repetition", "replicate", "session", "pass", "wave", "version"),
        *("iteration", "run", "order", "position", "rank", "confidence", "probability"),
    ]
)
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
    """The repeats of each pair by the time at which they were given, and its column ("": none; in file order)."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    rows = pa.array(repeats.rows if given.rows is None else given.rows[repeats.rows])
    for name in time_columns(extra.column_names):
        when = read_moments(extra[name].take(rows).to_pandas(), told="time" in raw.roles)
        if when is not None:
            pair = np.repeat(np.arange(len(repeats.start) - 1), np.diff(repeats.start))
            order = np.lexsort((np.nan_to_num(when, nan=-np.inf), pair))  # stable: the file's order at the same time
            return replace(repeats, rows=repeats.rows[order]), raw.roles.get("time", name)
    return repeats, ""


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
