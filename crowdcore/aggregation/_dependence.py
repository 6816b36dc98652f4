"""How far the labels of a task depend on each other beyond the truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdcore.aggregation._pooling import pooled_confusion
from crowdcore.core.counts import cell_counts, cells
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.lookups import gather

_LIKELY = 6  # classes of a task that the expected agreement looks at
_CELLS = 1 << 20  # cells of confusions that it holds at once
_POOLING = 15.0  # labels by which a worker's confusion is drawn to the crowd's
_SIGNIFICANT = 3.0  # standard errors over tasks


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
    task, worker, label = (
        np.cumsum(chosen, dtype=np.int32)[dataset.task[some]] - 1,
        dataset.worker[some],
        dataset.label[some],
    )
    top = np.argsort(-q[chosen], axis=1, kind="stable")[:, :likely]
    rows = confusion[worker[:, None], top[task]]
    return beyond_independent(task, label, rows, np.take_along_axis(q[chosen], top, 1), n_classes)


def independent_share(dataset: CrowdDataset, eta: float) -> FloatArray:
    """(n_tasks,) ``1 / (1 + (m_i - 1) η)`` with m_i labels of a task."""
    labels = dataset.labels_per_task
    share = 1 / (1 + np.maximum(np.arange(labels.max(initial=0) + 1) - 1, 0) * eta)  # of each number of labels
    return np.asarray(share[labels], np.float64)
