"""Compiled loops over the labels of each task: likelihoods and beliefs of its class.

Annotations are sorted by task, those of task i are ``task_start[i] : task_start[i + 1]``.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from crowdcore.core.compiled import compiled
from crowdcore.core.types import FloatArray, IntArray

_IN_ONE = 8  # chances that are multiplied before their logarithm is taken: none is below 1e-30
_LEAST = 1e-6  # belief that counts


@compiled
def add_up(task_start: IntArray, values: FloatArray, out: FloatArray) -> None:
    """Write into ``out`` (n_tasks, C) the sums of the values (A, C) of each task that has some."""
    for i in range(len(task_start) - 1):
        for j in range(task_start[i], task_start[i + 1]):
            for c in range(values.shape[1]):
                out[i, c] = values[j, c] if j == task_start[i] else out[i, c] + values[j, c]


@compiled
def equal_labels(
    task_start: IntArray, label: IntArray, log_confusion: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """(A, C) geometric mean of the confusions (A, C) over a task's equal labels; (A,) how many of them come before."""
    chance, earlier = np.empty_like(log_confusion), np.empty(len(label))
    given, first = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for i in range(len(task_start) - 1):
        start, stop = task_start[i], task_start[i + 1]
        for j in range(start, stop):
            b = label[j]
            if given[b] == 0:
                first[b] = j
                chance[j] = log_confusion[j]
            else:
                chance[first[b]] += log_confusion[j]
            earlier[j] = given[b]
            given[b] += 1
        for j in range(start, stop):
            b = label[j]
            if first[b] == j:
                for c in range(chance.shape[1]):
                    chance[j, c] = exp(chance[j, c] / given[b])
            else:
                chance[j] = chance[first[b]]
        for j in range(start, stop):
            given[label[j]] = 0
    return chance, earlier


@compiled
def log_urns(task_start: IntArray, chance: FloatArray, earlier: FloatArray, dependence: float, out: FloatArray) -> None:
    """Fill ``out`` (n_tasks, C), the log-likelihood of each task's labels ``Π_j (1 - η) chance_j + η earlier_j``."""
    product = np.ones(chance.shape[1])
    for i in range(len(task_start) - 1):
        start, stop = task_start[i], task_start[i + 1]
        if start < stop:
            out[i] = 0.0
        for j in range(start, stop):
            for c in range(len(product)):
                product[c] *= (1 - dependence) * chance[j, c] + dependence * earlier[j]
            if j + 1 == stop or (j - start) % _IN_ONE == _IN_ONE - 1:
                for c in range(len(product)):
                    out[i, c] += log(product[c])
                    product[c] = 1.0


@compiled
def judges(task_start: IntArray, score: FloatArray, own: FloatArray) -> FloatArray:
    """(A, C) beliefs by all labels of a task but one: softmax of ``score_i - own_j``, NaN for an only label."""
    out = np.empty_like(own)
    for i in range(len(task_start) - 1):
        alone = task_start[i + 1] - task_start[i] == 1
        for j in range(task_start[i], task_start[i + 1]):
            top, total = -np.inf, 0.0
            for c in range(out.shape[1]):
                out[j, c] = score[i, c] - own[j, c]
                top = max(top, out[j, c])
            for c in range(out.shape[1]):
                out[j, c] = np.nan if alone else exp(out[j, c] - top)
                total += out[j, c]
            for c in range(out.shape[1]):
                out[j, c] /= total
    return out


@compiled
def without_task(
    task_start: IntArray,
    worker: IntArray,
    label: IntArray,
    own: FloatArray,
    q: FloatArray,
    votes: FloatArray,
    counts: FloatArray,
    totals: FloatArray,
    crowd: FloatArray,
    crowd_totals: FloatArray,
    least: float,
    floor: float,
    shrinkage: float,
) -> FloatArray:
    """``own`` (A, C), the log confusions of the labels, if the label's task is taken out of all counts.

    Args:
        q: (n_tasks, C) share of each class that the task has added to the counts, for each of its labels.
        votes: (n_tasks, C).
        counts: (n_workers, C, C), row = true class; ``totals`` (n_workers, C) are its row sums.
        crowd: (C, C) counts of all workers; ``crowd_totals`` (C,) are its row sums.
        least: share of a task in a class up to which the class's row keeps the task.
        floor: pseudo-labels of each cell of the crowd's confusion.
        shrinkage: pseudo-labels by which a worker's row is drawn to the crowd's.
    """
    out, n_classes = own.copy(), len(crowd)
    for i in range(len(task_start) - 1):
        size = task_start[i + 1] - task_start[i]
        for a in range(n_classes):
            share = q[i, a]
            if not share > least:
                continue
            rest = crowd_totals[a] - share * size + floor * n_classes
            for j in range(task_start[i], task_start[i + 1]):
                r, b = worker[j], label[j]
                pooled = (crowd[a, b] - share * votes[i, b] + floor) / rest
                n, total = counts[r, a, b] - share + shrinkage * pooled, totals[r, a] - share + shrinkage
                out[j, a] = log(n / total)
    return out


@compiled
def expected_labels(
    task: IntArray, worker: IntArray, label: IntArray, judge: FloatArray, votes: FloatArray, n_workers: int
) -> tuple[FloatArray, FloatArray]:
    """Sums over the labels (P,), each weighed by its belief ``judge`` (P, C); NaN beliefs count nothing.

    Returns:
        (n_workers, C, C) labels b on tasks of class a; and the mean share of b among the others' labels on these tasks,
        by ``votes`` (n_tasks, C), 0 where nobody else labelled one.
    """
    n_classes = judge.shape[1]
    counts = np.zeros((n_workers, n_classes, n_classes))
    shares = np.zeros((n_workers, n_classes, n_classes))
    seen = np.zeros((n_workers, n_classes))
    for j in range(len(task)):
        others = -1.0
        for b in range(n_classes):
            others += votes[task[j], b]
        for a in range(n_classes):
            weight = judge[j, a]
            if not weight > _LEAST:
                continue
            counts[worker[j], a, label[j]] += weight
            if others > 0:
                seen[worker[j], a] += weight
                for b in range(n_classes):
                    shares[worker[j], a, b] += weight * (votes[task[j], b] - (b == label[j])) / others
    for r in range(n_workers):
        for a in range(n_classes):
            for b in range(n_classes):
                shares[r, a, b] /= max(seen[r, a], 1e-9)
    return counts, shares


@compiled
def by_own_shares(worker: IntArray, judge: FloatArray, shares: FloatArray, shrinkage: float, rounds: int) -> FloatArray:
    """Beliefs ``judge`` (P, C) where the tasks of each worker have class shares of their own, estimated by EM.

    Args:
        worker: (P,) worker of the label that each belief judges; rows of NaN stay so.
        shares: (C,) class shares of all tasks.
        shrinkage: pseudo-labels by which a worker's shares are drawn to ``shares``.
        rounds: of EM.
    """
    n_classes, out = judge.shape[1], judge.copy()
    own = np.empty((worker.max() + 1, n_classes))
    for _ in range(rounds):
        own[:] = shrinkage * shares
        for j in range(len(worker)):
            for c in range(n_classes):
                if out[j, c] > 0:
                    own[worker[j], c] += out[j, c]
        own /= shares
        for j in range(len(worker)):
            total = 0.0
            for c in range(n_classes):
                out[j, c] = judge[j, c] * own[worker[j], c]
                total += out[j, c]
            for c in range(n_classes):
                out[j, c] /= max(total, 1e-300)
    return out
