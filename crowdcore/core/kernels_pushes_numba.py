"""The compiled loop that counts each worker's labels by believed class, beside the other workers' labels."""

from __future__ import annotations

import numba
import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_LEAST = 1e-6  # belief that counts


@numba.njit(nogil=True, cache=True, boundscheck=False)
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
