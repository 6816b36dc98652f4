"""The compiled loops of pairs of workers on tasks whose true class and type are latent.

``tasks`` and ``model`` are those of `kernels_latent_classes_numba`, with one annotation per task and worker.
"""

from __future__ import annotations

from math import log, sqrt

import numba
import numpy as np

from crowdcore.core.kernels_latent_classes_numba import Model, Tasks, likelihood
from crowdcore.core.types import FloatArray, IntArray

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)
_SHOWN, _RAREST = 0.06, 0.001  # chance of an equal label that n labels can show: _SHOWN / n; and of any class


@_compiled
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


@_compiled
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
    """Add what the labels of r and s would be if the task were of the c-th class.

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


@_compiled
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
    """Add the log likelihood ratio of copying half of the labels, less its mean, and what else is counted."""
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
