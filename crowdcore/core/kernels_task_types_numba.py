"""The compiled EM step that fits the types of tasks; annotations and rows as in `kernels_pairs_numba`."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["fit_step"]

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)
_MOST = 1e250  # of a product of hints


@_compiled
def fit_step(
    task_start: IntArray,
    row: IntArray,
    wrong: IntArray,
    label: IntArray,
    hint: FloatArray,
    right: FloatArray,
    prior: FloatArray,
    slope: FloatArray,
    alone: float,
    n_classes: int,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One EM step of `task_types`: expected tasks of each type (D, 2), each row's gradient and curvature (rows,).

    Fills ``level`` (n_tasks, D), the likelihood of each task's right and wrong labels up to a factor.
    """
    n_levels = right.shape[1]
    number = np.zeros((n_levels, 2))
    gradient, curvature = np.zeros(len(right)), np.zeros(len(right))
    foil, likelihood = np.ones(n_classes), np.empty(n_levels)
    for i in range(len(task_start) - 1):
        first, last = task_start[i], task_start[i + 1]
        level[i] = 0.0
        toward, foiled = float(n_classes - 1), 1.0 / max(n_classes - 1, 1)
        for j in range(first, last):
            for d in range(n_levels):
                level[i, d] += np.log(1 - right[row[j], d] if wrong[j] else right[row[j], d])
            if wrong[j]:
                before = foil[label[j]]
                foil[label[j]] = min(before * hint[j], _MOST)
                toward += foil[label[j]] - before
                foiled *= alone
        level[i] = np.exp(level[i] - level[i].max())
        foiled *= toward
        likelihood[:] = level[i] * (prior[:, 0] + prior[:, 1] * foiled)
        total = likelihood.sum()
        number[:, 0] += level[i] * prior[:, 0] / total
        number[:, 1] += level[i] * prior[:, 1] * foiled / total
        for j in range(first, last):
            foil[label[j]] = 1.0
            for d in range(n_levels):
                p, q = right[row[j], d], slope[d] * likelihood[d] / total
                gradient[row[j]] += q * (1 - wrong[j] - p)
                curvature[row[j]] += slope[d] * q * p * (1 - p)
    return number, gradient, curvature
