"""Assemble a dataset from the understood columns, with a report of every loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import SPLIT_ENDINGS, SPLITS, CrowdDataset, Media, SimulatedTruth
from crowdcore.data.dictionary import counted_sorted, strings, unescape
from crowdcore.data.media import ENDING, SOUNDS, is_address
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.reading.doubts import agreement_findings, crowd_findings, no_shared_tasks, tally, void_classes
from crowdcore.data.reading.labels import Classes
from crowdcore.data.reading.numbering import (
    Annotations,
    TaskList,
    accepted_rows,
    number_tasks,
    number_workers,
    one_gold,
    per_task,
    split_codes,
    without_repeats,
)
from crowdcore.data.reading.understood import Understood
from crowdcore.data.report import Finding, ImportReport, examples_of, make_change, plural
from crowdcore.data.rows import Rows
from crowdcore.data.settings import ReadSettings
from crowdcore.data.splitting import split_tasks
from crowdcore.data.tables.base import RESERVED, Arrow
from crowdcore.data.times import SECONDS, TIME, durations, moments

_RANK = {"question": 0, "change": 1, "warning": 2, "note": 3}
_FILES = {"features": ("features{}.npy",), "images": ("images{}.npy", "images{}.npz", "jpeg{}.npz")}
_OF_RAW = ("format", "encoding", "delimiter", "header", "columns", "roles", "n_rows")
_LOOKED_FOR = 1000  # files of this many tasks at most
_TIMES = {
    TIME: (moments, "a time", "Write all of them like 2024-05-31T14:30:00Z, or all as seconds since 1970."),
    SECONDS: (durations, "a duration", "Write seconds as a number that is not below 0, such as 12.5."),
}


def by_level(findings: list[Finding]) -> list[Finding]:
    """Questions first, then changes, warnings and notes."""
    return sorted(findings, key=lambda finding: _RANK[finding.level])


def assemble(understood: Understood, settings: ReadSettings, name: str) -> tuple[ImportReport, Labelled]:
    """Number, check and sort the understood columns."""
    raw, labels, findings = understood.raw, understood.labels, list(understood.findings)
    tasks, noticed = number_tasks(raw, understood.task, understood.listed)
    findings += noticed
    gold, split, about_tasks = _about_tasks(understood, tasks)
    names = {"task": understood.take("task"), "worker": understood.worker, "label": understood.take("label")}
    label = labels.numbers(names["label"])
    wrong = labels.wrong(names["label"], label, raw, None)
    keep, noticed = accepted_rows(raw, names, wrong)
    findings += noticed
    del names, wrong
    workers, worker, noticed = number_workers(raw, understood.take("worker"), keep, understood.merged_workers)
    findings += noticed
    given = Annotations(None, tasks.task, worker, label).at(keep)
    del label, worker
    given.sort(len(tasks.ids))
    given, repeats, noticed = without_repeats(given, len(workers), raw, settings)
    findings += [*noticed, *about_tasks]
    counts = tally(given.worker, given.label, len(workers), len(labels.names) if isinstance(labels, Classes) else 0)
    void = void_classes(given, gold, labels, len(tasks.ids), len(workers)) if isinstance(labels, Classes) else []
    findings += labels.findings(counts.per_class, void)
    per_task = counted_sorted(given.task, len(tasks.ids))
    findings += [*crowd_findings(counts, per_task, tasks.ids, workers), *no_shared_tasks(given, per_task, raw)]
    if isinstance(labels, Classes) and raw.sentences is None:
        findings += agreement_findings(given, gold, labels, counts.per_class, tasks.ids, raw)
    extra, noticed = _readable_times(raw, given.rows)
    findings = by_level([*findings, *noticed])
    folder = raw.path if raw.path is None or raw.path.is_dir() else raw.path.parent
    images = _attach_rows(raw.arrays, "images", split, tasks.n_listed)
    columns = _media_columns(raw.tasks, tasks, folder)
    parts: dict[str, Any] = {
        "task_ids": _string_index(tasks.ids),
        "worker_ids": _string_index(strings(workers)),
        "task": given.task,
        "worker": given.worker,
        "gold": gold,
        "split": split,
        "features": _attach_rows(raw.arrays, "features", split, tasks.n_listed),
        "media": None if images is None and columns is None else Media(images, columns, folder),
        "extra": _attach_extra(extra, given.rows, raw.escaped),
        "file_row": _file_rows(raw, given.rows),
        "truth": _attach_truth(raw.truth, given.rows, len(workers), raw.path),
        "notes": tuple(finding.note for finding in findings),
    }
    called = settings.name or name
    about: dict[str, Any]
    dataset: Labelled
    if isinstance(labels, Classes):
        dataset = CrowdDataset(called, labels.names, label=given.label, sentences=raw.sentences, **parts)
        if settings.valid_share or settings.test_share:
            dataset, noticed = _draw_splits(dataset, settings)
            findings += noticed
        about = {"classes": labels.names, "classes_from": labels.source}
    else:
        low, high = labels.low, labels.high
        dataset = RatingDataset(called, low, high, rating=given.label, levels=labels.names, **parts)
        about = {"classes": (), "classes_from": "", "rating_range": (low, high)}
    frame = pd.DataFrame() if dataset.extra is None else dataset.extra
    report = ImportReport(
        source=name,
        **{name: getattr(raw, name) for name in _OF_RAW},
        **{name: getattr(dataset, name) for name in ("n_tasks", "n_workers", "n_annotations")},
        n_gold=int(labels.known(gold).sum()),
        n_repeats=repeats.n_repeats,
        n_contradicting=int(repeats.contradicting.sum()),
        findings=tuple(findings),
        variants=understood.variants,
        n_sentences=0 if raw.sentences is None else len(raw.sentences),
        examples=examples_of(dataset),
        times=tuple(column for column in (TIME, SECONDS) if column in frame and frame[column].notna().any()),
        **about,
    )
    return report, dataset


def _about_tasks(understood: Understood, tasks: TaskList) -> tuple[AnyArray, IntArray, list[Finding]]:
    """Gold and split of each task; their columns are removed."""
    raw, labels, n = understood.raw, understood.labels, len(tasks.ids)
    findings: list[Finding] = []
    gold: AnyArray | None = None
    split: IntArray = np.full(n, -1, np.int8)
    if understood.gold is not None:
        codes = understood.take("gold")
        numbers = labels.numbers(codes)
        findings += [finding for finding, _ in labels.wrong(codes, numbers, raw, raw.tasks)]
        gold, noticed = one_gold(raw, tasks, numbers, labels.known(numbers), labels.unknown)
        findings += noticed
    if gold is None:
        gold = np.full(n, labels.unknown, np.int32 if isinstance(labels, Classes) else np.float64)
    if understood.split is not None:
        split, noticed = split_codes(understood.take("split"), raw, tasks)
        findings += noticed
    return gold, split, findings


def _draw_splits(dataset: CrowdDataset, settings: ReadSettings) -> tuple[CrowdDataset, list[Finding]]:
    """The dataset with the splits that the settings ask for."""
    shares = settings.valid_share, settings.test_share
    dataset = split_tasks(dataset, *shares, seed=settings.split_seed, group=settings.group)
    train, valid, test = np.bincount(dataset.split, minlength=len(SPLITS))
    together = f", with {settings.group!r} kept together" if settings.group else ""
    drawn = f"Drawn at random, by class{together} (seed {settings.split_seed})"
    finding = Finding("split-drawn", "note", f"{drawn}: {train:,} tasks train, {valid:,} validate, {test:,} test")
    return replace(dataset, notes=(*dataset.notes, finding.note)), [finding]


def _readable_times(raw: Raw, rows: IntArray | None) -> tuple[Arrow | None, list[Finding]]:
    """The further columns without unreadable times, and findings on these, at ``rows`` (None: all)."""
    extra, findings = raw.extra, []
    for name, (read, what, remedy) in _TIMES.items():
        if extra is None or name not in extra.column_names:
            continue
        column = extra[name]
        values = column.to_pandas()
        lost = values.notna().to_numpy() & np.isnan(read(values))
        if not lost.any():
            continue
        kept = pc.if_else(pa.array(lost), pa.scalar(None, column.type), column)
        extra = extra.set_column(extra.column_names.index(name), name, kept)
        wrong = np.flatnonzero(lost) if rows is None else np.sort(rows[lost[rows]])
        wrong = wrong[~values.iloc[wrong].astype("str").str.strip().isin(["", *raw.missing]).to_numpy()]
        if len(wrong):
            examples = tuple(str(values.iloc[row])[:60] for row in wrong[:5])
            labels = "its label" if len(wrong) == 1 else "their labels"
            subject = f"{plural(len(wrong), 'cell')} that cannot be read as {what}"
            detail = f", {labels} kept: {', '.join(map(repr, examples[:3]))}"
            change = make_change(f"{name}-unreadable", subject, "be left out", raw.row_numbers(wrong), detail)
            findings.append(replace(change, column=name, examples=examples, remedy=remedy))
    return extra, findings


def _string_index(values: Arrow) -> pd.Index[str]:
    """A pandas index of strings over pyarrow values (no Python objects are made where pandas keeps them in Arrow)."""
    index: pd.Index[str] = pd.Index(values.to_pandas())
    return index


def _media_columns(about: RawTasks | None, tasks: TaskList, folder: Path | None) -> pd.DataFrame | None:
    """Text, image and audio of each task, the first of several; missing where there is none.

    Without a column of images (sounds), tasks that are all named like image (sound) files are these files, if one of
    the first thousand lies in the folder or on a server.
    """
    columns = {}
    for kind, codes in (about.media if about else {}).items():
        values = unescape(codes.values) if about and about.escaped else codes.values
        filled = np.append(np.asarray(pc.not_equal(values, "")), False)
        numbers, known, _ = per_task(tasks, codes.codes, filled[codes.codes])
        if known.any():
            columns[kind] = values.take(pa.array(numbers, mask=~known)).to_pandas()
    for kind, ending in (("image", ENDING), ("audio", SOUNDS)):
        if kind not in columns and pc.all(pc.match_substring_regex(tasks.ids, ending)).as_py():
            some = map(str, tasks.ids[:_LOOKED_FOR].to_pylist())
            if any(is_address(name) or (folder is not None and _is_file(folder / name)) for name in some):
                columns[kind] = tasks.ids.to_pandas()
    return pd.DataFrame(columns) if columns else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path at all, such as a name that is too long
        return False


def _attach_rows(folder: Path | None, kind: str, split: IntArray, n_listed: int) -> Rows | None:
    """``features_<split>.npy`` or ``images_<split>.npy`` (or ``.npz``, or ``jpeg_<split>.npz``) of a folder, unopened.

    A file without ``_<split>`` belongs to the tasks without a split. Rows follow the list of tasks.
    """
    if folder is None:
        return None
    parts: dict[int, Path] = {}
    for code, ending in SPLIT_ENDINGS.items():
        files = [folder / pattern.format(ending) for pattern in _FILES[kind]]
        present = next((file for file in files if file.is_file()), None)
        if present is not None:
            parts[code] = present
    listed = np.where(np.arange(len(split)) < n_listed, split, -2)
    return Rows.from_splits(parts, listed) if parts else None


def _attach_extra(extra: Arrow | None, rows: IntArray | None, escaped: bool) -> pd.DataFrame | None:
    """The further columns at some rows (None: all); text becomes numbers if it is exactly their spelling."""
    if extra is None:
        return None
    if rows is not None:
        extra = extra.take(pa.array(rows))
    columns: dict[str, pd.Series] = {}
    for name, column in zip(extra.column_names, extra.columns, strict=True):
        unique = name
        while unique in (*RESERVED, *columns):
            unique += "_column"
        columns[unique] = _as_pandas(_numbers(column, escaped))
    return pd.DataFrame(columns)


def _as_pandas(column: Arrow) -> pd.Series:
    """A pandas column; whole numbers stay whole beside missing ones, and maps are lists of key and value."""
    kind = column.type
    if pa.types.is_map(kind):
        column = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    if pa.types.is_integer(kind) and column.null_count:
        whole = pd.UInt64Dtype() if pa.types.is_uint64(kind) else pd.Int64Dtype()
        values: pd.Series = column.to_pandas(types_mapper=lambda _: whole)
    else:
        values = column.to_pandas()
    return values


def _numbers(column: Arrow, escaped: bool) -> Arrow:
    """Text as whole or floating-point numbers if writing these gives the same text, else unchanged."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    for kind in (pa.int64(), pa.float64()) if filled.null_count < len(filled) else ():
        try:
            numbers = filled.cast(kind)
        except pa.ArrowInvalid:
            continue
        if _spelled_so(numbers, filled):
            return numbers
    return unescape(column) if escaped else column


