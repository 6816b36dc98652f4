"""Assemble a dataset from raw columns and report every loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import Codes, Whole, strings
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, ImportReport, Level, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.splitting import split_tasks
from crowdcore.data.validation.accepted_rows import accepted_rows
from crowdcore.data.validation.annotations import Annotations
from crowdcore.data.validation.attach import (
    attach_extra,
    attach_file_row,
    attach_media,
    attach_rows,
    attach_truth,
)
from crowdcore.data.validation.classes import ClassList, class_findings, outside, resolve_classes, to_classes
from crowdcore.data.validation.crowd import crowd_findings, tally
from crowdcore.data.validation.multi_select import multi_selects
from crowdcore.data.validation.names import clean_names, row_numbers, string_index
from crowdcore.data.validation.repeats import Repeats, find_repeats, reduce_repeats
from crowdcore.data.validation.tasks import TaskList, media_columns, number_tasks, per_task, split_codes
from crowdcore.data.validation.variants import Merged, merge_variants, rename
from crowdcore.data.validation.workers import listed_workers, number_workers

__all__ = ["RANK", "about_repeats", "assemble"]

MINUS_ONE = ("-1", "-1.0")
RANK = {"change": 0, "warning": 1, "note": 2}


def assemble(raw: Raw, settings: ReadSettings, name: str) -> tuple[ImportReport, CrowdDataset]:
    """Clean, number, check and sort what a reader found.

    Raises:
        DataError: nothing sensible can be made of it.
    """
    columns, findings = _clean(raw, settings)
    findings = [*raw.findings, *findings]
    classes = resolve_classes(raw, settings, columns.names["label"], columns.gold)
    columns, classes, merged = _merge(raw, settings, columns, classes)
    findings += [finding for part in merged.values() for finding in part.findings]
    classes, noticed = multi_selects(classes, columns.names["label"], raw, settings)
    findings += noticed
    label = to_classes(columns.names["label"], classes)
    _refuse_line_breaks(columns.names["label"], classes, raw)
    outsiders = outside(columns.names["label"], label, "label", raw, classes, None)
    tasks, noticed = number_tasks(raw, columns.names["task"], columns.listed)
    findings += noticed
    keep, noticed = accepted_rows(raw, columns.names, label, outsiders[0] if outsiders else None)
    findings += noticed
    workers, number, noticed = number_workers(raw, columns.names["worker"], keep, merged["worker"].became)
    findings += noticed
    given = Annotations(None, tasks.task, number, label).at(keep).sorted(len(tasks.ids))
    repeats = find_repeats(given.task, given.worker, given.label, len(workers))
    findings += about_repeats(repeats, raw, given, settings)
    if settings.repeats != "keep" and repeats.n_repeats:
        stay = np.ones(len(given.task), bool)
        stay[reduce_repeats(repeats, given.label, settings.repeats)] = False
        given = given.at(np.flatnonzero(stay))
    gold, split, noticed = _about_tasks(raw, columns, tasks, classes)
    findings += noticed
    counts = tally(given.worker, given.label, len(workers), len(classes.names))
    findings += class_findings(classes, counts.per_class)
    findings += crowd_findings(counts, np.bincount(given.task, minlength=len(tasks.ids)), tasks.ids, workers)
    findings.sort(key=lambda finding: RANK[finding.level])
    images = attach_rows(raw.arrays, "images", split, tasks.n_listed)
    dataset = CrowdDataset(
        settings.name or name,
        classes.names,
        string_index(tasks.ids),
        string_index(strings(workers)),
        given.task,
        given.worker,
        given.label,
        gold=gold,
        split=split,
        features=attach_rows(raw.arrays, "features", split, tasks.n_listed),
        media=attach_media(raw.path, images, media_columns(raw.tasks, tasks)),
        extra=attach_extra(raw.extra, given.rows, raw.escaped),
        truth=attach_truth(raw.truth, given.rows, len(workers), raw.path),
        file_row=attach_file_row(raw, given.rows),
        notes=tuple(str(finding) for finding in findings),
        sentences=raw.sentences,
    )
    if settings.valid_share or settings.test_share:
        dataset, noticed = _divided(dataset, settings)
        findings += noticed
    report = ImportReport(
        source=name,
        format=raw.format,
        encoding=raw.encoding,
        delimiter=raw.delimiter,
        columns=raw.columns,
        roles=raw.roles,
        classes=classes.names,
        classes_from=classes.source,
        n_rows=raw.n_rows,
        n_tasks=dataset.n_tasks,
        n_workers=dataset.n_workers,
        n_annotations=dataset.n_annotations,
        n_gold=int((gold >= 0).sum()),
        n_repeats=repeats.n_repeats,
        n_contradicting=int(repeats.contradicting.sum()),
        findings=tuple(findings),
        variants=tuple(variants for part in merged.values() for variants in part.variants),
        n_sentences=0 if raw.sentences is None else len(raw.sentences),
    )
    return report, dataset


def _divided(dataset: CrowdDataset, settings: ReadSettings) -> tuple[CrowdDataset, list[Finding]]:
    """The splits that the settings ask for."""
    shares = settings.valid_share, settings.test_share
    dataset = split_tasks(dataset, *shares, seed=settings.split_seed, group=settings.group)
    train, valid, test = np.bincount(dataset.split, minlength=len(SPLITS))
    together = f", with {settings.group!r} kept together" if settings.group else ""
    found = Finding(
        "split-drawn",
        "note",
        f"Drawn at random, by class{together} (seed {settings.split_seed}): {train:,} tasks train, {valid:,} validate, "
        f"{test:,} test",
    )
    return replace(dataset, notes=(*dataset.notes, str(found))), [found]


@dataclass(frozen=True, eq=False)
class _Columns:
    """The cleaned columns: ``names`` holds task, worker and label; ``listed`` the list of tasks if there is one."""

    names: dict[str, Codes]
    listed: Codes | None
    gold: Codes | None
    split: Codes | None


def _clean(raw: Raw, settings: ReadSettings) -> tuple[_Columns, list[Finding]]:
    spelled = settings.classes is not None or raw.classes is not None  # then the list says what 1.0 is
    whole: Whole = "keep" if spelled else "mixed"
    task, findings = clean_names(raw.task, "task", raw, whole="all")
    worker, noticed = clean_names(raw.worker, "worker", raw, whole="all")
    findings += noticed
    label, noticed = clean_names(raw.label, "label", raw, raw.missing, whole)
    findings += noticed
    names = {"task": task, "worker": worker, "label": label}
    about = raw.tasks
    if about is None:
        return _Columns(names, None, None, None), findings
    listed = gold = split = None
    if about.listed:
        listed, noticed = clean_names(about.task, "task", raw, whole="all", about=about)
        findings += noticed
    if about.gold is not None:
        spellings = settings.classes or raw.classes or label.values.to_pylist()
        unknown = () if {*MINUS_ONE} & {*spellings} else MINUS_ONE
        gold, noticed = clean_names(about.gold, "gold", raw, unknown, whole, about)
        findings += [*noticed, *_unknown_gold(about.gold, unknown, raw, "note" if spelled else "change")]
    if about.split is not None:
        split, noticed = clean_names(about.split, "split", raw, about=about)
        findings += noticed
    return _Columns(names, listed, gold, split), findings


def _unknown_gold(gold: Codes, unknown: tuple[str, ...], raw: Raw, level: Level) -> list[Finding]:
    rows = np.flatnonzero(np.append([v.strip() in unknown for v in gold.values.to_pylist()], False)[gold.codes])
    if not len(rows):
        return []
    sentence = f"{plural(len(rows), 'gold value')} of -1 would count as unknown, since no label is -1"
    where = row_numbers(raw, rows, raw.tasks)
    remedy = "If -1 is a class, pass the full list with classes=…."
    return [make_finding("gold-minus-one", level, sentence, where, column=raw.roles.get("gold"), remedy=remedy)]


def _refuse_line_breaks(label: Codes, classes: ClassList, raw: Raw) -> None:
    """A label of several lines is free text, or rows that a stray quote swallowed."""
    values = () if classes.source != "labels found" else label.values.to_pylist()
    for code, name in enumerate(values):
        if "\n" in name or "\r" in name:
            row = raw.row_numbers(np.flatnonzero(label.codes == code)[:1])[0]
            remedy = "Close the quote that is open, choose another column, or list the classes with classes=…."
            column = raw.roles.get("label")
            raise DataError("This label holds a line break", remedy, file=raw.path, row=int(row), column=column)


def _about_tasks(
    raw: Raw, columns: _Columns, tasks: TaskList, classes: ClassList
) -> tuple[IntArray, IntArray, list[Finding]]:
    """Gold and split of each task."""
    n = len(tasks.ids)
    gold: IntArray = np.full(n, -1, np.int32)
    split: IntArray = np.full(n, -1, np.int8)
    findings: list[Finding] = []
    if columns.gold is not None:
        numbers = to_classes(columns.gold, classes)
        findings += outside(columns.gold, numbers, "gold", raw, classes, raw.tasks)
        gold, rows = per_task(tasks, numbers, n)
        if len(rows):
            wrong = np.unique(tasks.listed[rows])
            gold[wrong] = -1
            sentence = f"{plural(len(wrong), 'task')} with contradicting gold would count as unknown"
            findings.append(
                make_finding(
                    "gold-contradicts", "change", sentence, row_numbers(raw, rows, raw.tasks), count=len(wrong)
                )
            )
        known = int((gold >= 0).sum())
        if 0 < known < n:
            sentence = f"Gold is known for {known:,} of {plural(n, 'task')}"
            findings.append(Finding("partial-gold", "note", sentence, n - known, column=raw.roles.get("gold")))
    if columns.split is not None:
        split, noticed = split_codes(columns.split, raw, tasks)
        findings += noticed
    return gold, split, findings


def _merge(
    raw: Raw, settings: ReadSettings, columns: _Columns, classes: ClassList
) -> tuple[_Columns, ClassList, dict[str, Merged]]:
    """Merge the spellings of classes and workers that the settings ask to merge."""
    label, worker = columns.names["label"], columns.names["worker"]
    listed = () if classes.source == "labels found" else classes.names
    of_label = merge_variants(
        raw, "label", raw.label, label, gold=columns.gold, listed=listed, merge=settings.merge_classes
    )
    of_worker = merge_variants(
        raw, "worker", raw.worker, worker, gold=None, listed=listed_workers(raw), merge=settings.merge_workers
    )
    names = columns.names | {"label": rename(label, of_label.became), "worker": rename(worker, of_worker.became)}
    gold = None if columns.gold is None else rename(columns.gold, of_label.became)
    merged = {"label": of_label, "worker": of_worker}
    return replace(columns, names=names, gold=gold), classes.renamed(of_label.became), merged


def about_repeats(repeats: Repeats, raw: Raw, given: Annotations, settings: ReadSettings) -> list[Finding]:
    """The note about a worker's repeats on a task."""
    if not repeats.n_repeats:
        return []
    n = int(repeats.contradicting.sum())
    pairs = len(repeats.contradicting)
    later = np.delete(repeats.rows, repeats.start[:-1])
    done = "are kept and counted" if settings.repeats == "keep" else f"were reduced to the {settings.repeats}"
    sentence = (
        f"{plural(repeats.n_repeats, 'repeat')} of the same worker on the same task ({plural(pairs, 'pair')}, "
        f"{n:,} of them contradicting) {done}"
    )
    remedy = "Pass repeats='first', 'last' or 'majority' to reduce them." if settings.repeats == "keep" else ""
    shown = np.sort(raw.row_numbers(later if given.rows is None else given.rows[later]))
    left_out = 0 if settings.repeats == "keep" else repeats.n_repeats
    return [make_finding("repeats", "note", sentence, shown, left_out=left_out, remedy=remedy)]
