"""Statistics of labels without gold: weighted votes, labels held out, dependence, and warnings about a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crowdcore.aggregation._against_votes import lost_classes
from crowdcore.core.counts import cell_counts, cells
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.lookups import gather

_AS_GOOD = 1e-3  # nats per annotation by which a restart may be behind the best
_DIFFERENT = 0.05  # share of the tasks on which it may differ
_SURE = 0.9  # mean confidence from which dependence is worth a warning
_REPEATED = 0.15  # share of the labels that only repeat others
_LIKELY = 6  # classes of a task that the expected agreement counts
_CELLS = 1 << 20  # cells of confusions in memory at once
_POOLING = 15.0  # labels by which a worker's confusion is drawn to the crowd's
_SIGNIFICANT = 3.0  # standard errors over tasks
_RIGHT, _WRONG = 0.6, 0.1  # pseudo-labels of the whole crowd per class: no row of its confusion is empty or certain
_OF_WORKER = 2.0  # labels by which a worker's accuracy is drawn to the crowd's


def weighted_votes(dataset: CrowdDataset, weight: FloatArray) -> FloatArray:
    """(n_tasks, C) float64, summed ``weight`` (n_annotations,) of the annotations that gave each label."""
    cell = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    votes = np.bincount(cell, weights=weight, minlength=dataset.n_tasks * dataset.n_classes)
    return np.asarray(votes.reshape(dataset.n_tasks, dataset.n_classes), np.float64)


def accuracy_against(dataset: CrowdDataset, won: FloatArray) -> FloatArray:
    """(n_workers,) mean of ``won[task, label]`` over a worker's annotations, 0 for a worker without any."""
    right = np.bincount(dataset.worker, weights=won[dataset.task, dataset.label], minlength=dataset.n_workers)
    return np.asarray(right / np.maximum(dataset.labels_per_worker, 1))


def guard(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None, probabilistic: bool) -> tuple[str, ...]:
    """Warnings about a fit: lost or inflated classes, and confidence that is too high for dependent labels.

    ``probabilistic``: whether the posterior (n_tasks, C) is one of a model; vote shares are not.
    """
    warnings = lost_classes(dataset, posterior, known)
    if not probabilistic:
        return warnings
    highest = posterior.max(1, initial=0)
    if (unknown := np.isnan(highest)).any():
        highest = highest[~unknown]
    confidence = float(highest.mean()) if len(highest) else 0.0
    del highest
    if confidence < _SURE:
        return warnings
    dependence = measure(dataset, posterior)
    if not dependence.significant or 1 - dependence.share < _REPEATED:
        return warnings
    return (
        *warnings,
        f"The mean confidence of {confidence:.3f} is too high: workers agree on a task beyond what the fit "
        f"explains (η = {dependence.eta:.3f}), so that {100 * (1 - dependence.share):.0f} % of the labels repeat "
        "others. Temper the posterior (aggregation.temper, --temper).",
    )


def disagreement(ends: Sequence[tuple[float, IntArray]]) -> tuple[str, ...]:
    """Warn if restarts that are as good as the best infer other labels; of objectives per annotation and labels."""
    if not ends:
        return ()
    best, labels = max(ends, key=lambda end: end[0])
    different = max(float((labels != other).mean()) for value, other in ends if value >= best - _AS_GOOD)
    if different <= _DIFFERENT:
        return ()
    return (
        f"Restarts disagree: a run with as good an objective labels {100 * different:.0f} % of the tasks differently. "
        "Give some true labels, or use auto.",
    )


def too_few_labels(dataset: CrowdDataset, needed: float, cells: int = 1) -> tuple[str, ...]:
    """Warn if half the annotating workers have fewer than ``needed`` labels per ``cells`` cells.

    Args:
        needed: labels that one estimated quantity should rest on.
        cells: number of such quantities per worker (C when each class has its own).
    """
    given = dataset.labels_per_worker[dataset.labels_per_worker > 0] / cells
    median = float(np.median(given))
    if median >= needed:
        return ()
    per = " per class" if cells > 1 else ""
    return (
        f"Few labels per worker: the median is {median:.3g}{per}. Below {needed:g}, a worker's estimate mostly "
        "reflects the prior.",
    )


class Dependence(NamedTuple):
    """Agreement beyond a fit.

    Attributes:
        eta: share of the pairs of labels of one task that agree beyond the fit, 0 to 1.
        z: the excess in its standard errors over tasks.
        share: ``mean 1 / (1 + (m_i - 1) η)`` over the annotated tasks: the share of independent labels.
    """

    eta: float
    z: float
    share: float

    @property
    def significant(self) -> bool:
        """Whether the excess is more than chance."""
        return self.z > _SIGNIFICANT


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


def measure(dataset: CrowdDataset, posterior: FloatArray) -> Dependence:
    """η of a posterior: ``Σ_i (agreeing_i - e_i) / Σ_i (pairs_i - e_i)``.

    ``e_i = Σ_c q_i(c) Σ_{r<s} Σ_l π^r[c, l] π^s[c, l]`` is the agreement that independent mistakes explain, with π
    from q (`pooled_confusion`); evenly spaced tasks are enough. Under a right model its expectation is 0.
    """
    excess, room = _sampled(dataset, posterior)
    if not len(excess):
        return Dependence(0.0, 0.0, 1.0)
    eta = float(np.clip(excess.sum() / max(room.sum(), 1e-12), 0, 1))
    spread = float(np.sqrt(((excess - excess.mean()) ** 2).sum()))
    share, annotated = independent_share(dataset, eta), dataset.annotated
    mean = float((share if annotated.all() else share[annotated]).mean())
    return Dependence(eta, float(excess.sum() / max(spread, 1e-12)), mean)


