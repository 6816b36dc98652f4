"""What imports of classes and of ratings share once tasks and workers have numbers: repeats, gold, dataset, report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.dictionary import strings
from crowdcore.data.ratings import Labelled
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, ImportReport, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.times import SECONDS, TIME
from crowdcore.data.validation.annotations import Annotations
from crowdcore.data.validation.attach import attach_extra, attach_file_row, attach_media, attach_rows, media_folder
from crowdcore.data.validation.names import row_numbers, string_index
from crowdcore.data.validation.repeats import Repeats, find_repeats, reduce_repeats
from crowdcore.data.validation.tasks import TaskList, media_columns, per_task

_RANK = {"change": 0, "warning": 1, "note": 2}


def by_level(findings: list[Finding]) -> list[Finding]:
    """Changes first, then warnings, then notes."""
    return sorted(findings, key=lambda finding: _RANK[finding.level])


def without_repeats(
    given: Annotations, n_workers: int, raw: Raw, settings: ReadSettings
) -> tuple[Annotations, Repeats, list[Finding]]:
    """The annotations, reduced if the settings say so; a worker's repeats on a task, and the note about them."""
    repeats = find_repeats(given.task, given.worker, given.label, n_workers)
    if not repeats.n_repeats:
        return given, repeats, []
    n = int(repeats.contradicting.sum())
    pairs = len(repeats.contradicting)
    later = np.delete(repeats.rows, repeats.start[:-1])
    done = "are kept and counted" if settings.repeats == "keep" else f"were reduced to the {settings.repeats}"
    sentence = (
        f"{plural(repeats.n_repeats, 'repeat')} of the same worker on the same task ({plural(pairs, 'pair')}, "
        f"{n:,} of them contradicting) {done}"
    )
    shown = np.sort(raw.row_numbers(later if given.rows is None else given.rows[later]))
    if settings.repeats == "keep":
        remedy = "Pass repeats='first', 'last' or 'majority' to reduce them."
        return given, repeats, [make_finding("repeats", "note", sentence, shown, remedy=remedy)]
    stay = np.ones(len(given.task), bool)
    stay[reduce_repeats(repeats, given.label, settings.repeats)] = False
    found = make_finding("repeats", "note", sentence, shown, left_out=repeats.n_repeats)
    return given.at(np.flatnonzero(stay)), repeats, [found]


def one_gold(
    raw: Raw, tasks: TaskList, values: AnyArray, known: BoolArray, unknown: float
) -> tuple[AnyArray, list[Finding]]:
    """(n_tasks,) the gold that all rows of a task agree on.

    Args:
        raw: where the gold is from.
        tasks: the tasks.
        values: class or rating of each row that tells of a task.
        known: which of them are some.
        unknown: gold of the other tasks.
    """
    n, findings = len(tasks.ids), []
    gold, told, rows = per_task(tasks, values, known)
    if len(rows):
        wrong = np.unique(tasks.listed[rows])
        told[wrong] = False
        sentence = f"{plural(len(wrong), 'task')} with contradicting gold would count as unknown"
        where = row_numbers(raw, rows, raw.tasks)
        findings.append(make_finding("gold-contradicts", "change", sentence, where, count=len(wrong)))
    gold[~told] = unknown
    n_known = int(told.sum())
    if 0 < n_known < n:
        sentence = f"Gold is known for {n_known:,} of {plural(n, 'task')}"
        findings.append(Finding("partial-gold", "note", sentence, n - n_known, column=raw.roles.get("gold")))
    return gold, findings


def dataset_parts(raw: Raw, tasks: TaskList, workers: list[str], given: Annotations, split: IntArray) -> dict[str, Any]:
    """The arguments that datasets of every kind of label take."""
    images, folder = attach_rows(raw.arrays, "images", split, tasks.n_listed), media_folder(raw.path)
    return {
        "task_ids": string_index(tasks.ids),
        "worker_ids": string_index(strings(workers)),
        "task": given.task,
        "worker": given.worker,
        "split": split,
        "features": attach_rows(raw.arrays, "features", split, tasks.n_listed),
        "media": attach_media(folder, images, media_columns(raw.tasks, tasks, folder)),
        "extra": attach_extra(raw.extra, given.rows, raw.escaped),
        "file_row": attach_file_row(raw, given.rows),
    }


def make_report(
    raw: Raw, source: str, dataset: Labelled, repeats: Repeats, findings: Sequence[Finding], **about: Any
) -> ImportReport:
    """The report of an import; ``about`` says what depends on the kind of label."""
    extra = dataset.extra
    return ImportReport(
        source=source,
        format=raw.format,
        encoding=raw.encoding,
        delimiter=raw.delimiter,
        header=raw.header,
        columns=raw.columns,
        roles=raw.roles,
        n_rows=raw.n_rows,
        n_tasks=dataset.n_tasks,
        n_workers=dataset.n_workers,
        n_annotations=dataset.n_annotations,
        n_repeats=repeats.n_repeats,
        n_contradicting=int(repeats.contradicting.sum()),
        findings=tuple(findings),
        times=() if extra is None else tuple(c for c in (TIME, SECONDS) if c in extra and extra[c].notna().any()),
        **about,
    )
