"""The compiled loops of `latent_classes`: tasks whose true class and type are latent.

``tasks``: annotations sorted by task, as ``task_start``, ``worker``, ``label``;
``judges`` (n_workers,), whose labels tell of tasks; and ``candidate_start``, ``candidate``: the classes that each task
may have, those of its labels, ascending, and C for any other one. ``model``: ``right`` (n_workers, C + 1, D), the
chance of a right label at each difficulty; ``share`` (n_workers, C + 1, C), of each wrong label among the worker's;
``weight`` (n_candidates,), the share of tasks with each class; ``prior`` (D, 2), of each difficulty without and with a
foil; ``slope`` (D,); and ``alone``.
"""

from __future__ import annotations

from math import log

import numba
import numpy as np

from crowdcore.core.types import BoolArray, FloatArray, IntArray

Tasks = tuple[IntArray, IntArray, IntArray, BoolArray, IntArray, IntArray]
Model = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)
_MOST = 1e250  # of a product of hints
_LEAST = 1e-6  # chance of a class of a task that moves the sums
_IN_ONE = 16  # chances, of at least 1e-10, that are multiplied before they are scaled


@_compiled
def fit_step(
    start: int, stop: int, tasks: Tasks, model: Model
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """The E-step on the tasks ``start:stop``, and the sums of the M-step over all workers' labels.

    Returns the expected tasks of each type (D, 2) and class (C,), the slope and the curvature of the log likelihood in
    each worker's β (2, n_workers, C), the expected labels of each worker and true class (n_workers, C, C), without
    the wrong ones that a foil explains, the wrong labels on tasks with a foil that it does not explain and does (2,),
    and the log likelihood of the judges' labels.
    """
    (task_start, worker, label, _, candidate_start, candidate), (right, share, _, prior, slope, alone) = tasks, model
    n_workers, n_rows, n_levels = right.shape
    n_classes = n_rows - 1
    n_types, n_class, n_misled, log_likelihood = np.zeros((n_levels, 2)), np.zeros(n_classes), np.zeros(2), 0.0
    newton, counts = np.zeros((2, n_workers, n_classes)), np.zeros((n_workers, n_classes, n_classes))
    own, foil, steered = np.empty((n_rows, n_levels)), np.empty((n_rows, n_classes)), np.empty((2, n_rows))
    foiled, of_class, mean_slope, sloped = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows), np.empty_like(own)
    for i in range(start, stop):
        first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
        scale = likelihood(i, -1, -1, tasks, model, own, foil, steered)
        total = 1e-300
        for k in range(n):
            for d in range(n_levels):
                total += own[k, d] * (prior[d, 0] + prior[d, 1] * steered[0, k] * steered[1, k])
        if n:
            log_likelihood += scale + log(total)
        for k in range(n):
            z, seen = candidate[first + k], steered[0, k] * steered[1, k]
            foiled[k] = of_class[k] = mean_slope[k] = 0.0
            for d in range(n_levels):
                plain, misled = own[k, d] * prior[d, 0] / total, own[k, d] * prior[d, 1] * seen / total
                n_types[d, 0] += plain
                n_types[d, 1] += misled
                foiled[k] += misled
                of_class[k] += plain + misled
                sloped[k, d] = (plain + misled) * slope[d]
                mean_slope[k] += sloped[k, d]
            if z < n_classes:
                n_class[z] += of_class[k]
        for j in range(task_start[i], task_start[i + 1]):
            r = worker[j]
            for k in range(n):
                z = candidate[first + k]
                if z == n_classes or of_class[k] < _LEAST:
                    continue
                if z != label[j]:  # not the worker's own, as far as the task's foil explains it
                    taken = (1 - alone) / (1 - alone + alone * share[r, z, label[j]])
                    of_foil = foiled[k] * foil[k, label[j]] / steered[0, k] * taken
                    counts[r, z, label[j]] -= of_foil
                    n_misled[0] += foiled[k] - of_foil
                    n_misled[1] += of_foil
                counts[r, z, label[j]] += of_class[k]
                expected, curvature, chances = 0.0, 0.0, right[r, z]
                for d in range(n_levels):
                    expected += sloped[k, d] * chances[d]
                    curvature += sloped[k, d] * slope[d] * chances[d] * (1 - chances[d])
                newton[0, r, z] += mean_slope[k] * (z == label[j]) - expected
                newton[1, r, z] += curvature
    return n_types, n_class, newton, counts, n_misled, log_likelihood


