"""Findings about unusual workers and tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.lookups import counted
from crowdcore.data.report import Finding, Level, plural
from crowdcore.data.tables.base import Arrow

ENOUGH = 10  # labels after which always the same answer is worth a word


@dataclass(frozen=True, eq=False)
class Tally:
    """How many annotations each worker gave and each class got, and how many different answers each worker gave."""

    per_worker: IntArray
    per_class: IntArray
    answers: IntArray


def tally(worker: IntArray, label: IntArray, n_workers: int, n_classes: int) -> Tally:
    """Count once; O(annotations) memory however many workers and classes."""
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


def tally_numbers(worker: IntArray, number: FloatArray, n_workers: int) -> Tally:
    """The same of labels that are numbers; of workers' answers and of all it only tells one from several."""
    low: FloatArray = np.full(n_workers, np.inf)
    high: FloatArray = np.full(n_workers, -np.inf)
    np.minimum.at(low, worker, number)
    np.maximum.at(high, worker, number)
    per_worker = counted(worker, n_workers)
    several = bool(len(number)) and number.min() < number.max()
    return Tally(per_worker, np.ones(1 + several, np.int64), np.minimum(per_worker, 1) + (low < high))


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
        remedy = "If a row number was read as the task, name the column of the task with task=…."
        findings.append(Finding("no-shared-tasks", "warning", sentence, len(per_task), remedy=remedy))
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
