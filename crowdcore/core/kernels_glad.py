"""The sums over annotations behind GLAD: compiled loops for large inputs, NumPy for small ones."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import numpy as np

from crowdcore.core.kernels import compiled
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray


class Crowd(NamedTuple):
    """Annotations sorted by task.

    Attributes:
        task_start: (n_tasks + 1,) int64.
        task, worker, label: (n_annotations,) int32.
        known: (n_tasks,) int32 class of clamped tasks, -1 elsewhere.
        n_workers: R.
    """

    task_start: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    known: IntArray
    n_workers: int


def e_step(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, log_prior: FloatArray, posterior: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Posterior under α (n_workers,), β (n_tasks,) and log ρ (C,), and the sums that the abilities need.

    Args:
        posterior: (n_tasks, C), overwritten; zero rows for tasks without evidence.

    Returns:
        The log-likelihood; (n_workers,) ``Σ_i β_i (q_i(y) - ½)``; (n_workers,) ``2 Σ_i λ(α_r β_i) β_i²``.
    """
    n_tasks, n_classes = posterior.shape
    if not compiled(len(crowd.task) * n_classes):
        return _e_step(crowd, ability, ease, log_prior, posterior)
    loops = import_module("crowdcore.core.kernels_glad_numba")
    parts = n_ranges(len(crowd.task), 2 * crowd.n_workers)
    sums = np.zeros((2, parts, crowd.n_workers))

    def run(part: int, first: int, last: int) -> float:
        given = (crowd.task_start, crowd.worker, crowd.label, crowd.known, ability, ease, log_prior)
        return float(loops.workers_range(first, last, *given, posterior, sums[0, part], sums[1, part]))

    likelihood = sum(run_ranges(n_tasks, parts, run))
    pull, weight = sums.sum(1)
    return likelihood, pull, weight


def task_sums(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) ``Σ_r α_r (q_i(y) - ½)`` and (n_tasks,) ``Σ_r λ(α_r β_i) α_r²``."""
    n_tasks, n_classes = posterior.shape
    if not compiled(len(crowd.task) * n_classes):
        each = ability[crowd.worker]
        surplus = posterior[crowd.task, crowd.label] - 0.5
        bend = _curvature(each * ease[crowd.task])
        return _summed(crowd.task, each * surplus, n_tasks), _summed(crowd.task, bend * each**2, n_tasks)
    loops = import_module("crowdcore.core.kernels_glad_numba")
    linear, quadratic = np.empty(n_tasks), np.empty(n_tasks)

    def run(_part: int, first: int, last: int) -> None:
        given = (crowd.task_start, crowd.worker, crowd.label, ability, ease, posterior)
        loops.tasks_range(first, last, *given, linear, quadratic)

    run_ranges(n_tasks, n_ranges(len(crowd.task), 1), run)
    return linear, quadratic


def _e_step(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, log_prior: FloatArray, posterior: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    n_classes = posterior.shape[1]
    log_rest = np.log(n_classes - 1)
    each = ease[crowd.task]
    x = ability[crowd.worker] * each
    cell = crowd.task.astype(np.int64) * n_classes + crowd.label
    posterior[:] = np.bincount(cell, x + log_rest, posterior.size).reshape(posterior.shape)
    posterior += log_prior
    wrong = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))) + log_rest  # -log P(one given wrong label)
    clamped = np.flatnonzero(crowd.known >= 0)
    of_known = posterior[clamped, crowd.known[clamped]]
    top = posterior.max(1, keepdims=True)
    np.exp(posterior - top, out=posterior)
    total = posterior.sum(1, keepdims=True)
    posterior /= total
    likelihood = (top + np.log(total))[:, 0]
    likelihood[clamped] = of_known
    posterior[clamped] = 0.0
    posterior[clamped, crowd.known[clamped]] = 1.0
    evident = (np.diff(crowd.task_start) > 0) | (crowd.known >= 0)
    posterior[~evident] = 0.0
    pull = _summed(crowd.worker, each * (posterior.ravel()[cell] - 0.5), crowd.n_workers)
    weight = _summed(crowd.worker, 2 * _curvature(x) * each**2, crowd.n_workers)
    return float(likelihood[evident].sum() - wrong.sum()), pull, weight


def _summed(index: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(index, values, n), np.float64)


def _curvature(x: FloatArray) -> FloatArray:
    """λ(x) = tanh(x/2)/4x, 1/8 at 0."""
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.125, np.tanh(safe / 2) / (4 * safe))
