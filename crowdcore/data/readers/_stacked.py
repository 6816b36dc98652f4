"""Annotations that stand beside one another in a row, or are counted, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, compact, distinct, strings
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import MAX_ROWS


class Block(NamedTuple):
    """One annotation of each row: (n,) columns.

    Args:
        task, worker, label: of the annotation.
    """

    task: Codes
    worker: Codes
    label: Codes


def constant(name: str, n: int) -> Codes:
    """A column that holds one name."""
    return Codes(strings([name] if n else []), np.zeros(n, np.int32))


def blank(codes: Codes, missing: Sequence[str] = ()) -> BoolArray:
    """(n,) where a column holds nothing, or a word that means so."""
    void = [name.strip() in ("", *missing) for name in codes.values.to_pylist()]
    return np.append(void, True).astype(bool)[codes.codes]


def number_rows(n: int) -> Codes:
    """Names 1, 2, 3 … of rows that have none."""
    return Codes(strings(str(i + 1) for i in range(n)), np.arange(n, dtype=np.int32))


def stack(
    form: str,
    table: Table,
    settings: ReadSettings,
    blocks: Sequence[Block],
    roles: dict[str, str],
    tasks: RawTasks | None = None,
    findings: Sequence[Finding] = (),
    kept: IntArray | None = None,
    columns_per_row: int = 0,
    **more: Any,
) -> Raw:
    """The blocks' annotations, row by row; one without a label is an empty cell.

    Args:
        form: the reader's name.
        table: where the blocks are from.
        settings: which labels mean that there is none.
        blocks: one or more, each of as many rows as the table has, or as ``kept``.
        roles: role -> column.
        tasks: what is known of the tasks.
        findings: what the reader noticed.
        kept: rows of the table, from 0, that the blocks hold; None: all.
        columns_per_row: cells of a row that count, if not as many as blocks.
        more: further fields of `Raw`.
    """
    k, n = len(blocks), len(blocks[0].label)
    if not n:
        raise DataError("There are columns, but no rows", file=table.path)
    per_row = columns_per_row or k
    keep = np.column_stack([~blank(block.label, settings.missing or ()) for block in blocks])
    row, place = np.nonzero(keep)
    of_table = row if kept is None else kept[row]
    task, worker, label = (_joined([block[i] for block in blocks], row, place) for i in range(3))
    empty = n * k - len(row)
    sentence = f"{empty:,} of {plural(n * k, 'cell')} hold no label"
    noticed = [Finding("empty-cells", "note", sentence, empty, left_out=empty)] if empty else []
    return Raw(
        form,
        task,
        worker,
        label,
        **table.about,
        n_rows=table.n_read * per_row,
        roles=roles,
        rows=of_table + 1 if table.rows is None else table.rows[of_table],
        tasks=tasks,
        findings=(*table.findings, *findings, *table.repeated_headers(per_row=per_row), *noticed),
        **more,
    )


def _joined(columns: list[Codes], row: Any, place: Any) -> Codes:
    """One column of the cells at some rows and places."""
    offsets = np.cumsum([0, *(len(codes.values) for codes in columns[:-1])])
    codes = np.column_stack(
        [np.where(c.codes < 0, -1, c.codes + start) for c, start in zip(columns, offsets, strict=True)]
    )
    every = distinct(pa.concat_arrays([codes.values for codes in columns]), codes[row, place].astype(np.int32))
    return every.take(np.arange(len(every)))


MAX_PLACES = 20_000
"""Labels of one task at most; more of them are no counts of people."""


def no_workers(n_places: int, *remedies: Remedy) -> Finding:
    """What to say where labels have places instead of workers."""
    sentence = (
        f"No worker is named: the labels of a task are numbered, up to {plural(n_places, 'place')}. Agreement and "
        "statistics of classes hold; whatever is said of single workers means nothing"
    )
    return Finding("no-workers", "warning", sentence, n_places, remedies=remedies)


def repeat_labels(
    form: str,
    tasks: RawTasks,
    classes: Sequence[str],
    task: IntArray,
    label: IntArray,
    count: IntArray,
    rows: IntArray,
    **more: Any,
) -> Raw:
    """Annotations from labels of tasks with the number of workers who gave each.

    The n labels of a task go to the workers ``place 1`` … ``place n`` in an order drawn at random (seed 0), so that no
    place is better at a class than another. Coefficients of agreement that do not tell workers apart (raw agreement,
    Fleiss' κ, Krippendorff's α, Gwet's AC1) are those of the counts.

    Args:
        form: the reader's name.
        tasks: the list of tasks.
        classes: C names.
        task, label: (k,) numbers of a task and a class.
        count: (k,) how often the one was given to the other.
        rows: (k,) row of the file that says so.
        more: further fields of `Raw`.
    """
    n_tasks, n = len(tasks.task), int(count.sum())
    per_task = np.bincount(task, count, n_tasks).astype(np.int64)
    most = int(per_task.max(initial=0))
    if not n:
        raise DataError("All counts are 0", file=more.get("path"), code="no-label")
    if most > MAX_PLACES or n > MAX_ROWS:
        what = f"These are no counts of people's labels: there are {n:,} in all, and up to {most:,} of one task"
        remedies = (Remedy("format", "wide", when="the columns are workers"),)
        raise DataError(what, file=more.get("path"), code="not-counts", remedies=remedies)
    each = np.repeat(np.arange(len(count)), count)
    each = each[np.lexsort((np.random.default_rng(0).random(n), task[each]))]
    place = np.arange(n) - (np.cumsum(per_task) - per_task)[task[each]]
    places = strings(f"place {i + 1}" for i in range(most))
    findings = (*more.pop("findings", ()), no_workers(most, *more.pop("remedies", ())))
    return Raw(
        form,
        tasks.task.take(task[each]),
        compact(places, place.astype(np.int32)),
        compact(strings(classes), label[each].astype(np.int32)),
        n_rows=n,
        rows=rows[each],
        classes=tuple(classes),
        tasks=tasks,
        findings=findings,
        **more,
    )
