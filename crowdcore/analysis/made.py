"""Which worker made which mistake at least once: surely (hard reference) or with what probability (soft)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdcore.analysis.reference import Reference
from crowdcore.core.kernels_mistakes import MistakeTriples
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

__all__ = ["Made", "hard_made", "soft_made"]


class Made(NamedTuple):
    """Sparse (cell, worker) pairs, and what lies behind each cell.

    Attributes:
        cell: (K,) int64 ``true * C + given``, ascending.
        worker: (K,) int64.
        chance: (K,) float64 probability that the worker gave that label to at least one such task; 1 when hard.
        tasks: (C, C) tasks behind each cell, expected number when soft.
        annotations: (C, C) annotations behind each cell, expected number when soft.
    """

    cell: IntArray
    worker: IntArray
    chance: FloatArray
    tasks: FloatArray
    annotations: FloatArray


def hard_made(found: MistakeTriples, n_classes: int) -> Made:
    """With one true class for each task."""
    n = n_classes
    tasks = np.zeros(n * n)
    tasks[found.cells] = found.tasks
    annotations = np.zeros(n * n)
    np.add.at(annotations, found.cell, found.times.astype(np.float64))
    return Made(found.cell, found.worker, np.ones(len(found.cell)), tasks.reshape(n, n), annotations.reshape(n, n))


def soft_made(dataset: CrowdDataset, reference: Reference) -> Made:
    """With a posterior q: the chance is ``1 - prod over tasks that got the label of (1 - q_i(a))``.

    A label that the worker gave twice to one task is one piece of evidence, not two: it counts once.
    """
    assert reference.posterior is not None
    n, posterior = dataset.n_classes, reference.posterior
    known = reference.known[dataset.task]
    task, worker, label = dataset.task[known], dataset.worker[known], dataset.label[known]
    group = worker.astype(np.int64) * n + label
    once = np.unique(group + task.astype(np.int64) * (n * dataset.n_workers), return_index=True)[1]
    groups, of_group = np.unique(group[once], return_inverse=True)
    per_task = np.unique(task.astype(np.int64) * n + label, return_index=True)[1]
    cells, workers, chances = [], [], []
    tasks, annotations = np.empty((n, n)), np.empty((n, n))
    for a in range(n):
        q = posterior[:, a]
        annotations[a] = np.bincount(label, weights=q[task], minlength=n)
        tasks[a] = np.bincount(label[per_task], weights=q[task[per_task]], minlength=n)
        with np.errstate(divide="ignore"):
            spared = np.log1p(-np.minimum(q, 1.0))[task[once]]
        chance = -np.expm1(np.bincount(of_group, weights=spared, minlength=len(groups)))
        some = np.flatnonzero(chance > 0)
        r, given = np.divmod(groups[some], n)
        by_label = np.argsort(given, kind="stable")
        cells.append(a * n + given[by_label])
        workers.append(r[by_label])
        chances.append(chance[some][by_label])
    return Made(np.concatenate(cells), np.concatenate(workers), np.concatenate(chances), tasks, annotations)
