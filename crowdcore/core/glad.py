"""E-step and sums of GLAD: compiled loops for large inputs, NumPy for small ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdcore.core.compiled import compiled, is_large
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
    if not is_large(len(crowd.task) * n_classes):
        return _small_e_step(crowd, ability, ease, log_prior, posterior)
    parts = n_ranges(len(crowd.task), 2 * crowd.n_workers)
    sums = np.zeros((2, parts, crowd.n_workers))

    def run(part: int, first: int, last: int) -> float:
        data = (crowd.task_start, crowd.worker, crowd.label, crowd.known, ability, ease, log_prior)
        return _e_step_range(first, last, *data, posterior, sums[0, part], sums[1, part])

    likelihood = sum(run_ranges(n_tasks, parts, run))
    pull, weight = sums.sum(1)
    return likelihood, pull, weight


def task_sums(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) ``Σ_r α_r (q_i(y) - ½)`` and (n_tasks,) ``Σ_r λ(α_r β_i) α_r²``."""
    n_tasks, n_classes = posterior.shape
    if not is_large(len(crowd.task) * n_classes):
        each = ability[crowd.worker]
        surplus = posterior[crowd.task, crowd.label] - 0.5
        bend = _curvatures(each * ease[crowd.task])
        return _summed(crowd.task, each * surplus, n_tasks), _summed(crowd.task, bend * each**2, n_tasks)
    linear, quadratic = np.empty(n_tasks), np.empty(n_tasks)

    def run(_part: int, first: int, last: int) -> None:
        data = (crowd.task_start, crowd.worker, crowd.label, ability, ease, posterior)
        _task_sums_range(first, last, *data, linear, quadratic)

    run_ranges(n_tasks, n_ranges(len(crowd.task), 1), run)
    return linear, quadratic


def _small_e_step(
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
    weight = _summed(crowd.worker, 2 * _curvatures(x) * each**2, crowd.n_workers)
    return float(likelihood[evident].sum() - wrong.sum()), pull, weight


def _summed(index: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(index, values, n), np.float64)


def _curvatures(x: FloatArray) -> FloatArray:
    """λ(x) = tanh(x/2)/4x, 1/8 at 0."""
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.125, np.tanh(safe / 2) / (4 * safe))


@compiled
def _curvature(size: float, decay: float) -> float:
    """λ(x) of ``size`` = abs(x) and ``decay`` = exp(-abs(x))."""
    return 0.125 if size < 1e-4 else (1.0 - decay) / (1.0 + decay) / (4.0 * size)


@compiled
def _e_step_range(
    first: int,
    last: int,
    task_start: IntArray,
    worker: IntArray,
    label: IntArray,
    known: IntArray,
    ability: FloatArray,
    ease: FloatArray,
    log_prior: FloatArray,
    posterior: FloatArray,
    pull: FloatArray,
    weight: FloatArray,
) -> float:
    """The tasks ``first:last`` of `e_step`; adds to ``pull`` and ``weight``, returns the likelihood."""
    n_classes = len(log_prior)
    log_rest = math.log(n_classes - 1)
    bend = np.empty((task_start[first + 1 : last + 1] - task_start[first:last]).max() if last > first else 0)
    likelihood, running = 0.0, 1.0
    for i in range(first, last):
        begin, end, clamp = task_start[i], task_start[i + 1], known[i]
        q = posterior[i]
        if begin == end and clamp < 0:
            q[:] = 0.0
            continue
        for c in range(len(q)):
            q[c] = log_prior[c]
        for j in range(begin, end):
            x = ability[worker[j]] * ease[i]
            size = abs(x)
            decay = math.exp(-size)
            q[label[j]] += x + log_rest
            likelihood -= max(x, 0.0) + log_rest
            running *= 1.0 + decay
            if running > 1e200:
                likelihood -= math.log(running)
                running = 1.0
            bend[j - begin] = _curvature(size, decay)
        if clamp >= 0:
            likelihood += q[clamp]
            q[:] = 0.0
            q[clamp] = 1.0
        else:
            top = q.max()
            total = 0.0
            for c in range(n_classes):
                q[c] = math.exp(q[c] - top)
                total += q[c]
            likelihood += top + math.log(total)
            for c in range(n_classes):
                q[c] /= total
        for j in range(begin, end):
            r = worker[j]
            pull[r] += ease[i] * (q[label[j]] - 0.5)
            weight[r] += 2.0 * bend[j - begin] * ease[i] * ease[i]
    return likelihood - math.log(running)


@compiled
def _task_sums_range(
    first: int,
    last: int,
    task_start: IntArray,
    worker: IntArray,
    label: IntArray,
    ability: FloatArray,
    ease: FloatArray,
    posterior: FloatArray,
    linear: FloatArray,
    quadratic: FloatArray,
) -> None:
    """The tasks ``first:last`` of `task_sums`."""
    for i in range(first, last):
        linear[i], quadratic[i] = 0.0, 0.0
        for j in range(task_start[i], task_start[i + 1]):
            a = ability[worker[j]]
            size = abs(a * ease[i])
            linear[i] += a * (posterior[i, label[j]] - 0.5)
            quadratic[i] += _curvature(size, math.exp(-size)) * a * a
