"""Compiled loops over pairs of workers and the labels that they give to the same tasks.

``labels``: sorted by task, as ``task_start``, ``task``, ``worker``, ``label``, and by worker, as ``by_worker``
(positions, tasks ascending) and ``worker_start``.
"""

from __future__ import annotations

from math import log
from typing import TypeAlias

import numpy as np

from crowdcore.core.compiled import compiled
from crowdcore.core.types import FloatArray, IntArray

_IN_ONE = 8  # ratios that are multiplied before their logarithm is taken: none is above 1e6
_LEAST, _MOST = 1e-3, 1 - 1e-6  # chance of an equal label

Labels: TypeAlias = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]
Crowd: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float, float]


@compiled
def count_common(first: int, last: int, labels: Labels, least: int, out: IntArray) -> None:
    """Write into ``out`` (n_workers, 2) how many pairs with ``least`` common tasks a worker has with higher numbers.

    And how many common tasks these have together.
    """
    task_start, task, worker, _, by_worker, worker_start = labels
    common = np.zeros(len(worker_start) - 1, np.int64)
    for r in range(first, last):
        for p in range(worker_start[r], worker_start[r + 1]):
            i = task[by_worker[p]]
            for k in range(task_start[i], task_start[i + 1]):
                if worker[k] > r:
                    common[worker[k]] += 1
        for s in range(r + 1, len(common)):
            if common[s] >= least:
                out[r, 0] += 1
                out[r, 1] += common[s]
            common[s] = 0


@compiled
def fill_common(
    first: int,
    last: int,
    labels: Labels,
    least: int,
    pair: IntArray,
    start: IntArray,
    other: IntArray,
    begin: IntArray,
    agreed: IntArray,
    common: IntArray,
) -> None:
    """List the pairs that `count_common` counted, and the positions of their labels, pair after pair.

    Args:
        pair, start: (n_workers,) number of each worker's first pair, and of its first common task.
        other, begin, agreed: (n_pairs,) written: the higher worker, the first common task, equal labels.
        common: (n, 2) written: positions of both labels.
    """
    task_start, task, worker, label, by_worker, worker_start = labels
    n_workers = len(worker_start) - 1
    number, at = np.zeros(n_workers, np.int64), np.full(n_workers, -1, np.int64)
    for r in range(first, last):
        for p in range(worker_start[r], worker_start[r + 1]):
            i = task[by_worker[p]]
            for k in range(task_start[i], task_start[i + 1]):
                if worker[k] > r:
                    number[worker[k]] += 1
        q, position = pair[r], start[r]
        for s in range(r + 1, n_workers):
            at[s] = -1
            if number[s] >= least:
                other[q], begin[q], at[s] = s, position, q
                q, position = q + 1, position + number[s]
            number[s] = 0
        for p in range(worker_start[r], worker_start[r + 1]):
            j = by_worker[p]
            for k in range(task_start[task[j]], task_start[task[j] + 1]):
                s = worker[k]
                if s > r and at[s] >= 0:
                    to = begin[at[s]] + number[s]
                    common[to, 0], common[to, 1] = j, k
                    agreed[at[s]] += label[j] == label[k]
                    number[s] += 1
        for s in range(r + 1, n_workers):
            number[s] = 0


@compiled
def urn_likelihoods(
    labels: Labels, judge: FloatArray, own: FloatArray, votes: FloatArray, urns: FloatArray
) -> FloatArray:
    """Log likelihood of each label given the others of its task, for each size of the urn."""
    task, label = labels[1], labels[3]
    n_classes, log_likelihoods = votes.shape[1], np.zeros(len(urns))
    for j in range(len(task)):
        equal, others, known = votes[task[j], label[j]] - 1, -1.0, 0.0
        for c in range(n_classes):
            others += votes[task[j], c]
            known += judge[j, c]
        if not known > 0:
            continue
        for u in range(len(urns)):
            chance = 1e-12
            for c in range(n_classes):
                chance += judge[j, c] * (urns[u] * own[j, c] + equal)
            log_likelihoods[u] += log(chance / (urns[u] + others))
    return log_likelihoods


