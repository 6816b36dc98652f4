"""Effective confusion of each worker: the worker's own, or its mixture with the common one."""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


def effective_confusion(
    dataset: CrowdDataset,
    worker_confusion: FloatArray,
    common_confusion: FloatArray | None = None,
    omega: FloatArray | None = None,
    group: IntArray | None = None,
) -> FloatArray:
    """``ω̄^r π^g + (1 - ω̄^r) π^r`` with ω̄^r the mean of ω over the worker's annotations; without ω, π^r itself.

    Args:
        dataset: whose annotations ω belongs to.
        worker_confusion: (..., R, C, C), rows sum to 1.
        common_confusion: (..., C, C), or (..., G, C, C) with ``group``.
        omega: (..., n_annotations); NaN entries do not count.
        group: (..., R) group of each worker.

    Returns:
        (..., R, C, C) float64; NaN for workers without an ω.
    """
    own = np.asarray(worker_confusion, np.float64)
    if common_confusion is None or omega is None:
        return own
    shared = np.asarray(common_confusion, np.float64)
    if shared.ndim == own.ndim and group is not None:
        shared = np.take_along_axis(shared, np.asarray(group)[..., None, None].astype(np.int64), -3)
    else:
        shared = shared[..., None, :, :]
    lead = np.asarray(omega).shape[:-1]
    flat = np.asarray(omega, np.float64).reshape(-1, dataset.n_annotations)
    share = np.empty((len(flat), dataset.n_workers))
    for s, values in enumerate(flat):
        seen = ~np.isnan(values)
        n = np.bincount(dataset.worker[seen], minlength=dataset.n_workers)
        total = np.bincount(dataset.worker[seen], values[seen], minlength=dataset.n_workers)
        share[s] = np.divide(total, n, out=np.full(dataset.n_workers, np.nan), where=n > 0)
    mean = share.reshape(*lead, dataset.n_workers, 1, 1)
    return np.asarray(mean * shared + (1 - mean) * own)


def names_at_risk(dataset: CrowdDataset, effective: FloatArray) -> list[tuple[int, int]]:
    """Classes whose tasks would most often get another label; labels alone cannot name these.

    Args:
        dataset: how many annotations each worker gave.
        effective: (R, C, C), or (S, R, C, C) of which the mean over S counts; see `effective_confusion`.

    Returns:
        (class, most frequent label) of each class for which the two differ.
    """
    matrices = np.asarray(effective, np.float64).reshape(-1, *np.shape(effective)[-3:])
    weight = np.where(np.isnan(matrices).any((-2, -1)), 0.0, dataset.labels_per_worker.astype(np.float64))
    pooled = np.einsum("sr,srab->ab", weight, np.nan_to_num(matrices))
    return [(c, int(pooled[c].argmax())) for c in range(len(pooled)) if pooled[c].argmax() != c and pooled[c].any()]