@_compiled
def fill_posterior(
    start: int,
    stop: int,
    tasks: Tasks,
    model: Model,
    class_share: FloatArray,
    crowd: FloatArray,
    posterior: FloatArray,
    difficulty: FloatArray,
    foils: IntArray,
) -> None:
    """Fill the rows ``start:stop`` of ``posterior`` (n_tasks, C), ``difficulty`` and ``foils`` (n_tasks,).

    The difficulty of a task is the expected share of wrong labels, of right ones being ``crowd`` (C + 1, D); its foil
    that of its most probable class, if more likely than none and all others, else untouched. Classes that nobody gave
    share what is left by ``class_share`` (C,).
    """
    (_, _, _, _, candidate_start, candidate), (right, _, _, prior, _, _) = tasks, model
    _, n_rows, n_levels = right.shape
    n_classes = n_rows - 1
    own, foil, steered = np.empty((n_rows, n_levels)), np.empty((n_rows, n_classes)), np.empty((2, n_rows))
    of_class = np.empty(n_rows)
    for i in range(start, stop):
        first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
        if n == 0:
            continue
        likelihood(i, -1, -1, tasks, model, own, foil, steered)
        total, hit, likely, rest = 1e-300, 0.0, 0, 1e-300
        for k in range(n):
            z, of_class[k] = candidate[first + k], 0.0
            for d in range(n_levels):
                chance = own[k, d] * (prior[d, 0] + prior[d, 1] * steered[0, k] * steered[1, k])
                of_class[k] += chance
                hit += chance * crowd[z, d]
            total += of_class[k]
            likely = k if of_class[k] > of_class[likely] else likely
        difficulty[i] = 1 - hit / total
        for z in range(n_classes):
            posterior[i, z] = -1.0
        for k in range(n):
            if candidate[first + k] < n_classes:
                posterior[i, candidate[first + k]] = of_class[k] / total
        for z in range(n_classes):
            rest += class_share[z] * (posterior[i, z] < 0)
        for z in range(n_classes):
            if posterior[i, z] < 0:
                unseen = candidate[first + n - 1] == n_classes
                posterior[i, z] = of_class[n - 1] / total * class_share[z] / rest if unseen else 0.0
        misled = 0.0
        for d in range(n_levels):
            misled += own[likely, d] * prior[d, 1] * steered[1, likely]
        for b in range(n_classes):
            if b != candidate[first + likely] and misled * foil[likely, b] > 0.5 * of_class[likely]:
                foils[i] = b


@_compiled
def likelihood(
    i: int, j: int, k: int, tasks: Tasks, model: Model, own: FloatArray, foil: FloatArray, steered: FloatArray
) -> float:
    """The likelihood of the judges' labels of task i but for the annotations j and k, per class that it may have.

    Fills, with one row per candidate: ``own`` (n, D), at each difficulty without a foil, times the class's share, up to
    a factor of all; ``foil`` (n, C), how much the labels speak for each foil; ``steered`` (2, n), its sum, and the
    factor for a foil of which nothing speaks. Returns the logarithm of the factor of all.
    """
    task_start, worker, label, judges, candidate_start, candidate = tasks
    right, share, weight, _, _, alone = model
    n_classes, n_levels = share.shape[2], right.shape[2]
    first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
    for c in range(n):
        steered[0, c], steered[1, c] = n_classes - 1.0, 1.0 / max(n_classes - 1, 1)
        for d in range(n_levels):
            own[c, d] = weight[first + c]
        for b in range(n_classes):
            foil[c, b] = 1.0
    multiplied, scale = 0, 0.0
    for m in range(task_start[i], task_start[i + 1]):
        if not judges[worker[m]] or m in (j, k):
            continue
        for c in range(n):
            z = candidate[first + c]
            of = right[worker[m], z]
            if z == label[m]:
                for d in range(n_levels):
                    own[c, d] *= of[d]
                continue
            mine, before = share[worker[m], z, label[m]], foil[c, label[m]]
            for d in range(n_levels):
                own[c, d] *= (1 - of[d]) * mine
            foil[c, label[m]] = min(before * ((1 - alone) / mine + alone) / alone, _MOST)
            steered[0, c] += foil[c, label[m]] - before
            steered[1, c] *= alone
        multiplied += 1
        if multiplied % _IN_ONE == 0:
            scale += _scale(own, n)
    return scale + _scale(own, n)


@_compiled
def _scale(own: FloatArray, n: int) -> float:
    """Divide the first ``n`` rows by their largest value; its logarithm."""
    largest = 1e-300
    for c in range(n):
        for d in range(own.shape[1]):
            largest = max(largest, own[c, d])
    for c in range(n):
        for d in range(own.shape[1]):
            own[c, d] /= largest
    return log(largest)
