"""The compiled loops over pairs of workers who share a task: Σ_i n_i² steps, memory for the pairs that occur.

All take annotations sorted by (task, worker), one per task and worker, every task with a known true class; and each
worker's mistakes as sparse rows: the wrong labels of worker r in class a, with how often each was given, are
``mistake_*[row_start[r * C + a] : row_start[r * C + a + 1]]``.
"""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["cell_coincidences", "count_partners", "fill_pairs"]

_compiled = numba.njit(nogil=True, cache=True, boundscheck=False)


@_compiled
def cell_coincidences(
    task_start: IntArray,
    worker: IntArray,
    true: IntArray,
    label: IntArray,
    row_start: IntArray,
    row_size: IntArray,
    mistake_label: IntArray,
    mistake_count: IntArray,
    observed: FloatArray,
    expected: FloatArray,
) -> None:
    """Add pairs of workers with the same mistake on a task to ``observed`` (C, C), those by chance to ``expected``."""
    n_classes = len(observed)
    seen, chance = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(len(task_start) - 1):
        for j in range(task_start[i], task_start[i + 1]):
            a, b = true[j], label[j]
            if a != b:
                observed[a, b] += seen[b]
                seen[b] += 1
            row = worker[j] * n_classes + a
            for k in range(row_start[row], row_start[row + 1]):
                share = mistake_count[k] / row_size[row]
                expected[a, mistake_label[k]] += chance[mistake_label[k]] * share
                chance[mistake_label[k]] += share
        for j in range(task_start[i], task_start[i + 1]):
            seen[label[j]] = 0
            row = worker[j] * n_classes + true[j]
            for k in range(row_start[row], row_start[row + 1]):
                chance[mistake_label[k]] = 0


@_compiled
def count_partners(
    task_start: IntArray, task: IntArray, worker: IntArray, by_worker: IntArray, worker_start: IntArray
) -> IntArray:
    """(n_workers,) how many workers of a higher number share a task with each worker."""
    n_workers = len(worker_start) - 1
    last = np.full(n_workers, -1, np.int64)
    partners = np.zeros(n_workers, np.int64)
    for r in range(n_workers):
        for p in range(worker_start[r], worker_start[r + 1]):
            j = by_worker[p]
            for k in range(j + 1, task_start[task[j] + 1]):
                if last[worker[k]] != r:
                    last[worker[k]] = r
                    partners[r] += 1
    return partners


@_compiled
def fill_pairs(
    first: int,
    last: int,
    task_start: IntArray,
    task: IntArray,
    worker: IntArray,
    true: IntArray,
    label: IntArray,
    by_worker: IntArray,
    worker_start: IntArray,
    row_start: IntArray,
    row_size: IntArray,
    mistake_label: IntArray,
    mistake_count: IntArray,
    mistake_ratio: FloatArray,
    pair_start: IntArray,
    partner: IntArray,
    counts: IntArray,
    moments: FloatArray,
) -> None:
    """Fill ``partner`` (n_pairs,), ``counts`` (n_pairs, 3) and ``moments`` (n_pairs, 4) of the workers ``first:last``.

    ``by_worker`` lists the annotations by (worker, true class), worker r's pairs begin at ``pair_start[r]``.
    Counts: both labelled, both wrong, wrong alike. Moments: first three cumulants of the last, and its mean with each
    cell weighted by ``mistake_ratio``.
    """
    n_workers = len(worker_start) - 1
    n_classes = len(row_size) // n_workers
    count = np.zeros((n_workers, 3), np.int64)
    moment = np.zeros((n_workers, 4))
    shared = np.zeros(n_workers, np.int64)  # tasks of the class in hand
    met, met_here = np.empty(n_workers, np.int64), np.empty(n_workers, np.int64)
    for r in range(first, last):
        n_met, p = 0, worker_start[r]
        while p < worker_start[r + 1]:
            a, n_here = true[by_worker[p]], 0
            while p < worker_start[r + 1] and true[by_worker[p]] == a:
                j = by_worker[p]
                for k in range(j + 1, task_start[task[j] + 1]):
                    s = worker[k]
                    if count[s, 0] == 0:
                        met[n_met] = s
                        n_met += 1
                    if shared[s] == 0:
                        met_here[n_here] = s
                        n_here += 1
                    shared[s] += 1
                    count[s, 0] += 1
                    if label[j] != a and label[k] != a:
                        count[s, 1] += 1
                        if label[j] == label[k]:
                            count[s, 2] += 1
                p += 1
            for q in range(n_here):
                s = met_here[q]
                mine, other = r * n_classes + a, s * n_classes + a
                _add_moments(
                    shared[s], mine, other, row_start, row_size, mistake_label, mistake_count, mistake_ratio, moment[s]
                )
                shared[s] = 0
        met[:n_met].sort()
        for q in range(n_met):
            s, to = met[q], pair_start[r] + q
            partner[to] = s
            counts[to] = count[s]
            moments[to] = moment[s]
            count[s] = 0
            moment[s] = 0


@_compiled
def _add_moments(
    m: int,
    mine: int,
    other: int,
    row_start: IntArray,
    row_size: IntArray,
    mistake_label: IntArray,
    mistake_count: IntArray,
    mistake_ratio: FloatArray,
    moment: FloatArray,
) -> None:
    """Add the exact cumulants of "wrong alike" among m shared tasks when both rows' labels are dealt out at random.

    The factorial moments of order J are ``(m)_J / ((n)_J (k)_J) * J! [y^J] Π_b Σ_j (n_b)_j (k_b)_j y^j / j!``.
    """
    c1 = c2 = c3 = weighted = 0.0
    x, y = row_start[mine], row_start[other]
    while x < row_start[mine + 1] and y < row_start[other + 1]:
        if mistake_label[x] < mistake_label[y]:
            x += 1
        elif mistake_label[x] > mistake_label[y]:
            y += 1
        else:
            u, v = float(mistake_count[x]), float(mistake_count[y])
            g1 = u * v
            g2 = g1 * (u - 1) * (v - 1) / 2
            g3 = g2 * (u - 2) * (v - 2) / 3
            c3 += c2 * g1 + c1 * g2 + g3
            c2 += c1 * g1 + g2
            c1 += g1
            weighted += g1 * mistake_ratio[x]
            x += 1
            y += 1
    if c1 == 0:
        return
    n, k = float(row_size[mine]), float(row_size[other])
    scale = m / (n * k)
    f1 = scale * c1
    f2 = f3 = 0.0
    if m > 1:
        scale2 = scale * (m - 1) / ((n - 1) * (k - 1))
        f2 = scale2 * 2 * c2
        if m > 2:
            f3 = scale2 * (m - 2) / ((n - 2) * (k - 2)) * 6 * c3
    moment[0] += f1
    moment[1] += f2 + f1 - f1 * f1
    moment[2] += f3 + 3 * f2 + f1 - 3 * (f2 + f1) * f1 + 2 * f1**3
    moment[3] += scale * weighted
