"""What the reference says of each annotation's task without the annotation itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.reference import Reference
from crowdcore.analysis.verdicts.dependence import Evidence, dependence_left
from crowdcore.analysis.workers.confusion import refuse_beyond, row_shares
from crowdcore.core.kernels import confusion_counts, soft_confusion_counts, vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.report import plural

BY_PEERS = (
    "Gold is not used: a label is judged by the labels of the other workers on its task (one step of "
    "Dawid–Skene's model, with confusions counted against {name!r})."
)
_SHRINKAGE = 4.0  # pseudo-labels by which a row of a worker's confusion is pulled to the crowd's
_FLOOR = 0.5  # pseudo-labels of each cell of the crowd's own confusion
_LEAST = 1e-4  # share of a task in a class that is taken out of its counts; less than that would move beliefs as little


@dataclass(frozen=True, eq=False)
class Peers:
    """Beliefs about the truth; of a worker's repeats on a task the first one counts.

    Attributes:
        row: (P,) int, number of the annotation.
        task: (P,) int, ascending.
        worker: (P,) int.
        label: (P,) int.
        judge: (P, C) what is believed of the task by everything but the worker's own label, rows sum to 1; gold as
            0 and 1; NaN where there is no gold, or, without gold, no other label.
        crowd: (n_tasks, C) what all labels of a task say together, NaN without labels.
        held_out: (n_tasks, C) the same by confusions that are counted on the other tasks only.
        dependence: η of the labels of a task, 0 where they are independent given its class (`Evidence`).
        log_confusion: (n_workers, C, C) log of the confusions that this rests on, row = true class.
        sentence: what is taken for the truth, in words.
    """

    row: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    judge: FloatArray
    crowd: FloatArray
    held_out: FloatArray
    dependence: float
    log_confusion: FloatArray
    sentence: str


def peer_beliefs(dataset: CrowdDataset, truth: Reference, dependence: float | None = None) -> Peers:
    """One E-step of Dawid & Skene (1979) by the confusions that the reference shows, with and without each label.

    With counts n^r_ab of the reference (soft or hard) and the crowd's pooled confusion π^g,
    ``π^r_ab = (n^r_ab + 4 π^g_ab) / (n^r_a + 4)``. Were labels independent given the class, all together would say
    ``q_i(c) ∝ ρ_c Π_s π^s[c, y_i^s]``, and without worker r ``q_i^{-r}(c) ∝ q_i(c) / π^r[c, y_i^r]``, the cavity
    distribution, by which r is judged: never by the own label, and workers with few labels do not get confusions that
    fit them perfectly. Where the reference is gold, gold itself is the judge.

    Those counts contain task i, so q_i knows its gold (or what the model made of it) beforehand: held against gold, it
    errs too rarely. ``held_out`` is q_i after task i has been taken out of n^s, π^g and ρ: exactly what a new count of
    all other tasks gives.

    Labels of a task that is hard, or looks like another class, depend on each other, and the product is too sure of it:
    ``crowd`` and ``held_out`` take `Evidence` with the dependence η instead. Judges stay products: verdicts compare
    workers who are judged by the same ones.

    Args:
        dataset: the annotations.
        truth: what confusions are counted against.
        dependence: η; default: 0 by gold, against which labels can be held as they are, else `dependence_left`.

    Raises:
        DataError: arrays of annotations times classes that do not fit.
    """
    from crowdcore.core.kernels_beliefs_numba import judges  # compiled loops are loaded when needed

    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(
        6 * 8 * dataset.n_annotations * n_classes,
        f"Beliefs about {dataset.n_annotations:,} annotations and {n_classes:,} classes",
        "Merge classes, or look at fewer tasks.",
    )
    key = dataset.task.astype(np.int64) * n_workers + dataset.worker
    first = np.sort(np.unique(key, return_index=True)[1])
    once = dataset if len(first) == len(key) else dataset.where(np.isin(np.arange(len(key)), first))
    labels = task, worker, label = once.task, once.worker, once.label
    if truth.posterior is None:
        counts = confusion_counts(*labels, truth.labels, n_workers, n_classes)
    else:
        counts = soft_confusion_counts(*labels, truth.posterior, n_workers)
    pooled = row_shares(counts.sum(0) + _FLOOR)
    rows = (counts + _SHRINKAGE * pooled) / (counts.sum(2, keepdims=True) + _SHRINKAGE)
    log_confusion, log_prior = np.log(rows), np.log(counts.sum((0, 2)) + _FLOOR)
    own = log_confusion.transpose(0, 2, 1)[worker, label]
    without, log_prior_without = _taken_out(once, own, counts, truth)
    log_prior_without += log_prior
    evidence, elsewhere = Evidence(once, own), Evidence(once, without)
    if dependence is None:
        dependence = 0.0 if truth.checked else dependence_left(once, elsewhere, log_prior_without)
    if truth.checked:
        known = truth.labels[task]
        judge = np.where(known[:, None] >= 0, np.arange(n_classes) == known[:, None], np.nan)
        sentence = by_gold(dataset, truth)
    else:
        judge = judges(once.task_start, evidence.log(0.0) + log_prior, own)
        sentence = BY_PEERS.format(name=truth.name)
    crowd = evidence.beliefs(dependence, log_prior)
    held_out = elsewhere.beliefs(dependence, log_prior_without)
    return Peers(first, task, worker, label, judge, crowd, held_out, dependence, log_confusion, sentence)


def _taken_out(
    once: CrowdDataset, own: FloatArray, counts: FloatArray, truth: Reference
) -> tuple[FloatArray, FloatArray]:
    """``own`` (A, C) if its task is not counted, and (n_tasks, C) what that changes the log prior by."""
    from crowdcore.core.kernels_beliefs_numba import without_task

    if truth.posterior is None:
        q = (np.arange(once.n_classes) == truth.labels[:, None]).astype(np.float64)
    else:
        q = np.nan_to_num(truth.posterior)
    votes, crowd = vote_counts(once.task, once.label, once.n_tasks, once.n_classes), counts.sum(0)
    of_class = crowd.sum(1)
    given = once.task_start, once.worker, once.label, own, q, votes
    without = without_task(*given, counts, counts.sum(2), crowd, of_class, _LEAST, _FLOOR, _SHRINKAGE)
    return without, np.log1p(-q * once.labels_per_task[:, None] / (of_class + _FLOOR))


def by_gold(dataset: CrowdDataset, truth: Reference) -> str:
    """What the truth is, and of how many labelled tasks it is known, in words."""
    return f"The truth is {truth.name}, on {plural((truth.known & dataset.annotated).sum(), dataset.task_noun)}."
