"""Errors of workers where no task's truth is known: what is left of ratings without their task and their worker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import cg

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset

_FEWEST = 3  # ratings of a task: of two, one residual is minus the other, whoever errs alike
_ROUNDS = 50
_POOLED = 3.0  # ratings with the mean variance that each worker has more


class Residuals(NamedTuple):
    """Residuals of independent workers, and what they make of each other.

    Args:
        chosen: (n,) places of the ratings of tasks that have three or more.
        error: (n,) ``e = y − b_r − m_i``: without the worker's bias and the mean m of all such ratings of the task.
        variance: (n_workers,) σ² of each worker's error, NaN for those without such ratings.
        part: (n,) 1 / k of the task, k its ratings.
        noise: (n,) variance ``Σ_r σ_r² / k²`` of the task's mean.
    """

    chosen: IntArray
    error: FloatArray
    variance: FloatArray
    part: FloatArray
    noise: FloatArray


def residuals(dataset: RatingDataset, chosen: IntArray) -> Residuals:
    """Ratings without task and worker effects (``y_ir = z_i + b_r + ε_ir``), and the variance of every ε_r.

    If all ε are independent, ``E e_ir² = σ_r² (1 − 2/k) + S/k²``, whatever z is, with ``S = Σ σ²`` of the task's
    workers: one linear equation per worker gives σ².

    Args:
        dataset: the ratings.
        chosen: places of at most one rating per worker and task.
    """
    count = np.bincount(dataset.task[chosen], minlength=dataset.n_tasks)
    chosen = chosen[count[dataset.task[chosen]] >= _FEWEST]
    task, worker, rating = dataset.task[chosen], dataset.worker[chosen], dataset.rating[chosen]
    k, n = (
        np.maximum(np.bincount(of, minlength=size), 1)
        for of, size in ((task, dataset.n_tasks), (worker, dataset.n_workers))
    )
    bias = np.zeros(dataset.n_workers)
    for _ in range(_ROUNDS):
        mean = np.bincount(task, rating - bias[worker], dataset.n_tasks) / k
        bias = np.bincount(worker, rating - mean[task], dataset.n_workers) / n
    error = rating - bias[worker] - mean[task]
    part = 1 / k[task]
    mask = scipy.sparse.csr_array((part, (task, worker)), shape=(dataset.n_tasks, dataset.n_workers))
    weight = np.bincount(worker, 1 - 2 * part, dataset.n_workers) + _POOLED
    common = (error**2).sum() / max((1 - part).sum(), 1)  # Σ E e² is Σ σ² (1 − 1/k), with one σ² for all
    total = np.bincount(worker, error**2, dataset.n_workers) + _POOLED * common
    variance, _ = cg(scipy.sparse.diags_array(weight, dtype=np.float64) + mask.T @ mask, total, rtol=1e-10)
    variance = np.where(np.bincount(worker, minlength=dataset.n_workers) > 0, np.maximum(variance, 0), np.nan)
    noise = np.bincount(task, variance[worker], dataset.n_tasks)[task] * part**2
    return Residuals(chosen, error, variance, part, noise)
