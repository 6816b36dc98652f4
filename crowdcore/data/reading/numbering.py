"""Number tasks, workers, and the annotations that are kept, sorted by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.dataset import NO_SPLIT, SPLITS
from crowdcore.data.dictionary import BLOCK, Codes, clean, counted, first_rows, gather, natural_order, renumber, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw
from crowdcore.data.reading.labels import Wrong, row_numbers
from crowdcore.data.report import Finding, make_change, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow

_SPLIT_WORDS = {"train": 0, "training": 0, "valid": 1, "validation": 1, "val": 1, "dev": 1, "test": 2, "testing": 2}


@dataclass(frozen=True, eq=False)
class TaskList:
    """The dataset's tasks.

    Args:
        ids: pyarrow large_string, in the dataset's order.
        task: (n annotation rows,) int32 task number, -1 = missing.
        listed: (n listed,) task number of each row of the list of tasks, or of each annotation row without one.
        n_listed: number of tasks in a list of tasks; they come first.
    """

    ids: Arrow
    task: IntArray
    listed: IntArray
    n_listed: int


def number_tasks(raw: Raw, task: Codes, listed: Codes | None) -> tuple[TaskList, list[Finding]]:
    """Number the tasks: in the order of the list of tasks, then (or without one) in order of first appearance."""
    if listed is None:
        return TaskList(task.values, task.codes, task.codes, 0), []
    ids = listed.values  # in order of first appearance
    if task.values is ids:
        place = np.arange(len(ids), dtype=np.int32)
    else:
        place = np.array(pc.index_in(task.values, value_set=ids).fill_null(-1), np.int32)
    new = np.flatnonzero(place < 0)
    findings = []
    if len(new):
        place[new] = len(ids) + np.arange(len(new), dtype=np.int32)
        extra = task.values.take(pa.array(new))
        sentence = f"{plural(len(new), 'task')} with annotations missing from the list of tasks; added after it"
        rows = raw.row_numbers(np.flatnonzero(np.append(place, -1)[task.codes] >= len(ids)))
        examples = tuple(extra[:5].to_pylist())
        findings.append(make_finding("tasks-not-listed", "warning", sentence, rows, count=len(new), examples=examples))
        ids = pa.concat_arrays([ids, extra])
    numbers = renumber(task.codes, place)
    return TaskList(ids, numbers, listed.codes, len(listed.values)), findings


def refuse_bad_list(listed: Codes, raw: Raw) -> None:
    """Refuse a list of tasks that repeats one, or has a row without one."""
    gone = np.flatnonzero(listed.missing)
    if len(gone):
        raise DataError("The list of tasks has a row without a task", file=raw.path, row=int(gone[0]) + 1)
    if len(listed) > len(listed.values):
        code = int(np.argmax(listed.counts > 1))
        first, second = np.flatnonzero(listed.codes == code)[:2] + 1
        what = f"The list of tasks names {listed.values[code].as_py()!r} twice, in rows {first} and {second}"
        raise DataError(what, "Each task must be listed once.", file=raw.path, row=int(second))


def per_task(tasks: TaskList, values: AnyArray, known: BoolArray) -> tuple[AnyArray, BoolArray, IntArray]:
    """First known value of each task (n_tasks,), mask of the tasks that have one, and known rows that contradict it.

    ``values`` (n,) are those of the rows, ``known`` (n,) is True where there is one.
    """
    known = known & (tasks.listed >= 0)
    first = first_rows(tasks.listed if known.all() else np.where(known, tasks.listed, np.int32(-1)), len(tasks.ids))
    known_tasks = first < len(values)
    result = np.zeros(len(tasks.ids), values.dtype)
    result[known_tasks] = values[first[known_tasks]]
    for at in range(0, len(values) if len(result) else 0, BLOCK):
        block = slice(at, at + BLOCK)
        known[block] &= values[block] != result[tasks.listed[block]]
    return result, known_tasks, np.flatnonzero(known)


def split_codes(split: Codes, raw: Raw, tasks: TaskList) -> tuple[IntArray, list[Finding]]:
    """(n_tasks,) int8 index into `SPLITS`, -1 = none."""
    words = split.values.to_pylist()
    target = np.array([*(_SPLIT_WORDS.get(word.lower(), -2) for word in words), -1], np.int32)
    codes = target[split.codes]
    column = raw.roles.get("split")
    findings: list[Finding] = []
    rows = np.flatnonzero(codes == -2)
    if len(rows):
        unknown = tuple(word for word, code in zip(words, target, strict=False) if code == -2)[:5]
        what = f"Tasks of {unknown[0]!r}, which is no split ({', '.join(SPLITS)}),"
        numbers = row_numbers(raw, rows, raw.tasks)
        findings.append(make_change("unknown-split", what, "have no split", numbers, column=column, examples=unknown))
    result, known_tasks, others = per_task(tasks, codes, codes >= 0)
    if len(others):
        numbers = row_numbers(raw, others, raw.tasks)
        what = "The first of two splits of a task"
        findings.append(make_change("split-contradicts", what, "be used", numbers, column=column))
    return np.where(known_tasks, result, NO_SPLIT).astype(np.int8), findings


def number_workers(
    raw: Raw, worker: Codes, keep: IntArray | None, became: Mapping[str, str]
) -> tuple[list[str], IntArray, list[Finding]]:
    """Ids of the workers with a row to ``keep`` (None: all), (n rows,) int32 worker number or -1, and findings.

    Those of the list of workers come first, renamed as they ``became``; the others follow in natural order.
    """
    values = worker.values
    used = np.ones(len(values), bool)
    if keep is not None:
        used = counted(worker.codes[keep], len(values)) > 0
    listed = list(dict.fromkeys(became.get(name, name) for name in listed_workers(raw)))
    known = np.asarray(pc.is_in(values, value_set=strings(listed)))
    findings = []
    lost = np.flatnonzero(~used & ~known)
    if len(lost):
        examples = tuple(values[int(i)].as_py() for i in lost[:5])
        what, detail = f"{plural(len(lost), 'worker')} without any label", f", such as {examples[0]!r}"
        change = make_change("workers-without-labels", what, "be left out", None, detail, count=len(lost))
        findings.append(replace(change, examples=examples))
    others = values.filter(pa.array(used & ~known)).to_pylist()
    ids = listed + [others[i] for i in natural_order(others)]
    place = np.asarray(pc.index_in(values, value_set=strings(ids)).fill_null(-1))
    return ids, renumber(worker.codes, place), findings


def listed_workers(raw: Raw) -> tuple[str, ...]:
    """The list of workers that came with the file, cleaned."""
    if raw.workers is None:
        return ()
    names = clean(encode(strings(raw.workers)), escaped=raw.workers_escaped, whole="all").codes
    if len(names.values) < len(names) or names.missing.any():
        raise DataError("The list of workers names one twice, or none in a row", file=raw.path)
    return tuple(names.values.to_pylist())


def accepted_rows(raw: Raw, names: dict[str, Codes], wrong: list[Wrong]) -> tuple[IntArray | None, list[Finding]]:
    """Rows with a task, a worker and a valid label (None: all), and a finding for each reason to drop others.

    ``names`` are the cleaned columns, ``wrong`` the rows with an invalid label; a row with several reasons counts for
    the first.
    """
    n = len(names["label"])
    if not wrong and not any(codes.missing.any() for codes in names.values()):
        return None, []
    keep = np.ones(n, bool)
    findings = []
    for role, codes in names.items():
        gone = np.flatnonzero(codes.missing)
        if not len(gone):
            continue
        column = raw.roles.get(role)
        if len(gone) == len(codes):
            raise DataError(f"The {role} is missing in every row", column=column, file=raw.path)
        what = f"{plural(len(gone), 'row')} without a {role}"
        left_out, rows = int(keep[gone].sum()), raw.row_numbers(gone)
        findings.append(make_change(f"missing-{role}", what, "be left out", rows, column=column, left_out=left_out))
        keep[gone] = False
    for finding, rows in wrong:
        findings.append(replace(finding, left_out=int(keep[rows].sum())))
        keep[rows] = False
    return np.flatnonzero(keep), findings


@dataclass(eq=False)
class Annotations:
    """Annotations by number.

    Args:
        rows: (n,) row of the file, from 0; None = 0, 1, 2 …
        task: (n,) task number.
        worker: (n,) worker number.
        label: (n,) class number, or rating.
    """

    rows: IntArray | None
    task: IntArray
    worker: IntArray
    label: AnyArray

    def at(self, chosen: IntArray | None) -> Annotations:
        """The annotations at some rows; None = all."""
        if chosen is None:
            return self
        rows = chosen if self.rows is None else gather(self.rows, chosen)
        return Annotations(rows, *(gather(part, chosen) for part in (self.task, self.worker, self.label)))

    def sort(self, n_tasks: int) -> Annotations:
        """Sort by task, in file order within a task: a counting sort in place, O(annotations + tasks)."""
        if bool((self.task[1:] >= self.task[:-1]).all()):
            return self
        from scipy.sparse import coo_array

        n = len(self.task)
        rows = np.arange(n, dtype=np.int32)
        order = coo_array((np.zeros(n, np.int8), (self.task, rows)), shape=(n_tasks, n)).tocsr().indices
        del rows
        self.rows = order if self.rows is None else gather(self.rows, order)
        for name in ("task", "worker", "label"):  # one by one, so that the unsorted array is freed at once
            setattr(self, name, gather(getattr(self, name), order))
        return self


@dataclass(frozen=True, eq=False)
class Repeats:
    """Annotations of the same worker on the same task.

    Args:
        rows: rows of all pairs that repeat, grouped by pair, in file order within a pair.
        start: (n_pairs + 1,) where each pair begins in ``rows``.
        contradicting: (n_pairs,) mask of the pairs whose labels differ.
    """

    rows: IntArray
    start: IntArray
    contradicting: IntArray

    @property
    def n_repeats(self) -> int:
        """Annotations beyond the first of each pair."""
        return len(self.rows) - len(self.start) + 1


def find_repeats(task: IntArray, worker: IntArray, label: AnyArray, n_workers: int) -> Repeats:
    """Find repeats among annotations sorted by task."""
    twice = _twice(task, worker, n_workers)
    if not len(twice):
        return Repeats(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, bool))
    concerned = np.zeros(int(task[-1]) + 1, bool)
    concerned[twice // n_workers] = True
    near = np.flatnonzero(concerned[task])
    key = task[near].astype(np.int64) * n_workers + worker[near]
    chosen = np.isin(key, twice)
    rows, key = near[chosen], key[chosen]
    order = np.argsort(key, kind="stable")
    rows, start = rows[order], np.flatnonzero(np.diff(key[order], prepend=-1))
    given = label[rows]
    differ = np.minimum.reduceat(given, start) != np.maximum.reduceat(given, start)
    return Repeats(rows, np.append(start, len(rows)), differ)


def _twice(task: IntArray, worker: IntArray, n_workers: int) -> IntArray:
    """``task * n_workers + worker`` of the pairs that repeat, found in blocks of tasks."""
    repeated, begin = [np.empty(0, np.int64)], 0
    while begin < len(task):
        end = int(np.searchsorted(task, task[min(begin + BLOCK, len(task)) - 1], "right"))
        key = task[begin:end].astype(np.int64)
        key *= n_workers
        key += worker[begin:end]
        key.sort()
        repeated.append(key[1:][key[1:] == key[:-1]])
        begin = end
    return np.concatenate(repeated)


def reduce_repeats(repeats: Repeats, label: AnyArray, how: Literal["first", "last", "majority"]) -> IntArray:
    """The rows to drop so that each pair keeps its first, its last or its most frequent (ties: earlier) label."""
    if how == "first":
        kept = repeats.start[:-1]
    elif how == "last":
        kept = repeats.start[1:] - 1
    else:
        kept = _majority(repeats, label)
    drop = np.ones(len(repeats.rows), bool)
    drop[kept] = False
    return repeats.rows[drop]


def _majority(repeats: Repeats, label: AnyArray) -> IntArray:
    """Position in ``rows`` of the first annotation with each pair's most frequent label."""
    pair = np.repeat(np.arange(len(repeats.start) - 1), np.diff(repeats.start))
    position = np.arange(len(pair))
    order = np.lexsort((position, label[repeats.rows], pair))
    new = np.diff(pair[order], prepend=-1) != 0
    new |= np.diff(label[repeats.rows][order], prepend=-1) != 0
    begin = np.flatnonzero(new)
    count = np.diff(begin, append=len(order))
    first = order[begin]
    best = np.lexsort((first, -count, pair[first]))
    leader = np.flatnonzero(np.diff(pair[first][best], prepend=-1) != 0)
    return np.asarray(first[best][leader])


