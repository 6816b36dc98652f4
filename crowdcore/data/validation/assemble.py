"""Assemble a dataset from raw columns and report every loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import Codes, Whole, strings
from crowdcore.data.lookups import counted_sorted
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, ImportReport, Level, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.splitting import split_tasks
from crowdcore.data.validation.accepted_rows import accepted_rows
from crowdcore.data.validation.annotations import Annotations
from crowdcore.data.validation.attach import attach_truth
from crowdcore.data.validation.classes import ClassList, class_findings, outside, resolve_classes, to_classes
from crowdcore.data.validation.crowd import crowd_findings, tally
from crowdcore.data.validation.multi_select import multi_selects
from crowdcore.data.validation.names import clean_names, row_numbers
from crowdcore.data.validation.numbered import by_level, dataset_parts, make_report, one_gold, without_repeats
from crowdcore.data.validation.tasks import TaskList, number_tasks, split_codes
from crowdcore.data.validation.times import readable_times
from crowdcore.data.validation.variants import Merged, merge_variants, rename
from crowdcore.data.validation.workers import listed_workers, number_workers

MINUS_ONE = ("-1", "-1.0")


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
    named, nothing = columns.names["worker"], Codes(strings([]), np.empty(0, np.int32))
    raw, columns = replace(raw, worker=nothing, label=nothing), replace(columns, names={})  # they have numbers now
    workers, number, noticed = number_workers(raw, named, keep, merged["worker"].became)
    findings += noticed
    del named
    given = Annotations(None, tasks.task, number, label).at(keep)
    del number, label
    given.sort(len(tasks.ids))
    given, repeats, noticed = without_repeats(given, len(workers), raw, settings)
    findings += noticed
    gold, split, noticed = _about_tasks(raw, columns, tasks, classes)
    findings += noticed
    counts = tally(given.worker, given.label, len(workers), len(classes.names))
    findings += class_findings(classes, counts.per_class)
    findings += crowd_findings(counts, counted_sorted(given.task, len(tasks.ids)), tasks.ids, workers)
    raw, noticed = readable_times(raw, given.rows)
    findings = by_level([*findings, *noticed])
    dataset = CrowdDataset(
        settings.name or name,
        classes.names,
        label=given.label,
        gold=gold,
        truth=attach_truth(raw.truth, given.rows, len(workers), raw.path),
        notes=tuple(str(finding) for finding in findings),
        sentences=raw.sentences,
        **dataset_parts(raw, tasks, workers, given, split),
    )
    if settings.valid_share or settings.test_share:
        dataset, noticed = _divided(dataset, settings)
        findings += noticed
    about = {
        "classes": classes.names,
        "classes_from": classes.source,
        "n_gold": int((gold >= 0).sum()),
        "variants": tuple(variants for part in merged.values() for variants in part.variants),
        "n_sentences": 0 if raw.sentences is None else len(raw.sentences),
    }
    return make_report(raw, name, dataset, repeats, findings, **about), dataset


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
            sentence = "This label holds a line break"
            raise DataError(sentence, remedy, file=raw.path, row=int(row), column=column, header=raw.header)


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
        gold, noticed = one_gold(raw, tasks, numbers, numbers >= 0, -1)
        findings += noticed
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