@compiled
def fill_chances(
    first: int,
    last: int,
    labels: Labels,
    one: IntArray,
    other: IntArray,
    begin: IntArray,
    common: IntArray,
    group: IntArray,
    known: IntArray,
    crowd: Crowd,
    chance: FloatArray,
    moments: FloatArray,
) -> None:
    """Write the chance that two labels are equal, by the others' labels, for the pairs ``first:last``.

    Args:
        one, other: (n_pairs,) workers; ``common[begin[q] : begin[q + 1]]`` are the positions of their labels.
        group: (n_workers,) those of one group are no others of each other's pairs; -1 for none.
        known: (n_tasks,) true classes, -1 where the others' labels tell.
        crowd: (P, C) belief in each label's task without the label, (P, C) chance of the label by its worker's
            confusion, (n_tasks, C) relative belief by all labels, (C,) by none, (n_workers, C, C) counts, (C, C) the
            crowd's confusion, pseudo-labels that draw to it, and the size of the urn.
        chance: (n, 2) written, for either label as the one that repeats.
        moments: (n_pairs, 2) written: equal labels to expect, and their variance.
    """
    task_start, task, worker, label, _, _ = labels
    judge, own, by_all, prior, counts, pooled, drawn, urn = crowd
    n = len(pooled)
    most = 0
    for q in range(first, last):
        most = max(most, begin[q + 1] - begin[q])
    belief, rows = np.empty((most, n)), np.empty((2, n, n))
    for q in range(first, last):
        apart = group[one[q]] >= 0 and group[one[q]] == group[other[q]]
        rows[0], rows[1] = counts[one[q]], counts[other[q]]
        for e in range(begin[q], begin[q + 1]):
            j, k = common[e]
            i, of = task[j], belief[e - begin[q]]
            if known[i] >= 0:
                for c in range(n):
                    of[c] = c == known[i]
                continue
            if apart:
                of[:] = prior
                for m in range(task_start[i], task_start[i + 1]):
                    if group[worker[m]] != group[one[q]]:
                        of *= own[m]
                        of /= of.max()
            else:
                for c in range(n):
                    of[c] = by_all[i, c] / (own[j, c] * own[k, c])
            of /= of.sum()
            for m, at in enumerate((j, k)):
                total = 0.0
                for c in range(n):
                    total += of[c] * own[at, c]
                for c in range(n):
                    rows[m, c, label[at]] += of[c] * own[at, c] / total - judge[at, c]
        for m in range(2):
            for c in range(n):
                total = drawn
                for b in range(n):
                    rows[m, c, b] = max(rows[m, c, b], 0.0)
                    total += rows[m, c, b]
                for b in range(n):
                    rows[m, c, b] = (rows[m, c, b] + drawn * pooled[c, b]) / total
        for e in range(begin[q], begin[q + 1]):
            j, k = common[e]
            i, of = task[j], belief[e - begin[q]]
            equal_j, equal_k, others = 1.0, 1.0, 0.0
            for m in range(task_start[i], task_start[i + 1]):
                if m in (j, k) or (apart and group[worker[m]] == group[one[q]]):
                    continue
                others += 1
                equal_j += label[m] == label[j]
                equal_k += label[m] == label[k]
            for m, b, equal in ((0, label[j], equal_j), (1, label[k], equal_k)):
                hit = total = 0.0
                for c in range(n):
                    weight = of[c] if known[i] >= 0 else of[c] * rows[m, c, b]
                    hit += weight * (urn * rows[1 - m, c, b] + equal)
                    total += weight
                p = min(max(hit / (total * (urn + others + 1)), _LEAST), _MOST)
                chance[e, m] = p
                moments[q, 0] += p / 2
                moments[q, 1] += p * (1 - p) / 2


@compiled
def fill_evidence(
    first: int,
    last: int,
    label: IntArray,
    begin: IntArray,
    common: IntArray,
    chance: FloatArray,
    copied: FloatArray,
    usual: float,
    out: FloatArray,
) -> None:
    """Write (n_shares, n_pairs) log likelihood ratios of copying these shares against ``usual``: pairs ``first:last``.

    Of equal labels the mean of both directions counts.
    """
    for f in range(len(copied)):
        share = copied[f]
        unequal = log((1 - share) / (1 - usual))
        for q in range(first, last):
            total, product, n = 0.0, 1.0, 0
            for e in range(begin[q], begin[q + 1]):
                if label[common[e, 0]] != label[common[e, 1]]:
                    total += unequal
                    continue
                for m in range(2):
                    p = chance[e, m]
                    product *= (share + (1 - share) * p) / (usual + (1 - usual) * p)
                n += 1
                if n % _IN_ONE == 0:
                    total += log(product) / 2
                    product = 1.0
            out[f, q] = total + log(product) / 2
