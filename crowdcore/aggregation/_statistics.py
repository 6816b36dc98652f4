"""Statistics of labels without gold: weighted votes, labels held out, and warnings about a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crowdcore.core.counts import cell_counts
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_AS_GOOD = 1e-3  # nats per annotation by which a restart may be behind the best
_DIFFERENT = 0.05  # share of the tasks on which it may differ
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
