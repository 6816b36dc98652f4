"""Evidence of a task's labels for its class, where they depend on each other and the task itself is left out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from crowdcore.core.beliefs import add_up, equal_labels, log_urns, without_task
from crowdcore.core.counts import row_shares, soft_confusion_counts, softmax_rows, vote_counts
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

FLOOR = 0.5
"""Pseudo-labels of each cell of the crowd's own confusion."""
SHRINKAGE = 4.0
"""Pseudo-labels by which a row of a worker's confusion is pulled to the crowd's."""
_LEAST = 1e-4  # least share of a task in a class that is taken out of its counts
_CELLS = 1 << 21  # shares of confusions in one array, for the expected agreement
_LIKELY = 6  # classes of a task in the expected agreement
_ENOUGH, _TINY = 0.5, 1e-9  # labels of other tasks below which the crowd's row stands for the worker's
_MOST = 0.95  # η
_ROUNDS, _CLOSE = 10, 2e-3  # steps towards η, and the change at which they end


def first_labels(dataset: CrowdDataset) -> tuple[CrowdDataset, IntArray]:
    """Dataset without a worker's repeats on a task, and the numbers of the annotations that are kept."""
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    first = np.sort(np.unique(key, return_index=True)[1])
    return dataset if len(first) == len(key) else dataset.where(np.isin(np.arange(len(key)), first)), first


def log_shares(counts: FloatArray) -> FloatArray:
    """(n_workers, C, C) log of confusions from counts, each row drawn to the crowd's."""
    pooled = row_shares(counts.sum(0) + FLOOR)
    return np.asarray(np.log((counts + SHRINKAGE * pooled) / (counts.sum(2, keepdims=True) + SHRINKAGE)))


