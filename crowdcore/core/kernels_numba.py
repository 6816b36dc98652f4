"""The compiled loops behind `kernels` and `em_step`, run without the interpreter lock; Numba keeps them on disk."""

from __future__ import annotations

import math

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)


@_compiled
def votes(task: IntArray, label: IntArray, counts: FloatArray) -> None:
    """Add the annotations to ``counts`` (n_tasks, C)."""
    for j in range(len(task)):
        counts[task[j], label[j]] += 1.0


@_compiled
def winners_range(first: int, last: int, posterior: FloatArray, labels: IntArray) -> None:
    """Write the first largest column of each row in ``first:last``."""
    for i in range(first, last):
        best = 0
        for c in range(1, posterior.shape[1]):
            if posterior[i, c] > posterior[i, best]:
                best = c
        labels[i] = best


@_compiled
def confusions(task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, counts: FloatArray) -> None:
    """Add the annotations of tasks with a true class to ``counts`` (n_workers, true, given)."""
    for j in range(len(task)):
        true = truth[task[j]]
        if true >= 0:
            counts[worker[j], true, label[j]] += 1.0


@_compiled
def cell_counts_range(
    first: int, last: int, task_start: IntArray, cell: IntArray, posterior: FloatArray, counts: FloatArray
) -> None:
    """Add the posterior of each task in ``first:last`` to its annotations' rows of ``counts``; NaN adds nothing."""
    n_classes = posterior.shape[1]
    for i in range(first, last):
        if not math.isnan(posterior[i, 0]):
            for j in range(task_start[i], task_start[i + 1]):
                x = cell[j]
                for c in range(n_classes):
                    counts[x, c] += posterior[i, c]


@_compiled
def em_range(
    first: int,
    last: int,
    task_start: IntArray,
    cell: IntArray,
    known: IntArray,
    hard: bool,
    factor: FloatArray,
    log_factor: FloatArray,
    prior: FloatArray,
    log_prior: FloatArray,
    longest: int,
    posterior: FloatArray,
    counts: FloatArray,
    classes: FloatArray,
) -> float:
    """One EM pass over the tasks ``first:last``; see `crowdcore.core.em.em_step`.

    Tasks with at most ``longest`` labels multiply rows of ``factor``, which cannot underflow then; longer ones add
    rows of ``log_factor``. The log-likelihood is the logarithm of a running product, taken when it gets small.

    Returns:
        The log-likelihood of these tasks, relative to the scale of ``factor``'s rows.
    """
    n_classes = len(prior)
    q = np.empty(n_classes)
    mine = np.zeros(n_classes)
    likelihood, running = 0.0, 1.0
    for i in range(first, last):
        begin, end = task_start[i], task_start[i + 1]
        clamp = known[i]
        if begin == end and clamp < 0:
            for c in range(n_classes):
                posterior[i, c] = 0.0
            continue
        if end - begin <= longest:
            for c in range(n_classes):
                q[c] = prior[c]
            j = begin
            while j + 4 <= end:  # four rows at a time keep the running product in registers
                w, x, y, z = cell[j], cell[j + 1], cell[j + 2], cell[j + 3]
                for c in range(n_classes):
                    q[c] *= factor[w, c] * factor[x, c] * (factor[y, c] * factor[z, c])
                j += 4
            while j < end:
                x = cell[j]
                for c in range(n_classes):
                    q[c] *= factor[x, c]
                j += 1
        else:
            for c in range(n_classes):
                q[c] = log_prior[c]
            for j in range(begin, end):
                x = cell[j]
                for c in range(n_classes):
                    q[c] += log_factor[x, c]
            top = q.max() if clamp < 0 else q[clamp]
            likelihood += top
            for c in range(n_classes):
                q[c] = math.exp(q[c] - top)
        if clamp >= 0 or hard:
            best = clamp if clamp >= 0 else q.argmax()
            total = q[best]
            for c in range(n_classes):
                q[c] = 0.0
            q[best] = 1.0
        else:
            total = 0.0
            for c in range(n_classes):
                total += q[c]
            scale = 1.0 / total
            for c in range(n_classes):
                q[c] *= scale
        running *= total
        if running < 1e-100 or running > 1e100:
            likelihood += math.log(running)
            running = 1.0
        for c in range(n_classes):
            posterior[i, c] = q[c]
            mine[c] += q[c]
        for j in range(begin, end):
            x = cell[j]
            for c in range(n_classes):
                counts[x, c] += q[c]
    for c in range(n_classes):  # an assignment of arrays takes two seconds more to compile
        classes[c] = mine[c]
    return likelihood + math.log(running)