def _spelled_so(numbers: Arrow, text: Arrow) -> bool:
    """Return whether all texts are the spelling of their numbers, Arrow's (``2``) or Python's (``2.0``)."""
    if not pc.all(pc.is_finite(numbers)).as_py():
        return False
    if pc.all(pc.equal(numbers.cast(text.type), text)).as_py():
        return True
    pairs = zip(numbers.to_pylist(), text.to_pylist(), strict=True)
    return all(number is None or repr(number) == word for number, word in pairs)


def _file_rows(raw: Raw, rows: IntArray | None) -> IntArray | None:
    """1-based row of the file of each imported annotation; None for a folder without file rows."""
    if raw.arrays is not None and raw.rows is None:
        return None
    if rows is None:
        return np.arange(1, len(raw.task) + 1, dtype=np.int32) if raw.rows is None else np.asarray(raw.rows, np.int32)
    return np.asarray(raw.row_numbers(rows), np.int32)


def _attach_truth(
    truth: SimulatedTruth | None, rows: IntArray | None, n_workers: int, path: Path | None
) -> SimulatedTruth | None:
    """The generating truth, its per-annotation parts at the imported rows."""
    if truth is None:
        return None
    for name in ("worker_confusion", "group", "worker_bias", "worker_scale", "worker_noise", "worker_role"):
        part = getattr(truth, name)
        if part is not None and len(part) not in (0, n_workers):
            raise DataError(
                f"The simulated truth has {len(part)} entries of `{name}` for {n_workers} workers", file=path
            )
    if rows is None:
        return truth
    omega, used = truth.omega, truth.used_common
    return replace(
        truth, omega=None if omega is None else omega[rows], used_common=None if used is None else used[rows]
    )
