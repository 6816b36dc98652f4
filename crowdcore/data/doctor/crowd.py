"""What looks odd about a crowd once its annotations are numbers."""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.report import Finding, Level, plural
from crowdcore.data.tables.base import Arrow

__all__ = ["crowd_findings"]

ENOUGH = 10  # labels after which always the same answer is worth a word


def crowd_findings(
    task: IntArray, worker: IntArray, label: IntArray, tasks: Arrow, workers: list[str]
) -> list[Finding]:
    """Tasks nobody labelled, workers with one label, workers who only ever gave one answer."""
    findings = []
    per_task = np.bincount(task, minlength=len(tasks))
    bare = np.flatnonzero(per_task == 0)
    if len(bare):
        examples = tuple(tasks[int(i)].as_py() for i in bare[:5])
        sentence = f"{plural(len(bare), 'task')} without any annotation, such as {examples[0]!r}"
        findings.append(Finding("tasks-without-annotations", "note", sentence, len(bare), examples=examples))
    if not len(label):
        return findings
    per_worker = np.bincount(worker, minlength=len(workers))
    findings += _about_workers("single-label-workers", "note", per_worker == 1, workers, "with a single annotation")
    if (label != label[0]).any():
        same = (_distinct_labels(worker, label, len(workers)) == 1) & (per_worker >= ENOUGH)
        wording = f"who gave the same answer to all of their {ENOUGH} or more tasks"
        findings += _about_workers("one-answer-workers", "warning", same, workers, wording)
    return findings


def _distinct_labels(worker: IntArray, label: IntArray, n_workers: int) -> IntArray:
    """(n_workers,) how many different labels each worker gave; O(annotations) memory however many classes."""
    n_classes = int(label.max()) + 1
    cell = worker.astype(np.int64) * n_classes + label
    if n_workers * n_classes <= len(label):
        used = np.flatnonzero(np.bincount(cell, minlength=n_workers * n_classes))
    else:
        used = np.unique(cell)
    return np.bincount(used // n_classes, minlength=n_workers)


def _about_workers(code: str, level: Level, chosen: BoolArray, workers: list[str], what: str) -> list[Finding]:
    numbers = np.flatnonzero(chosen)
    if not len(numbers):
        return []
    examples = tuple(workers[i] for i in numbers[:5])
    sentence = f"{plural(len(numbers), 'worker')} {what}, such as {examples[0]!r}"
    return [Finding(code, level, sentence, len(numbers), examples=examples)]
