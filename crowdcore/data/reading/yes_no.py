"""Labels of several classes as answers to questions with yes or no, one for each class (binary relevance)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, clean, compact, natural_order, strings
from crowdcore.data.readers.base import Raw
from crowdcore.data.reading.spellings import find_multi_selects, name_parts
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings

ANSWERS = ("no", "yes")
BETWEEN = " · "


def ask_each_class(raw: Raw, settings: ReadSettings) -> Raw:
    """For each task and class a task ``photo1 · cat``, whose labels say whether a worker chose that class.

    Each label, also one of a single class, becomes an answer for each class; a missing one stays missing.

    Raises:
        DataError: tags, a simulated crowd with its truth, or features and images of the tasks there were.
    """
    if raw.sentences is not None or raw.truth is not None or raw.arrays is not None:
        what = "Tags, simulated crowds and folders are not read as questions of each class"
        raise DataError(what, "Read the table of annotations alone.", file=raw.path)
    label = clean(raw.label, raw.missing, raw.escaped).codes
    about = raw.tasks
    gold = clean(about.gold, ("-1",), about.escaped).codes if about is not None and about.gold is not None else None
    names = {name for codes in (label, gold) if codes is not None for name in codes.values.to_pylist()}
    several = find_multi_selects([*names])
    parts = {name: {*name_parts(name)} if name in several else {name} for name in names} | {"[]": set[str]()}
    listed = settings.classes or tuple(name for name in raw.classes or () if name not in several)
    found = [*{part for name in names for part in parts[name]}]
    classes = listed or tuple(found[i] for i in natural_order(found))
    n, k = len(label), len(classes)

    def answers(codes: Codes) -> Codes:
        chosen = np.array([[c in parts[name] for c in classes] for name in codes.values.to_pylist()], bool)
        return _answers(codes, chosen.reshape(-1, k))

    if about is not None:
        rows = np.repeat(np.arange(len(about.task)), k)
        task = _questions(clean(about.task, (), about.escaped, "mixed").codes, classes)
        about = replace(about.take(rows), task=task, gold=None if gold is None else answers(gold), escaped=False)
    outside = {*found} - {*classes}
    what = f"Each of {plural(k, 'class')} is a question: {plural(n, 'label')} were read as {n * k:,} answers"
    note = Finding("yes-no", "warning" if outside else "note", what + _not_asked(outside), n, examples=classes[:5])
    rows = np.repeat(np.arange(n), k)
    return replace(
        raw,
        task=_questions(clean(raw.task, (), raw.escaped, "mixed").codes, classes),
        worker=raw.worker.take(rows),
        label=answers(label),
        rows=raw.row_numbers(rows),
        extra=None if raw.extra is None else raw.extra.take(rows),
        tasks=about,
        classes=ANSWERS,
        classes_from="yes or no for each class",
        n_rows=raw.n_rows - n + n * k,
        findings=(*raw.findings, note),
    )


def _not_asked(outside: set[str]) -> str:
    listed = ", ".join(map(repr, sorted(outside)[:5])) + (" …" if len(outside) > 5 else "")
    return f"; not asked for, as the list of classes lacks them: {listed}" if outside else ""


def _questions(task: Codes, classes: tuple[str, ...]) -> Codes:
    """(n k,) the name of each task with each class."""
    k = len(classes)
    values = strings(f"{name}{BETWEEN}{c}" for name in task.values.to_pylist() for c in classes)
    codes = np.where(task.missing, -k, task.codes * k)[:, None] + np.arange(k)
    return compact(values, np.where(codes < 0, -1, codes).ravel().astype(np.int32))


def _answers(codes: Codes, chosen: BoolArray) -> Codes:
    """(n k,) yes or no of each row for each class, missing where the row is."""
    given: IntArray = np.append(chosen, np.zeros((1, chosen.shape[1]), bool), axis=0)[codes.codes].astype(np.int32)
    given[codes.missing] = -1
    return compact(pa.array(ANSWERS, pa.large_string()), given.ravel())
