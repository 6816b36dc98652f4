"""The compiled loops behind `kernels_glad`, over ranges of tasks, run without the interpreter lock."""

from __future__ import annotations

import math

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)


@_compiled
def _curvature(size: float, decay: float) -> float:
    """λ(x) of ``size`` = abs(x) and ``decay`` = exp(-abs(x))."""
    return 0.125 if size < 1e-4 else (1.0 - decay) / (1.0 + decay) / (4.0 * size)


@_compiled
def workers_range(
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
    """The tasks ``first:last`` of `kernels_glad.e_step`; adds to ``pull`` and ``weight``, returns the likelihood."""
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


@_compiled
def tasks_range(
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
    """The tasks ``first:last`` of `kernels_glad.task_sums`."""
    for i in range(first, last):
        linear[i], quadratic[i] = 0.0, 0.0
        for j in range(task_start[i], task_start[i + 1]):
            a = ability[worker[j]]
            size = abs(a * ease[i])
            linear[i] += a * (posterior[i, label[j]] - 0.5)
            quadratic[i] += _curvature(size, math.exp(-size)) * a * a
