"""Beliefs about each annotation's task without the annotation itself, where labels of a task depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array

from crowdcore.aggregation._evidence import (
    FLOOR,
    SHRINKAGE,
    Evidence,
    first_labels,
    fit_dependence,
    log_shares,
    taken_out,
)
from crowdcore.analysis.reference import Reference
from crowdcore.analysis.statistics import divide
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.beliefs import by_own_shares, expected_labels, judges
from crowdcore.core.counts import confusion_counts, soft_confusion_counts, vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.report import plural
from crowdcore.data.sentences import rows_of

BY_PEERS = (
    "Gold is not used: a label is judged by what the other workers say of the task, weighed by their mistakes on other "
    "tasks (by {name!r})."
)
_SHARE_ROUNDS = 10  # of fitting the class shares of each worker's tasks


@dataclass(frozen=True, eq=False)
class Peers:
    """Beliefs about the truth; of a worker's repeats on a task the first one counts.

    Attributes:
        row, task, worker, label: (P,) int number of the annotation, its task (ascending), worker and label.
        judge: (P, C) belief in each class by all but the worker's own label, rows sum to 1; gold as 0 and 1; NaN where
            there is no gold, or, without gold, no other label.
        crowd: (n_tasks, C) belief by all labels of a task, NaN without labels.
        held_out: (n_tasks, C) the same by confusions that are counted on the other tasks only.
        dependence: η of the labels of a task, 0 where they are independent given its class (`Evidence`).
        log_confusion: (n_workers, C, C) log of the confusions used, row = true class.
        sentence: what counts as the truth, in words.
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

    @cached_property
    def by_own_shares(self) -> FloatArray:
        """``judge`` (P, C), where each worker's tasks have class shares of their own; gold stays as it is.

        ``judge_j(c) ρ_r(c) / ρ(c)`` for the worker r of label j, with ρ_r its mean over the worker's labels, by EM.
        Where a class is rare in a block of tasks, most of its labels are wrong; with common class shares, the workers
        of the block would seem to share a mistake.
        """
        if not ((self.judge > 0) & (self.judge < 1)).any():  # gold
            return self.judge
        shares = np.nansum(self.judge, 0) + 1e-9
        return by_own_shares(self.worker, self.judge, shares / shares.sum(), SHRINKAGE, _SHARE_ROUNDS)

    @cached_property
    def counted(self) -> tuple[FloatArray, FloatArray]:
        """`count` by ``by_own_shares``."""
        return self.count(self.by_own_shares)

    def count(self, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n_workers, C, C) labels b on tasks of class a by ``judge`` (P, C), and the share of b in others' there."""
        votes = vote_counts(self.task, self.label, len(self.crowd), judge.shape[1])
        task, worker, label = (numbers.astype(np.int64) for numbers in (self.task, self.worker, self.label))
        return expected_labels(task, worker, label, judge, votes, len(self.log_confusion))

    def opponents(self, true: IntArray, given: IntArray) -> FloatArray:
        """(n_workers,) number of others who say ``true`` where a worker says ``given``; NaN if nobody does, or for -1.

        The effective number ``(Σ_s n_s)² / Σ_s n_s²`` of their labels n_s, weighed by the belief without the worker.
        Few opponents prove no mistake: two or three who err on a block of tasks contradict everyone who is right there.
        """
        mine = np.flatnonzero((true[self.worker] >= 0) & (self.label == given[self.worker]))
        start = np.searchsorted(self.task, np.arange(len(self.crowd) + 1))
        beside = rows_of(start, self.task[mine])
        mine = np.repeat(mine, np.diff(start)[self.task[mine]])
        of, n = self.worker[mine].astype(np.int64), len(true)
        against = (self.label[beside] == true[of]) & (self.worker[beside] != of)
        pair, inverse = np.unique(of[against] * n + self.worker[beside[against]], return_inverse=True)
        shares = np.bincount(inverse, self.by_own_shares[mine[against], true[of[against]]], len(pair))
        total, squares = (np.bincount(pair // n, some, n) for some in (shares, shares**2))
        return divide(total**2, squares)


def peer_beliefs(dataset: CrowdDataset, truth: Reference, dependence: float | None = None) -> Peers:
    """Beliefs by one E-step of Dawid & Skene (1979) with the confusions by the reference, with and without each label.

    With counts n^r_ab of the reference (soft or hard) and the crowd's pooled confusion π^g,
    ``π^r_ab = (n^r_ab + 4 π^g_ab) / (n^r_a + 4)``. If labels are independent given the class, the belief in it is
    ``q_i(c) ∝ ρ_c Π_s π^s[c, y_i^s]``, and without worker r ``q_i^{-r}(c) ∝ q_i(c) / π^r[c, y_i^r]``, the cavity
    distribution. It judges r without r's own label, so that confusions of workers with few labels do not fit them
    perfectly. Where the reference is gold, gold itself is the judge.

    Those counts contain task i, so q_i contains its gold (or the model's estimate of it) and errs too rarely when
    compared with gold. ``held_out`` is q_i by counts n^s, π^g and ρ of all other tasks.

    Labels of a task that is hard, or looks like another class, depend on each other, and the product is overconfident:
    ``crowd`` and ``held_out`` use `Evidence` with the dependence η instead. Judges stay products, since verdicts
    compare workers with the same judges.

    Args:
        dependence: η; default: `fit_dependence`.

    Raises:
        DataError: arrays of annotations times classes that do not fit.
    """
    n_classes, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(
        8 * n_classes * (6 * dataset.n_annotations + 4 * n_workers * n_classes),
        f"Beliefs about {dataset.n_annotations:,} annotations by {n_workers:,} workers and {n_classes:,} classes",
        "Merge classes, or look at fewer tasks.",
    )
    once, first = first_labels(dataset)
    labels = task, worker, label = once.task, once.worker, once.label
    if truth.posterior is None:
        q = (np.arange(n_classes) == truth.labels[:, None]).astype(np.float64)
        counts = confusion_counts(*labels, truth.labels, n_workers, n_classes)
    else:
        q = np.nan_to_num(truth.posterior)
        counts = soft_confusion_counts(*labels, truth.posterior, n_workers)
    log_confusion, log_prior = log_shares(counts), np.log(counts.sum((0, 2)) + FLOOR)
    own = log_confusion.transpose(0, 2, 1)[worker, label]
    without, log_prior_without = taken_out(once, own, counts, q)
    log_prior_without += log_prior
    evidence, elsewhere = Evidence(once, own), Evidence(once, without)
    if dependence is None:
        dependence = fit_dependence(once, elsewhere, log_prior_without)
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


def by_gold(dataset: CrowdDataset, truth: Reference) -> str:
    """Sentence with the name of the truth and the number of labelled tasks with known class."""
    return f"The truth is {truth.name}, on {plural((truth.known & dataset.annotated).sum(), dataset.task_noun)}."


def only_peers(dataset: CrowdDataset) -> IntArray:
    """(n_workers,) the other worker of a pair who share tasks with nobody else; else -1."""
    from scipy.sparse.csgraph import connected_components  # slow to import

    n_workers, n = dataset.n_workers, dataset.n_workers + dataset.n_tasks
    links = coo_array((np.ones(dataset.n_annotations), (dataset.worker, n_workers + dataset.task)), shape=(n, n))
    component = connected_components(links, directed=False)[1][:n_workers]
    size = np.bincount(component, minlength=component.max(initial=0) + 1)
    workers = np.flatnonzero(size[component] == 2)
    pairs = workers[np.argsort(component[workers], kind="stable")].reshape(-1, 2)
    only = np.full(n_workers, -1)
    only[pairs] = pairs[:, ::-1]
    return only
