"""Doubts about a whole dataset: unusual workers and tasks, images and texts that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.errors import Remedy
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.lookups import counted
from crowdcore.data.media import ADDRESSES, SUFFIXES, blank_texts, image_faults, image_names, is_address
from crowdcore.data.ratings import Labelled
from crowdcore.data.report import IMAGES, TEXTS, Finding, Level, plural
from crowdcore.data.tables.base import Arrow

_NAMED = 50
_LATER = "The labels are imported; training on {} leaves these tasks out once you accept that."
_NO_FILES = Finding(
    "no-image-files",
    "note",
    "The tasks are called like image files, but none of these files is beside the table, so no images are shown",
    0,
    remedy="To see them, put the files there; in the app upload a ZIP of both.",
)
_NONE_THERE = "Put the files where the column says, seen from the folder of the table; in the app upload a ZIP of both."
ENOUGH = 10  # labels after which always the same answer is worth a word


@dataclass(frozen=True, eq=False)
class Tally:
    """How many annotations each worker gave and each class got, and how many different answers each worker gave.

    Of numbers ``per_class`` and ``answers`` only tell one from several.
    """

    per_worker: IntArray
    per_class: IntArray
    answers: IntArray


def tally(worker: IntArray, label: AnyArray, n_workers: int, n_classes: int) -> Tally:
    """Count classes, or numbers (``n_classes`` 0) once; O(annotations) memory however many workers and classes."""
    if not n_classes:
        low: FloatArray = np.full(n_workers, np.inf)
        high: FloatArray = np.full(n_workers, -np.inf)
        np.minimum.at(low, worker, label)
        np.maximum.at(high, worker, label)
        per_worker = counted(worker, n_workers)
        several = bool(len(label)) and label.min() < label.max()
        return Tally(per_worker, np.ones(1 + several, np.int64), np.minimum(per_worker, 1) + (low < high))
    if n_workers * n_classes <= len(label):
        counts = counted(worker * np.int32(n_classes) + label, n_workers * n_classes).reshape(n_workers, n_classes)
        return Tally(counts.sum(1), counts.sum(0), np.count_nonzero(counts, axis=1))
    cell = worker.astype(np.int64)
    cell *= n_classes
    cell += label
    cell.sort()  # in place, where `unique` would take twice the memory
    new = np.append(True, cell[1:] != cell[:-1])[: len(cell)]
    return Tally(
        counted(worker, n_workers),
        counted(label, n_classes),
        np.bincount(cell[new] // n_classes, minlength=n_workers),
    )


def crowd_findings(tally: Tally, per_task: IntArray, tasks: Arrow, workers: list[str]) -> list[Finding]:
    """Tasks nobody labelled, no task with two labels, workers with one label, workers who only ever gave one answer.

    Args:
        tally: counts of the crowd.
        per_task: (n_tasks,) annotations of each task.
        tasks: their ids.
        workers: ids of the workers.
    """
    findings = []
    bare = np.flatnonzero(per_task == 0)
    if len(bare):
        examples = tuple(tasks[int(i)].as_py() for i in bare[:5])
        sentence = f"{plural(len(bare), 'task')} without any annotation, such as {examples[0]!r}"
        findings.append(Finding("tasks-without-annotations", "note", sentence, len(bare), examples=examples))
    findings += _about_workers(
        "single-label-workers", "note", tally.per_worker == 1, workers, "with a single annotation"
    )
    if len(per_task) >= ENOUGH and per_task.max() == 1:
        sentence = f"None of {plural(len(per_task), 'task')} has two labels: agreement cannot be measured"
        remedies = (Remedy("task", when="a row number was read as the task"),)
        findings.append(Finding("no-shared-tasks", "warning", sentence, len(per_task), remedies=remedies))
    if np.count_nonzero(tally.per_class) > 1:
        same = (tally.answers == 1) & (tally.per_worker >= ENOUGH)
        wording = f"who gave the same answer to all of their {ENOUGH} or more tasks"
        findings += _about_workers("one-answer-workers", "warning", same, workers, wording)
    return findings


def _about_workers(code: str, level: Level, chosen: BoolArray, workers: list[str], what: str) -> list[Finding]:
    numbers = np.flatnonzero(chosen)
    if not len(numbers):
        return []
    examples = tuple(workers[i] for i in numbers[:5])
    sentence = f"{plural(len(numbers), 'worker')} {what}, such as {examples[0]!r}"
    return [Finding(code, level, sentence, len(numbers), examples=examples)]


def media_findings(dataset: Labelled) -> list[Finding]:
    """What is wrong with the images and texts of tasks; images are opened for ten seconds at most."""
    return [*_about_images(dataset), *_about_texts(dataset)]


def _about_images(dataset: Labelled) -> list[Finding]:
    names = image_names(dataset)
    if names is None:
        like_files = dataset.n_tasks > 0 and all(str(name).lower().endswith(SUFFIXES) for name in dataset.task_ids)
        pixels = dataset.media is not None and dataset.media.images is not None
        return [_NO_FILES] if like_files and not pixels else []
    given = names.dropna().astype(str)
    if len(given) and given.map(is_address).all():
        what = f"Images of {plural(len(given), 'task')} are URLs"
        return [Finding("image-addresses", "note", what, len(given), remedy=ADDRESSES)]
    faulty, unopened = image_faults(dataset)
    remedy = _NONE_THERE if len(faulty) == dataset.n_tasks else _LATER.format("images")
    told = [_unusable(IMAGES, faulty, dataset.n_tasks, "an image that cannot be used", remedy)] if faulty else []
    if unopened:
        what = f"{plural(unopened, 'image file')} were not opened, as there are many; training on images opens all"
        told.append(Finding("images-unopened", "note", what, unopened))
    return told


def _about_texts(dataset: Labelled) -> list[Finding]:
    faulty = blank_texts(dataset)
    return [_unusable(TEXTS, faulty, dataset.n_tasks, "no text", _LATER.format("texts"))] if faulty else []


def _unusable(code: str, faulty: dict[str, str], n_tasks: int, what: str, remedy: str) -> Finding:
    named = [reason if reason.startswith(task) else f"{task}: {reason}" for task, reason in faulty.items()][:_NAMED]
    more = f"; and {len(faulty) - _NAMED:,} more" if len(faulty) > _NAMED else ""
    have = "has" if len(faulty) == 1 else "have"
    sentence = f"{len(faulty):,} of {plural(n_tasks, 'task')} {have} {what}: {'; '.join(named)}{more}"
    return Finding(code, "warning", sentence, len(faulty), examples=tuple(named), remedy=remedy)
