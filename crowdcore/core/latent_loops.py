"""Compiled loops over tasks whose true class and type are latent, and pairs of workers who share them.

``tasks``: annotations sorted by task, as ``task_start``, ``worker``, ``label``; ``judges`` (n_workers,), whether a
worker's labels are evidence on tasks; and ``candidate_start``, ``candidate``: the classes that each task may have,
those of its labels, ascending, and C for any other one. ``model``: ``right`` (n_workers, C + 1, D), the
chance of a right label at each difficulty; ``share`` (n_workers, C + 1, C), of each wrong label among the worker's;
``class_share`` (C,), the share of tasks of each class; ``prior`` (D, 2), of each difficulty without and with a foil;
``slope`` (D,); and ``alone``.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from crowdcore.core.compiled import compiled, compiled_unchecked
from crowdcore.core.types import BoolArray, FloatArray, IntArray

Tasks = tuple[IntArray, IntArray, IntArray, BoolArray, IntArray, IntArray]
Model = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
_LEAST = 1e-6  # chance of a class of a task that moves the sums
_UNSEEN = 1e-30  # least share of tasks of any other class
_IN_ONE = 16  # labels whose chances, of at least 1e-10, are multiplied before they are scaled
_SHOWN, _RAREST = 0.06, 0.001  # chance of an equal label that n labels can show: _SHOWN / n; and of any class


@compiled_unchecked
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


@compiled_unchecked
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
    share the rest by their shares of tasks.
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


@compiled_unchecked
def likelihood(
    i: int, j: int, k: int, tasks: Tasks, model: Model, own: FloatArray, foil: FloatArray, steered: FloatArray
) -> float:
    """The likelihood of the judges' labels of task i but for the annotations j and k, per class that it may have.

    Fills, with one row per candidate: ``own`` (n, D), at each difficulty, times the class's share, up to a factor of
    all; ``foil`` (n, C), how much the labels support each foil; ``steered`` (4, n), its sum, the factor of a foil, the
    factor of no foil, and how much they support a foil that nobody gave. Returns the logarithm of
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


@compiled_unchecked
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


@compiled_unchecked
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


@compiled
def fill_pairs(
    first: int,
    last: int,
    one: IntArray,
    other: IntArray,
    by_worker: IntArray,
    worker_start: IntArray,
    task: IntArray,
    tasks: Tasks,
    model: Model,
    counts: IntArray,
    moments: FloatArray,
) -> None:
    """Fill ``counts`` (n_pairs, 3) and ``moments`` (n_pairs, 5) of the pairs ``first:last`` of workers.

    Counts: tasks that both labelled, with equal labels, and with equal labels other than the class that the judges
    hold most probable. Moments: the means of the last two; the excess of concordance, its variance and third cumulant.
    """
    (_, _, label, _, candidate_start, candidate), (right, share, _, _, _, _) = tasks, model
    n_classes, n_levels = share.shape[2], right.shape[2]
    own, foil = np.empty((n_classes + 1, n_levels)), np.empty((n_classes + 1, n_classes))
    steered, chance = np.empty((4, n_classes + 1)), np.empty((4, n_classes + 1))
    for q in range(first, last):
        x, y = worker_start[one[q]], worker_start[other[q]]
        x_end, y_end = worker_start[one[q] + 1], worker_start[other[q] + 1]
        least = max(_SHOWN / min(x_end - x, y_end - y), _RAREST / n_classes)
        while x < x_end and y < y_end:
            j, k = by_worker[x], by_worker[y]
            x, y = x + (task[j] <= task[k]), y + (task[k] <= task[j])
            if task[j] != task[k]:
                continue
            classes = candidate[candidate_start[task[j]] : candidate_start[task[j] + 1]]
            likelihood(task[j], j, k, tasks, model, own, foil, steered)
            for c in range(len(classes)):
                for m in range(4):
                    chance[m, c] = 0.0
            for c in range(len(classes)):
                _equal_labels(one[q], other[q], c, classes, model, own[c], foil[c], steered[:, c], chance)
            _add_copying(label[j], label[k], classes, n_classes, least, chance, counts[q], moments[q])


