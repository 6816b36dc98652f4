"""Import of ratings: labels that are numbers in a range. What is outside it is reported, never clipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from crowdcore.core.memory import frugal_memory
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dictionary import Codes, NumberColumn, clean, strings
from crowdcore.data.lookups import counted_sorted
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.readers import Raw, RawTasks, Source
from crowdcore.data.report import Finding, ImportReport, make_finding, plural
from crowdcore.data.settings import RatingSettings
from crowdcore.data.validation.accepted_rows import accepted_rows
from crowdcore.data.validation.annotations import Annotations
from crowdcore.data.validation.attach import attach_truth
from crowdcore.data.validation.crowd import crowd_findings, tally_numbers
from crowdcore.data.validation.examine import Examined, check_count, open_source, read_source
from crowdcore.data.validation.names import clean_names, row_numbers
from crowdcore.data.validation.numbered import by_level, dataset_parts, make_report, one_gold, without_repeats
from crowdcore.data.validation.rating_numbers import inside_range, rating_numbers, rating_range
from crowdcore.data.validation.tasks import TaskList, number_tasks, split_codes
from crowdcore.data.validation.times import readable_times
from crowdcore.data.validation.workers import number_workers

RatingImport: TypeAlias = Examined[RatingDataset]
"""Examined ratings, ready to be imported."""


def examine_rating_table(path: str | Path, **mapping: Any) -> RatingImport:
    """Read ratings and report what was understood of the table: `examine_ratings` without what tasks show."""
    settings = RatingSettings(**mapping)
    return examine_rating_source(open_source(path, settings), settings)


def read_ratings(
    path: str | Path, low: float | None = None, high: float | None = None, *, accept: bool = False, **mapping: Any
) -> RatingDataset:
    """Read ratings, labels that are numbers, from a file or folder; its format is found by content.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file: long (task, worker, number) or wide
            (a row per task, a column per worker).
        low: lowest rating; may be left out where a folder's classes.txt says it, or with ``levels``.
        high: highest rating, likewise.
        accept: leave out what is no number or outside the range; ``notes`` of the dataset keep what.
        mapping: fields of `RatingSettings`, as for `examine_ratings`.

    Raises:
        DataError: unreadable, or something would be left out and that was not accepted.
        SettingError: a mapping that cannot be.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import crowdcore as cc
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "stars.csv")
        ...     _ = file.write_text("task,worker,rating\\n1,ann,4\\n1,ben,2.5\\n2,ann,1\\n")
        ...     stars = cc.read_ratings(file, low=1, high=5)
        >>> stars
        RatingDataset('stars': 2 tasks, 2 workers, 3 ratings from 1 to 5)
    """
    return examine_rating_table(path, low=low, high=high, **mapping).dataset(accept=accept)


@frugal_memory()
def examine_rating_source(
    source: Source, settings: RatingSettings, adjust: Callable[[Raw], Raw] | None = None
) -> RatingImport:
    """Examine an opened source of ratings; ``adjust`` may add what is known from elsewhere."""
    found = RatingImport(*_assemble(read_source(source, settings, adjust), settings, source.name))
    check_count(found.report, source.path)
    return found


def _assemble(raw: Raw, settings: RatingSettings, name: str) -> tuple[ImportReport, RatingDataset]:
    """Clean, number, check and sort the ratings that a reader found."""
    low, high = rating_range(raw, settings)
    findings = list(raw.findings)
    names = {"label": _clean(raw.label, raw, raw.escaped)}
    for role, column in (("task", raw.task), ("worker", raw.worker)):
        names[role], noticed = clean_names(column, role, raw, whole="all")
        findings += noticed
    listed = None
    if raw.tasks is not None and raw.tasks.listed:
        listed, noticed = clean_names(raw.tasks.task, "task", raw, whole="all", about=raw.tasks)
        findings += noticed
    tasks, noticed = number_tasks(raw, names["task"], listed)
    findings += noticed
    gold, split, about_tasks = _about_tasks(raw, tasks, settings, (low, high))
    if raw.tasks is not None:
        raw = replace(raw, tasks=replace(raw.tasks, gold=None))  # beside each rating it takes as much as those
    numbers = rating_numbers(names["label"], settings, low, high)
    findings += _outside(numbers, names["label"], "label", (low, high), raw, None, settings)
    keep, noticed = accepted_rows(raw, names)
    findings += noticed
    inside = inside_range(numbers, low, high)
    if not inside.all():
        known = np.arange(len(numbers)) if keep is None else keep
        keep = known[inside[known]]
        findings = _counted(findings, numbers[known], low, high)
    named, nothing = names["worker"], Codes(strings([]), np.empty(0, np.int32))
    raw, names = replace(raw, worker=nothing, label=nothing), {}  # they have numbers now
    workers, number, noticed = number_workers(raw, named, keep, {})
    findings += noticed
    del named
    given = Annotations(None, tasks.task, number, numbers).at(keep)
    del number, numbers
    given.sort(len(tasks.ids))
    given, repeats, noticed = without_repeats(given, len(workers), raw, settings)
    findings += noticed
    findings += about_tasks
    counts = tally_numbers(given.worker, given.label, len(workers))
    findings += crowd_findings(counts, counted_sorted(given.task, len(tasks.ids)), tasks.ids, workers)
    raw, noticed = readable_times(raw, given.rows)
    findings = by_level([*findings, *noticed])
    dataset = RatingDataset(
        settings.name or name,
        low,
        high,
        rating=given.label,
        gold=gold,
        notes=tuple(finding.done for finding in findings),
        levels=settings.levels or raw.levels,
        truth=attach_truth(raw.truth, given.rows, len(workers), raw.path),
        **dataset_parts(raw, tasks, workers, given, split),
    )
    about = {"classes": (), "classes_from": "", "n_gold": int((~np.isnan(gold)).sum()), "rating_range": (low, high)}
    return make_report(raw, name, dataset, repeats, findings, **about), dataset


def _clean(column: Codes, raw: Raw, escaped: bool) -> Codes:
    """A cleaned column of ratings; numbers are clean, and get no names."""
    as_read = isinstance(column, NumberColumn) and not column.holds(raw.missing)
    return column if as_read else clean(column, raw.missing, escaped).codes


def _outside(
    numbers: FloatArray,
    column: Codes,
    role: str,
    bounds: tuple[float, float],
    raw: Raw,
    about: RawTasks | None,
    settings: RatingSettings,
) -> list[Finding]:
    """Findings about values that are no number, and about numbers outside the range."""
    noun, fate = ("rating", "be left out") if role == "label" else ("gold value", "count as unknown")
    kinds = {
        "not-a-number": (
            np.isnan(numbers),
            "none of the levels" if settings.levels else "no number",
            "Correct them, or pass all words with levels=…." if settings.levels else "Write numbers such as 2.5.",
        ),
        "outside-range": (
            ~np.isnan(numbers) & ~inside_range(numbers, *bounds),
            "outside {:g}…{:g}".format(*bounds),
            "Correct them, or pass the range with low=… and high=….",
        ),
    }
    findings = []
    for code, (wrong, what, remedy) in kinds.items():
        rows = np.flatnonzero(wrong & ~column.missing) if wrong.any() else np.empty(0, np.int64)
        if len(rows):
            examples = tuple(word[:60] for word in column.take(rows).values[:5].to_pylist())
            which = what if code == "outside-range" else f"that {'is' if len(rows) == 1 else 'are'} {what}"
            sentence = f"{plural(len(rows), noun)} {which} would {fate}: {', '.join(map(repr, examples[:3]))}"
            where, place = row_numbers(raw, rows, about), raw.roles.get(role)
            word = f"{'rating' if role == 'label' else role}-{code}"
            findings.append(
                make_finding(word, "change", sentence, where, column=place, examples=examples, remedy=remedy)
            )
    return findings


def _counted(findings: list[Finding], numbers: FloatArray, low: float, high: float) -> list[Finding]:
    """The findings with how many of the remaining rows each leaves out."""
    wrong = {
        "rating-not-a-number": int(np.isnan(numbers).sum()),
        "rating-outside-range": int((~np.isnan(numbers) & ~inside_range(numbers, low, high)).sum()),
    }
    return [replace(f, left_out=wrong[f.code]) if f.code in wrong else f for f in findings]


def _about_tasks(
    raw: Raw, tasks: TaskList, settings: RatingSettings, bounds: tuple[float, float]
) -> tuple[FloatArray, IntArray, list[Finding]]:
    """Gold (NaN = unknown) and split of each task."""
    n, about = len(tasks.ids), raw.tasks
    gold: FloatArray = np.full(n, np.nan)
    split: IntArray = np.full(n, -1, np.int8)
    findings: list[Finding] = []
    if about is not None and about.gold is not None:
        column = _clean(about.gold, raw, about.escaped)
        numbers = rating_numbers(column, settings, *bounds)
        findings += _outside(numbers, column, "gold", bounds, raw, about, settings)
        gold, noticed = one_gold(raw, tasks, numbers, inside_range(numbers, *bounds), np.nan)
        findings += noticed
    if about is not None and about.split is not None:
        column, noticed = clean_names(about.split, "split", raw, about=about)
        split, told = split_codes(column, raw, tasks)
        findings += [*noticed, *told]
    return gold, split, findings
