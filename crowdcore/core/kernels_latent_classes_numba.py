"""The compiled loops of `latent_classes`: tasks whose true class and type are latent.

``tasks``: annotations sorted by task, as ``task_start``, ``worker``, ``label``;
``judges`` (n_workers,), whose labels tell of tasks; and ``candidate_start``, ``candidate``: the classes that each task
may have, those of its labels, ascending, and C for any other one. ``model``: ``right`` (n_workers, C + 1, D), the
chance of a right label at each difficulty; ``share`` (n_workers, C + 1, C), of each wrong label among the worker's;
``class_share`` (C,), the share of tasks of each class; ``prior`` (D, 2), of each difficulty without and with a foil;
``slope`` (D,); and ``alone``.
"""

from __future__ import annotations

from math import log

import numba
import numpy as np

from crowdcore.core.types import BoolArray, FloatArray, IntArray

Tasks = tuple[IntArray, IntArray, IntArray, BoolArray, IntArray, IntArray]
Model = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
_compiled = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")
_LEAST = 1e-6  # chance of a class of a task that moves the sums
_UNSEEN = 1e-30  # least share of tasks of any other class
_IN_ONE = 16  # labels whose chances, of at least 1e-10, are multiplied before they are scaled


@_compiled
def fit_step(start: int, stop: int, tasks: Tasks, model: Model) -> Sums:
    """The E-step on the tasks ``start:stop``, and the sums of the M-step over all workers' labels.

    Returns the expected tasks of each type (D, 2) and class (C,); each worker's expected labels on tasks of each class
    and difficulty (n_workers, C, D), of the right ones the expected slopes (n_workers, C), and the expected labels of
    each true class (n_workers, C, C), without the wrong ones that a foil explains; the wrong labels on tasks with a
    foil that it does not explain and does (2,); and the log likelihood of the judges' labels.
    """
    (task_start, worker, label, _, candidate_start, candidate), (right, share, _, prior, slope, alone) = tasks, model
    n_workers, n_rows, n_levels = right.shape
    n_classes = n_rows - 1
    plain_prior, misled_prior = prior[:, 0].copy(), prior[:, 1].copy()
    plain_tasks, misled_tasks, with_foil = np.zeros((3, n_levels))
    n_class, n_misled, log_likelihood = np.zeros(n_classes), np.zeros(2), 0.0
    labels, right_slope = np.zeros((n_workers, n_classes, n_levels)), np.zeros((n_workers, n_classes))
    counts = np.zeros((n_workers, n_classes, n_classes))
    own, foil, steered = np.empty((n_rows, n_levels)), np.empty((n_rows, n_classes)), np.empty((4, n_rows))
    of_class = np.empty(n_rows)
    for i in range(start, stop):
        first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
        if n == 0:
            continue
        scale, total = likelihood(i, -1, -1, tasks, model, own, foil, steered), 1e-300
        for k in range(n):
            none, misled, of_class[k] = steered[2, k], steered[0, k] * steered[1, k], 0.0
            for d in range(n_levels):
                of_class[k] += own[k, d] * (plain_prior[d] * none + misled_prior[d] * misled)
            total += of_class[k]
        log_likelihood += scale + log(total)
        for k in range(n):
            if of_class[k] < _LEAST * total:
                continue
            z, foiled, mean_slope = candidate[first + k], 0.0, 0.0
            none, misled = steered[2, k] / total, steered[0, k] * steered[1, k] / total
            for d in range(n_levels):
                with_foil[d] = own[k, d] * misled_prior[d] * misled
                own[k, d] *= plain_prior[d] * none
                plain_tasks[d] += own[k, d]
                misled_tasks[d] += with_foil[d]
                own[k, d] += with_foil[d]
            if z == n_classes:
                continue
            for d in range(n_levels):
                foiled += with_foil[d]
                mean_slope += own[k, d] * slope[d]
            of_class[k] /= total
            n_class[z] += of_class[k]
            for j in range(task_start[i], task_start[i + 1]):
                r, b = worker[j], label[j]
                for d in range(n_levels):
                    labels[r, z, d] += own[k, d]
                counts[r, z, b] += of_class[k]
                if b == z:
                    right_slope[r, z] += mean_slope
                else:  # not the worker's own, as far as the task's foil explains it
                    taken = (1 - alone) / (1 - alone + alone * share[r, z, b])
                    of_foil = foiled * foil[k, b] / steered[0, k] * taken
                    counts[r, z, b] -= of_foil
                    n_misled[0] += foiled - of_foil
                    n_misled[1] += of_foil
    n_types = np.stack((plain_tasks, misled_tasks), 1)
    return n_types, n_class, labels, right_slope, counts, n_misled, log_likelihood