@compiled
def _equal_labels(
    r: int,
    s: int,
    c: int,
    classes: IntArray,
    model: Model,
    own: FloatArray,
    foil: FloatArray,
    steered: FloatArray,
    chance: FloatArray,
) -> None:
    """Add the chances of the labels of r and s if the task is of the c-th class.

    ``chance`` (4, n): of each label from both, from r, and from s, the last one for all classes without a label of the
    task; and of each class.
    """
    right, share, _, prior, _, alone = model
    n, n_classes, z = len(classes), share.shape[2], classes[c]
    taken, (toward, factor, none, unseen) = 1 - alone, steered
    plain_both = plain_r = plain_s = foiled_both = foiled_r = foiled_s = 0.0  # both are wrong, r is, s is
    for d in range(len(own)):
        p, q = right[r, z, d], right[s, z, d]
        here, misled = own[d] * prior[d, 0] * none, own[d] * prior[d, 1] * factor
        every = here + misled * toward
        chance[0, c] += every * p * q
        chance[1, c] += every * p
        chance[2, c] += every * q
        chance[3, c] += every
        plain_both += here * (1 - p) * (1 - q)
        plain_r += here * (1 - p)
        plain_s += here * (1 - q)
        foiled_both += misled * (1 - p) * (1 - q)
        foiled_r += misled * (1 - p)
        foiled_s += misled * (1 - q)
    rest_r = rest_s = 1.0
    n_rest = float(n_classes)
    for c_b in range(n):
        b = classes[c_b]
        n_rest -= b < n_classes
        if b in (z, n_classes):
            continue
        u, v, own_r, own_s = share[r, z, b], share[s, z, b], alone * share[r, z, b], alone * share[s, z, b]
        toward_b = foil[b]
        both = toward * own_r * own_s + toward_b * ((taken + own_r) * (taken + own_s) - own_r * own_s)
        chance[0, c_b] += plain_both * u * v + foiled_both * both
        chance[1, c_b] += plain_r * u + foiled_r * (toward * own_r + toward_b * taken)
        chance[2, c_b] += plain_s * v + foiled_s * (toward * own_s + toward_b * taken)
        rest_r, rest_s = rest_r - u, rest_s - v
    n_rest -= z == n_classes
    if n_rest > 0:  # wrong labels that nobody gave, each as likely
        u, v = max(rest_r, 0.0) / n_rest, max(rest_s, 0.0) / n_rest
        own_r, own_s = alone * u, alone * v
        both = toward * own_r * own_s + unseen * ((taken + own_r) * (taken + own_s) - own_r * own_s)
        chance[0, n - 1] += n_rest * (plain_both * u * v + foiled_both * both)
        chance[1, n - 1] += n_rest * (plain_r * u + foiled_r * (toward * own_r + unseen * taken))
        chance[2, n - 1] += n_rest * (plain_s * v + foiled_s * (toward * own_s + unseen * taken))


@compiled
def _add_copying(
    mine: int,
    theirs: int,
    classes: IntArray,
    n_classes: int,
    least: float,
    chance: FloatArray,
    counts: IntArray,
    moments: FloatArray,
) -> None:
    """Add the log likelihood ratio of copying half of the labels, less its mean, its cumulants, and the counts."""
    total, likely, n = 1e-300, 0, len(classes)
    for c_b in range(n):
        total += chance[3, c_b]
        if chance[3, c_b] > chance[3, likely]:
            likely = c_b
    unequal = log(0.5)
    mean, rest, observed = 0.0, 1.0, unequal
    for c_b in range(n):
        n_such = 1 if c_b < n - 1 else n_classes - n + 1  # the last one stands for all classes without a label
        both = max(chance[0, c_b] / total, least * n_such, 1e-300)
        ratio = log(0.5 + 0.5 * sqrt(max(chance[1, c_b] * chance[2, c_b] / total**2, both**2)) / both)
        chance[0, c_b], chance[1, c_b] = both, ratio
        rest -= both
        mean += both * ratio
        moments[0] += both
        if c_b != likely:
            moments[1] += both
        if mine == theirs == classes[c_b]:
            observed = ratio
    rest = max(rest, 0.0)
    mean += rest * unequal
    moments[2] += observed - mean
    for power in (2, 3):
        moments[1 + power] += rest * (unequal - mean) ** power
        for c_b in range(n):
            moments[1 + power] += chance[0, c_b] * (chance[1, c_b] - mean) ** power
    counts[0] += 1
    counts[1] += mine == theirs
    counts[2] += mine == theirs and mine != classes[likely]