def _sampled(dataset: CrowdDataset, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`beyond_independent` of evenly spaced tasks; of none where none of them has two labels."""
    n_classes, q = dataset.n_classes, posterior  # rows are NaN where there are no labels, which add nothing
    cell = cells(dataset.worker, dataset.label, n_classes)
    counts = cell_counts(dataset.task_start, cell, q, dataset.n_workers * n_classes)
    confusion = pooled_confusion(counts.reshape(dataset.n_workers, n_classes, n_classes), _POOLING)
    confusion = np.ascontiguousarray(confusion.transpose(0, 2, 1))
    likely = min(_LIKELY, n_classes)
    step = -(-dataset.n_annotations * likely * n_classes // _CELLS)
    chosen = np.zeros(dataset.n_tasks, bool)
    chosen[::step] = dataset.labels_per_task[::step] > 1
    if not chosen.any():
        return np.empty(0), np.empty(0)
    some = gather(chosen, dataset.task)
    task, worker, label = (values[some] for values in (dataset.task, dataset.worker, dataset.label))
    task = np.cumsum(chosen, dtype=np.int32)[task] - 1
    top = np.argsort(-q[chosen], axis=1, kind="stable")[:, :likely]
    rows = confusion[worker[:, None], top[task]]
    return beyond_independent(task, label, rows, np.take_along_axis(q[chosen], top, 1), n_classes)


def independent_share(dataset: CrowdDataset, eta: float) -> FloatArray:
    """(n_tasks,) ``1 / (1 + (m_i - 1) η)`` with m_i labels of a task."""
    labels = dataset.labels_per_task
    share = 1 / (1 + np.maximum(np.arange(labels.max(initial=0) + 1) - 1, 0) * eta)  # of each number of labels
    return np.asarray(share[labels], np.float64)


def pooled_confusion(counts: FloatArray, strength: float) -> FloatArray:
    """``π^r[c, l] ∝ n_rcl + κ m^r[c, l]``, row sums over the given label l.

    The mean ``m^r`` has the crowd's mistakes at the worker's level: with a and a_c the crowd's accuracy, overall and
    on class c, and a_r the worker's, ``logit m^r[c, c] = logit a_c + logit a_r - logit a``; the rest of the row
    follows the crowd's mistakes on class c.

    Args:
        counts: (n_workers, given, true) expected counts.
        strength: κ, labels.

    Returns:
        (n_workers, given, true), sums over ``given`` are 1.
    """
    n_classes = counts.shape[1]
    each = np.arange(n_classes)
    crowd = counts.sum(0) + _WRONG + (_RIGHT - _WRONG) * np.eye(n_classes)
    crowd /= crowd.sum(0)
    of_class = np.clip(crowd.diagonal(), 0.01, 0.99)
    right, total = counts.trace(axis1=1, axis2=2), counts.sum((1, 2))
    overall = np.clip(right.sum() / max(total.sum(), 1), 0.01, 0.99)
    of_worker = (right + _OF_WORKER * overall) / (total + _OF_WORKER)
    level = expit(logit(of_class) + logit(np.clip(of_worker, 0.01, 0.99))[:, None] - logit(overall))
    mistakes = crowd.copy()
    mistakes[each, each] = 0.0
    mistakes /= np.maximum(mistakes.sum(0), 1e-12)
    mean = (1 - level)[:, None, :] * mistakes
    mean[:, each, each] = level
    confusion = counts + strength * mean
    confusion /= confusion.sum(1, keepdims=True)
    return np.asarray(confusion)


def held_out(dataset: CrowdDataset, share: float) -> BoolArray:
    """(n_annotations,) annotations to hide: by a hash of task (or sentence) and worker, never a task's only one."""
    whole = dataset.sentences
    ids, of = (dataset.task_ids, dataset.task) if whole is None else (whole.ids, whole.of_task[dataset.task])
    task, worker = (pd.util.hash_array(np.asarray(names, object)) for names in (ids, dataset.worker_ids))
    mixed = task[of] * np.uint64(0x9E3779B97F4A7C15) ^ worker[dataset.worker]
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    chance = (mixed >> np.uint64(11)) * 2.0**-53
    return np.asarray((chance < share) & (dataset.labels_per_task[dataset.task] > 1))


def predicted(dataset: CrowdDataset, hidden: BoolArray, posterior: FloatArray, strength: float) -> FloatArray:
    """(n_hidden,) ``Σ_c q_i(c) π^r[c, y_i^r]`` of the hidden annotations, π from q and the others (`pooled_confusion`).

    Every posterior is judged by the same model of the workers, so that only its labels make the difference.

    ``posterior`` (n_tasks, C) is fitted to the others; NaN rows become the class shares. ``strength``: κ, labels.
    """
    n_classes, seen = dataset.n_classes, dataset.where(~hidden)
    shares = np.nanmean(posterior, axis=0)
    q = np.where(np.isnan(posterior), shares, posterior)
    cell = seen.worker * n_classes + seen.label
    counts = cell_counts(seen.task_start, cell, q, dataset.n_workers * n_classes)
    confusion = pooled_confusion(counts.reshape(dataset.n_workers, n_classes, n_classes), strength)
    likelihood = confusion[dataset.worker[hidden], dataset.label[hidden]]
    return np.asarray((q[dataset.task[hidden]] * likelihood).sum(1))