@_compiled
def fill_posterior(
    start: int,
    stop: int,
    tasks: Tasks,
    model: Model,
    crowd: FloatArray,
    posterior: FloatArray,
    difficulty: FloatArray,
    foils: IntArray,
) -> None:
    """Fill the rows ``start:stop`` of ``posterior`` (n_tasks, C), ``difficulty`` and ``foils`` (n_tasks,).

    The difficulty of a task is the expected share of wrong labels, of right ones being ``crowd`` (C + 1, D); its foil
    that of its most probable class, if more likely than none and all others, else untouched. Classes that nobody gave
    share what is left by their shares of tasks.
    """
    (_, _, _, _, candidate_start, candidate), (right, _, class_share, prior, _, _) = tasks, model
    _, n_rows, n_levels = right.shape
    n_classes = n_rows - 1
    own, foil, steered = np.empty((n_rows, n_levels)), np.empty((n_rows, n_classes)), np.empty((4, n_rows))
    of_class = np.empty(n_rows)
    for i in range(start, stop):
        first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
        if n == 0:
            continue
        likelihood(i, -1, -1, tasks, model, own, foil, steered)
        total, hit, likely, rest = 1e-300, 0.0, 0, 1e-300
        for k in range(n):
            z, of_class[k] = candidate[first + k], 0.0
            none, misled = steered[2, k], steered[0, k] * steered[1, k]
            for d in range(n_levels):
                chance = own[k, d] * (prior[d, 0] * none + prior[d, 1] * misled)
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

    Fills, with one row per candidate: ``own`` (n, D), at each difficulty, times the class's share, up to a factor of
    all; ``foil`` (n, C), how much the labels speak for each foil; ``steered`` (4, n), its sum, what a foil is to be
    multiplied by, the factor of no foil, and how much they speak for a foil that nobody gave. Returns the logarithm of
    the factor of all.
    """
    task_start, worker, label, judges, candidate_start, candidate = tasks
    right, share, class_share, _, _, alone = model
    n_classes, n_levels = share.shape[2], right.shape[2]
    first, n = candidate_start[i], candidate_start[i + 1] - candidate_start[i]
    rest, scale = 1.0, 0.0
    for c in range(n):
        z, weight = candidate[first + c], max(rest, _UNSEEN)
        if z < n_classes:
            weight = class_share[z]
            rest -= weight
        steered[0, c], steered[1, c], steered[2, c], steered[3, c] = n_classes - 1, 1 / max(n_classes - 1, 1), 1.0, 1.0
        for d in range(n_levels):
            own[c, d] = weight
        for b in range(n_classes):
            foil[c, b] = 1.0
    for begin in range(task_start[i], task_start[i + 1], _IN_ONE):
        end = min(begin + _IN_ONE, task_start[i + 1])
        for c in range(n):
            z = candidate[first + c]
            for m in range(begin, end):
                if not judges[worker[m]] or m in (j, k):
                    continue
                of, b = right[worker[m], z], label[m]
                if z == b:
                    for d in range(n_levels):
                        own[c, d] *= of[d]
                    continue
                mine, before = share[worker[m], z, b], foil[c, b]
                for d in range(n_levels):
                    own[c, d] *= (1 - of[d]) * mine
                foil[c, b] = before * ((1 - alone) / mine + alone) / alone
                steered[0, c] += foil[c, b] - before
                steered[1, c] *= alone
            if end < task_start[i + 1]:
                _scale_foils(c, own, foil, steered)
        if end < task_start[i + 1]:
            scale += _scale(own, n)
    return scale


@_compiled
def _scale_foils(c: int, own: FloatArray, foil: FloatArray, steered: FloatArray) -> None:
    """Let the largest of a candidate's foils be 1, and the larger of its factors with a foil and without."""
    most = steered[3, c]
    for b in range(foil.shape[1]):
        most = max(most, foil[c, b])
    for b in range(foil.shape[1]):
        foil[c, b] /= most
    steered[0, c] /= most
    steered[3, c] /= most
    steered[1, c] *= most
    most = max(steered[1, c], steered[2, c])
    steered[1, c] /= most
    steered[2, c] /= most
    for d in range(own.shape[1]):
        own[c, d] *= most


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