def without_repeats(
    given: Annotations, n_workers: int, raw: Raw, settings: ReadSettings
) -> tuple[Annotations, Repeats, list[Finding]]:
    """The annotations, without repeats if the settings say so; the repeats, and the findings on them."""
    repeats = find_repeats(given.task, given.worker, given.label, n_workers)
    if not repeats.n_repeats:
        return given, repeats, []
    n = int(repeats.contradicting.sum())
    pairs = len(repeats.contradicting)
    later = np.delete(repeats.rows, repeats.start[:-1])
    done = "are kept and counted" if settings.repeats == "keep" else f"were reduced to the {settings.repeats}"
    if settings.repeats in ("first", "last"):
        from crowdcore.data.reading.repeated import in_time

        repeats, column = in_time(raw, given, repeats)
        done += f" by the times in {column!r}" if column else " in the file, where no times are known"
    sentence = (
        f"{plural(repeats.n_repeats, 'repeat')} of the same worker on the same task ({plural(pairs, 'pair')}, "
        f"{n:,} of them contradicting) {done}"
    )
    shown = np.sort(raw.row_numbers(later if given.rows is None else given.rows[later]))
    findings = []
    if 5 * repeats.n_repeats > len(given.task):
        from crowdcore.data.reading.repeated import doubt_repeats

        findings = doubt_repeats(raw, given, repeats)
    if settings.repeats == "keep":
        remedies = (Remedy("repeats", ("first", "last", "majority"), "reduce them"),)
        return given, repeats, [*findings, make_finding("repeats", "note", sentence, shown, remedies=remedies)]
    stay = np.ones(len(given.task), bool)
    stay[reduce_repeats(repeats, given.label, settings.repeats)] = False
    finding = make_finding("repeats", "note", sentence, shown, left_out=repeats.n_repeats)
    return given.at(np.flatnonzero(stay)), repeats, [*findings, finding]


def one_gold(
    raw: Raw, tasks: TaskList, values: AnyArray, known: BoolArray, unknown: float
) -> tuple[AnyArray, list[Finding]]:
    """(n_tasks,) gold on which all ``known`` rows of a task agree; ``unknown`` for other tasks; and findings."""
    n, findings = len(tasks.ids), []
    gold, known_tasks, rows = per_task(tasks, values, known)
    if len(rows):
        wrong = np.unique(tasks.listed[rows])
        known_tasks[wrong] = False
        what, where = f"{plural(len(wrong), 'task')} with contradicting gold", row_numbers(raw, rows, raw.tasks)
        findings.append(make_change("gold-contradicts", what, "count as unknown", where, count=len(wrong)))
    gold[~known_tasks] = unknown
    n_known = int(known_tasks.sum())
    if 0 < n_known < n:
        sentence = f"Gold is known for {n_known:,} of {plural(n, 'task')}"
        findings.append(Finding("partial-gold", "note", sentence, n - n_known, column=raw.roles.get("gold")))
    return gold, findings
