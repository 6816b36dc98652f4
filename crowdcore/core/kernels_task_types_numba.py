"""The compiled EM step that fits the types of tasks; annotations and rows as in `kernels_pairs_numba`."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)
_MOST = 1e250  # of a product of hints


@_compiled
def fit_step(
    start: int,
    stop: int,
    task_start: IntArray,
    row: IntArray,
    wrong: IntArray,
    label: IntArray,
    hint: FloatArray,
    log_chance: FloatArray,
    prior: FloatArray,
    slope: FloatArray,
    alone: float,
    n_classes: int,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The E-step of `task_types` on the tasks ``start:stop``.

    ``log_chance`` (2, n_rows, D) is the log chance of a right and of a wrong label. Fills ``level`` (n_tasks, D), the
    likelihood of each task's right and wrong labels up to a factor. Returns the expected tasks of each type (D, 2);
    each row's expected labels at each difficulty (n_rows, D); and of its right labels the expected slopes (n_rows,).
    """
    n_rows, n_levels = log_chance.shape[1:]
    number = np.zeros((n_levels, 2))
    labels, right_slope = np.zeros((n_rows, n_levels)), np.zeros(n_rows)
    foil, likelihood = np.ones(n_classes), np.empty(n_levels)
    for i in range(start, stop):
        first, last = task_start[i], task_start[i + 1]
        level[i] = 0.0
        toward, foiled = float(n_classes - 1), 1.0 / max(n_classes - 1, 1)
        for j in range(first, last):
            chance = log_chance[wrong[j], row[j]]
            for d in range(n_levels):
                level[i, d] += chance[d]
            if wrong[j]:
                before = foil[label[j]]
                foil[label[j]] = min(before * hint[j], _MOST)
                toward += foil[label[j]] - before
                foiled *= alone
        largest, total, mean_slope = level[i].max(), 0.0, 0.0
        foiled *= toward
        for d in range(n_levels):
            level[i, d] = np.exp(level[i, d] - largest)
            likelihood[d] = level[i, d] * (prior[d, 0] + prior[d, 1] * foiled)
            total += likelihood[d]
        for d in range(n_levels):
            number[d, 0] += level[i, d] * prior[d, 0] / total
            number[d, 1] += level[i, d] * prior[d, 1] * foiled / total
            likelihood[d] /= total
            mean_slope += slope[d] * likelihood[d]
        for j in range(first, last):
            foil[label[j]] = 1.0
            if not wrong[j]:
                right_slope[row[j]] += mean_slope
            expected = labels[row[j]]
            for d in range(n_levels):
                expected[d] += likelihood[d]
    return number, labels, right_slope
