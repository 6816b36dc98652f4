"""The compiled EM step that fits the types of tasks; annotations and rows as in `kernels_pairs_numba`."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)
_MOST = 1e250  # of a product of hints
_IN_ONE = 16  # chances, of at least 1e-6, that are multiplied before they are scaled


@_compiled
def fit_step(
    start: int,
    stop: int,
    task_start: IntArray,
    row: IntArray,
    wrong: IntArray,
    label: IntArray,
    hint: FloatArray,
    chance: FloatArray,
    prior: FloatArray,
    slope: FloatArray,
    alone: float,
    n_classes: int,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The E-step of `task_types` on the tasks ``start:stop``.

    ``chance`` (2, n_rows, D) is that of a right and of a wrong label. Fills ``level`` (n_tasks, D), the likelihood of
    each task's right and wrong labels up to a factor. Returns the expected tasks of each type (D, 2); each row's
    expected labels at each difficulty (n_rows, D); and of its right labels the expected slopes (n_rows,).
    """
    n_rows, n_levels = chance.shape[1:]
    n_tasks = np.zeros((n_levels, 2))
    labels, right_slope = np.zeros((n_rows, n_levels)), np.zeros(n_rows)
    foil, likelihood, own = np.ones(n_classes), np.empty(n_levels), np.empty(n_levels)
    for i in range(start, stop):
        first, last = task_start[i], task_start[i + 1]
        for d in range(n_levels):
            own[d] = 1.0
        toward, foiled = float(n_classes - 1), 1.0 / max(n_classes - 1, 1)
        for j in range(first, last):
            of = chance[wrong[j], row[j]]
            for d in range(n_levels):
                own[d] *= of[d]
            if (j - first) % _IN_ONE == _IN_ONE - 1:
                largest = _largest(own)
                for d in range(n_levels):
                    own[d] /= largest
            if wrong[j]:
                before = foil[label[j]]
                foil[label[j]] = min(before * hint[j], _MOST)
                toward += foil[label[j]] - before
                foiled *= alone
        foiled *= toward
        scale, total, mean_slope = 1.0 / _largest(own), 0.0, 0.0
        for d in range(n_levels):
            own[d] *= scale
            level[i, d] = own[d]
            likelihood[d] = own[d] * (prior[d, 0] + prior[d, 1] * foiled)
        for d in range(n_levels):
            total += likelihood[d]
        scale = 1.0 / total
        for d in range(n_levels):
            likelihood[d] *= scale
            n_tasks[d, 0] += own[d] * scale
            n_tasks[d, 1] += own[d] * (scale * foiled)
        for d in range(n_levels):
            mean_slope += slope[d] * likelihood[d]
        for j in range(first, last):
            foil[label[j]] = 1.0
            if not wrong[j]:
                right_slope[row[j]] += mean_slope
            of = labels[row[j]]
            for d in range(n_levels):
                of[d] += likelihood[d]
    for d in range(n_levels):
        n_tasks[d, 0] *= prior[d, 0]
        n_tasks[d, 1] *= prior[d, 1]
    return n_tasks, labels, right_slope


@_compiled
def _largest(values: FloatArray) -> float:
    """As NumPy's, whose compiled form takes half a second to make."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    return float(largest)