def taken_out(once: CrowdDataset, own: FloatArray, counts: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``own`` (A, C) by counts without its task, and (n_tasks, C) the change of the log prior.

    Args:
        once: the annotations, no repeats.
        own: (A, C) log confusions of the labels.
        counts: (n_workers, C, C) that the tasks have added to.
        q: (n_tasks, C) the class that each task has been counted as.
    """
    votes, crowd = vote_counts(once.task, once.label, once.n_tasks, once.n_classes), counts.sum(0)
    of_class = crowd.sum(1)
    given = once.task_start, once.worker, once.label, own, q, votes
    without = without_task(*given, counts, counts.sum(2), crowd, of_class, _LEAST, FLOOR, SHRINKAGE)
    return without, np.log1p(-q * once.labels_per_task[:, None] / (of_class + FLOOR))


class Evidence:
    """Likelihood of each task's labels under each class, for confusions that vary by task.

    Rows of a task's confusion are drawn around the workers', ``θ_ic ~ Dirichlet((1 - η) / η · π_c)``, so that labels of
    one task repeat each other: two labels on a task of class c agree with probability ``η + (1 - η) Σ_l π_cl²``. With θ
    summed out (Pólya's urn), a label after k equal ones of its task counts ``(1 - η) g + η k``, and the product over
    the labels, but for a constant, is their likelihood. g is the geometric mean of ``π^r[c, l]`` over the workers who
    gave the task this label, so that the order of labels does not matter. η = 0 is Dawid & Skene's ``Π_r π^r[c, y^r]``.

    Args:
        dataset: the annotations, no repeats.
        log_confusion: (n_annotations, C) log of ``π^r[c, y_i^r]`` for each class c.
    """

    def __init__(self, dataset: CrowdDataset, log_confusion: FloatArray) -> None:
        self._dataset, self._log_confusion = dataset, log_confusion
        self._independent = np.full((dataset.n_tasks, log_confusion.shape[1]), np.nan)
        add_up(dataset.task_start, log_confusion, self._independent)

    def log(self, dependence: float) -> FloatArray:
        """(n_tasks, C) log-likelihoods but for a constant of each task; NaN without labels."""
        if dependence == 0:
            return self._independent
        out = np.full_like(self._independent, np.nan)
        log_urns(self._dataset.task_start, *self._equal_labels, dependence, out)
        return out

    def beliefs(self, dependence: float, log_prior: FloatArray) -> FloatArray:
        """(n_tasks, C) probabilities of the classes, with the log class shares (C,) or (n_tasks, C)."""
        scores = self.log(dependence) + log_prior
        softmax_rows(scores)
        return scores

    @cached_property
    def _equal_labels(self) -> tuple[FloatArray, FloatArray]:
        dataset = self._dataset
        return equal_labels(dataset.task_start, dataset.label, self._log_confusion, dataset.n_classes)


def estimate_dependence(dataset: CrowdDataset, posterior: FloatArray) -> float:
    """η of a posterior: share of pairs of labels of one task that agree beyond what independent mistakes explain.

    ``η̂ = Σ_i (agreeing_i - e_i) / (1 + Σ_i (pairs_i - e_i))`` with
    ``e_i = Σ_c q_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]``; π are shares of counts without task i, so that under a right
    posterior the sums are 0 on average for any number of labels. Noise raises η̂, so it is shrunken to
    ``η = (η̂² - s²)₊ / η̂``, with s² the variance of η̂ over tasks.

    Pairs are those of evenly spaced tasks, counts those of all. The dataset must hold no repeats.
    """
    n_classes, task = dataset.n_classes, dataset.task
    counts = soft_confusion_counts(task, dataset.worker, dataset.label, posterior, dataset.n_workers)
    crowd = row_shares(counts.sum(0) + _TINY)
    likely = min(_LIKELY, n_classes)
    step = -(-dataset.n_annotations * likely * n_classes // _CELLS)
    several = (dataset.labels_per_task > 1) & (np.arange(dataset.n_tasks) % max(step, 1) == 0)
    rows = np.flatnonzero(several[task])
    if not len(rows):
        return 0.0
    q = posterior[task[rows]]
    top = np.argsort(-q, axis=1, kind="stable")[:, :likely]  # e_i uses the likeliest classes only
    weight = np.take_along_axis(q, top, 1)
    shares = counts[dataset.worker[rows, None], top]  # (annotations, likely, C)
    shares[np.arange(len(rows)), :, dataset.label[rows]] -= weight
    total = shares.sum(2)
    few = total <= _ENOUGH
    shares /= np.maximum(total, _ENOUGH)[:, :, None]
    shares[few] = crowd[top[few]]
    number, likeliest = (np.cumsum(several) - 1)[task[rows]], np.flatnonzero(np.diff(task[rows], prepend=-1))
    beyond, room = beyond_independent(number, dataset.label[rows], shares, weight[likeliest], n_classes)
    all_room = 1 + room.sum()  # one pair more, for crowds without any mistake
    eta = beyond.sum() / all_room
    noise = ((beyond - eta * room) ** 2).sum() / all_room**2
    return float(np.clip(eta - noise / eta, 0, _MOST)) if eta > 0 else 0.0


def fit_dependence(dataset: CrowdDataset, evidence: Evidence, log_prior: FloatArray) -> float:
    """Find the fixed point of ``η = estimate_dependence(q(η))`` from 0.

    A larger η makes q less sure; q then explains less of the agreement, and η grows a little more. ``log_prior`` holds
    the log class shares, (C,) or (n_tasks, C), up to a constant of each task.
    """
    eta = 0.0
    for _ in range(_ROUNDS):
        before, eta = eta, estimate_dependence(dataset, evidence.beliefs(eta, log_prior))
        if abs(eta - before) < _CLOSE:
            break
    return eta


def beyond_independent(
    task: IntArray, label: IntArray, rows: FloatArray, weight: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """(n,) ``agreeing_i - e_i`` and ``pairs_i - e_i`` of n tasks with two labels or more.

    ``e_i = Σ_c q_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]`` pairs agree if mistakes are independent.

    Args:
        task: (A,) 0 … n - 1, ascending.
        label: (A,).
        rows: (A, K, C) rows ``π^r[c]`` of the worker's confusion for the K likeliest classes of the task.
        weight: (n, K) probabilities of these classes.
        n_classes: C.
    """
    first = np.flatnonzero(np.diff(task, prepend=-1))
    together, alone = np.add.reduceat(rows, first, axis=0), np.add.reduceat(rows * rows, first, axis=0)
    expected = (weight / weight.sum(1, keepdims=True) * (together * together - alone).sum(2)).sum(1) / 2
    votes = np.bincount(task * n_classes + label, minlength=len(first) * n_classes).reshape(-1, n_classes)
    agreeing, labels = (votes * (votes - 1)).sum(1) / 2, votes.sum(1)
    return agreeing - expected, labels * (labels - 1) / 2 - expected


def held_out_beliefs(dataset: CrowdDataset, posterior: FloatArray) -> FloatArray:
    """(n_tasks, C) beliefs by confusions of a posterior on the other tasks, and by the labels' dependence.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        posterior: (n_tasks, C), NaN rows for tasks that do not count.
    """
    once, q = first_labels(dataset)[0], np.nan_to_num(posterior)
    counts = soft_confusion_counts(once.task, once.worker, once.label, q, once.n_workers)
    own = log_shares(counts).transpose(0, 2, 1)[once.worker, once.label]
    without, log_prior = taken_out(once, own, counts, q)
    log_prior += np.log(counts.sum((0, 2)) + FLOOR)
    evidence = Evidence(once, without)
    return evidence.beliefs(fit_dependence(once, evidence, log_prior), log_prior)
