"""Counts of labels per task and class, as annotations of workers who are not named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dictionary import compact, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, plural
from crowdcore.data.tables.base import MAX_ROWS

MAX_PLACES = 20_000
"""Labels of one task at most; more of them are no counts of people."""


def no_workers(n_places: int, *remedies: Remedy) -> Finding:
    """What to say where labels have places instead of workers."""
    sentence = (
        f"No worker is named: the labels of a task are numbered, up to {plural(n_places, 'place')}. Agreement and "
        "statistics of classes hold; whatever is said of single workers means nothing"
    )
    return Finding("no-workers", "warning", sentence, n_places, remedies=remedies)


def read_counts(
    form: str,
    tasks: Sequence[str],
    classes: Sequence[str],
    counts: AnyArray,
    about: RawTasks | None = None,
    **more: Any,
) -> Raw:
    """Annotations from a matrix of counts.

    Args:
        form: the reader's name.
        tasks: N different names.
        classes: C names.
        counts: (N, C) whole numbers, none below 0: how often each class was given to each task.
        about: what is known of the tasks, aligned with ``tasks``; None: their names.
        more: further fields of `Raw`, such as ``columns``, ``roles`` and ``findings``.

    Raises:
        DataError: no label at all, or more than people give.
    """
    table = np.asarray(counts).astype(np.int64)
    about = about or RawTasks(encode(strings(tasks)), True)
    row, label = np.nonzero(table)
    return repeat_labels(form, about, classes, row, label, table[row, label], row + 1, **more)


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

    Raises:
        DataError: no label at all, or more than people give.
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
