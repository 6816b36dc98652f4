"""Number the tasks and collect gold, split and media of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.dataset import SPLITS
from crowdcore.data.dictionary import Codes
from crowdcore.data.formulas import unescape
from crowdcore.data.images import ENDING, is_address
from crowdcore.data.index_table import NO_SPLIT
from crowdcore.data.lookups import BLOCK, first_rows, renumber
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.tables.base import Arrow
from crowdcore.data.validation.names import row_numbers

_SPLIT_WORDS = {"train": 0, "training": 0, "valid": 1, "validation": 1, "val": 1, "dev": 1, "test": 2, "testing": 2}
_LOOKED_FOR = 1000  # files of this many tasks at most


@dataclass(frozen=True, eq=False)
class TaskList:
    """The dataset's tasks.

    Args:
        ids: pyarrow large_string, in the dataset's order.
        task: (n annotation rows,) int32 task number, -1 = missing.
        listed: (n listed,) task number of each row of the list of tasks, or of each annotation row without one.
        n_listed: how many tasks stand in a list of tasks; they come first.
    """

    ids: Arrow
    task: IntArray
    listed: IntArray
    n_listed: int


def number_tasks(raw: Raw, task: Codes, listed: Codes | None) -> tuple[TaskList, list[Finding]]:
    """Number the tasks: in the order of the list of tasks, then (or without one) in order of first appearance.

    Raises:
        DataError: the list names a task twice, or a row of it none.
    """
    if listed is None:
        return TaskList(task.values, task.codes, task.codes, 0), []
    _refuse_bad_list(listed, raw)
    if task.values is listed.values:
        ids, place = listed.values, np.arange(len(listed), dtype=np.int32)  # named in order of first appearance
    else:
        ids = listed.values.take(pa.array(listed.codes))
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
    n_listed = len(listed)
    return TaskList(ids, numbers, np.arange(n_listed, dtype=np.int32), n_listed), findings


def _refuse_bad_list(listed: Codes, raw: Raw) -> None:
    gone = np.flatnonzero(listed.missing)
    if len(gone):
        raise DataError("The list of tasks has a row without a task", file=raw.path, row=int(gone[0]) + 1)
    if len(listed) > len(listed.values):
        code = int(np.argmax(listed.counts > 1))
        first, second = np.flatnonzero(listed.codes == code)[:2] + 1
        raise DataError(
            f"The list of tasks names {listed.values[code].as_py()!r} twice, in rows {first} and {second}",
            "Each task must be listed once.",
            file=raw.path,
            row=int(second),
        )


def per_task(tasks: TaskList, values: AnyArray, known: BoolArray) -> tuple[AnyArray, BoolArray, IntArray]:
    """What the rows say of each task.

    Args:
        tasks: the tasks.
        values: (n,) what each row says.
        known: (n,) which rows say something.

    Returns:
        (n_tasks,) first known value of each, which tasks have one, and the known rows that say something else.
    """
    known = known & (tasks.listed >= 0)
    first = first_rows(tasks.listed if known.all() else np.where(known, tasks.listed, np.int32(-1)), len(tasks.ids))
    told = first < len(values)
    result = np.zeros(len(tasks.ids), values.dtype)
    result[told] = values[first[told]]
    for at in range(0, len(values), BLOCK):
        block = slice(at, at + BLOCK)
        known[block] &= values[block] != result[tasks.listed[block]]
    return result, told, np.flatnonzero(known)


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
        sentence = f"{unknown[0]!r} is no split ({', '.join(SPLITS)}); those tasks would have none"
        numbers = row_numbers(raw, rows, raw.tasks)
        findings.append(make_finding("unknown-split", "change", sentence, numbers, column=column, examples=unknown))
    result, told, others = per_task(tasks, codes, codes >= 0)
    if len(others):
        sentence = "A task is in two splits; the first would be used"
        numbers = row_numbers(raw, others, raw.tasks)
        findings.append(make_finding("split-contradicts", "change", sentence, numbers, column=column))
    return np.where(told, result, NO_SPLIT).astype(np.int8), findings


def media_columns(about: RawTasks | None, tasks: TaskList, folder: Path | None) -> pd.DataFrame | None:
    """Text, image and audio of each task, the first that is given; missing where there is none.

    Where no image is given and all tasks are called like image files, those files are the images, if one of the first
    thousand lies in the folder or on a server.
    """
    columns = {}
    for kind, codes in (about.media if about else {}).items():
        values = unescape(codes.values) if about and about.escaped else codes.values
        filled = np.append(np.asarray(pc.not_equal(values, "")), False)
        numbers, told, _ = per_task(tasks, codes.codes, filled[codes.codes])
        if told.any():
            columns[kind] = values.take(pa.array(numbers, mask=~told)).to_pandas()
    if "image" not in columns and pc.all(pc.match_substring_regex(tasks.ids, ENDING)).as_py():
        some = map(str, tasks.ids[:_LOOKED_FOR].to_pylist())
        if any(is_address(name) or (folder is not None and _is_file(folder / name)) for name in some):
            columns["image"] = tasks.ids.to_pandas()
    return pd.DataFrame(columns) if columns else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path at all, such as a name that is too long
        return False
