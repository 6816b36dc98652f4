"""Distances between workers' confusion matrices, with the number of labels behind each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import entr

from crowdcore.analysis.reference import ReferenceLike
from crowdcore.analysis.statistics import divide
from crowdcore.analysis.workers.confusion import WorkerConfusion, refuse_beyond, shrunken_confusion, worker_confusion
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

Distance = Literal["shrunken-mse", "mse", "shared-mse", "jensen-shannon"]
_BLOCK = 256  # workers compared with all others at a time


@dataclass(frozen=True, eq=False)
class WorkerDistance:
    """Distances between workers.

    Args:
        matrix: (n_workers, n_workers) float64, symmetric, zero diagonal; NaN where two workers share no evidenced
            row (never for "mse" and "shrunken-mse").
        overlap: (n_workers, n_workers) int, classes for which both workers have evidence.
        kind: which distance.
        worker_ids: (n_workers,) names.
        reference: what was taken for the truth.
    """

    matrix: FloatArray
    overlap: IntArray
    kind: Distance
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str

    def frame(self) -> pd.DataFrame:
        """One line per pair of workers: worker_a, worker_b, distance, shared_rows."""
        a, b = np.triu_indices(len(self.matrix), k=1)
        return pd.DataFrame(
            {
                "worker_a": self.worker_ids[a],
                "worker_b": self.worker_ids[b],
                "distance": self.matrix[a, b],
                "shared_rows": self.overlap[a, b],
            }
        )


def worker_distance(dataset: CrowdDataset, reference: ReferenceLike = "gold", kind: Distance = "mse") -> WorkerDistance:
    """Distances between the true confusions of every two workers; see `confusion_distance` for the kinds.

    Raises:
        DataError: no usable reference, or matrices too large.
        SettingError: no such kind.

    Examples:
        >>> import crowdcore as cc
        >>> distance = cc.analysis.worker_distance(cc.load_dataset("demo"), reference="gold", kind="mse")
        >>> distance.matrix.shape
        (40, 40)
        >>> worker = distance.matrix.mean(axis=0).argmax()
        >>> distance.worker_ids[worker]
        'w24'
    """
    _check(kind)
    return confusion_distance(worker_confusion(dataset, reference), kind)


def confusion_distance(confusion: WorkerConfusion, kind: Distance = "mse") -> WorkerDistance:
    """Distances between confusion matrices, estimated from annotations or learnt by a model.

    - ``"mse"`` (CCC, Fig. 3): D[r, s] = mean over the C x C entries of (π^r - π^s)², rows without evidence set to 0.
    - ``"shrunken-mse"``: the same mean of confusions shrunken to the crowd's (`shrunken_confusion`): far apart are
      workers whose labels show that they err differently, not those with few labels.
    - ``"shared-mse"``: the mean of the first kind over the rows for which both have evidence.
    - ``"jensen-shannon"``: Σ_a w_a JS(π^r[a], π^s[a]) / Σ_a w_a over those rows, with JS the Jensen-Shannon
      distance (root of the divergence in bits, so between 0 and 1) and w_a = n_a^r n_a^s / (n_a^r + n_a^s) from the
      annotations behind the two rows, the inverse of the variance of their difference.

    By all but ``"shrunken-mse"``, workers with few labels are far from everyone by chance alone: read those distances
    beside the evidence.

    Raises:
        DataError: the distances alone would be too large.
        SettingError: no such kind.
    """
    _check(kind)
    n_workers = len(confusion.matrices)
    refuse_beyond(3 * 8 * n_workers**2, f"Distances between {n_workers:,} workers", "Look at fewer workers.")
    evidence = confusion.evidence
    known = (evidence > 0).astype(np.float64)
    overlap = known.astype(np.float32) @ known.astype(np.float32).T  # exact up to 16 million classes
    rows = shrunken_confusion(confusion) if kind == "shrunken-mse" else np.nan_to_num(confusion.matrices)
    if kind == "jensen-shannon":
        matrix = _jensen_shannon(rows, evidence)
    else:
        matrix = _mean_squared(rows, overlap if kind == "shared-mse" else None, known)
    return WorkerDistance(
        matrix, overlap.astype(np.int32), kind, confusion.worker_ids, confusion.classes, confusion.reference
    )


def _check(kind: str) -> None:
    if kind not in get_args(Distance):
        raise SettingError("kind", f"be one of {', '.join(get_args(Distance))}", kind)


def _mean_squared(rows: FloatArray, overlap: FloatArray | None, known: FloatArray) -> FloatArray:
    """Mean (x - y)² over the entries of the rows both know (all rows without ``overlap``): ‖x‖² + ‖y‖² - 2 x·y."""
    n_workers, n_classes, _ = rows.shape
    flat = rows.reshape(n_workers, -1)
    out: FloatArray = flat @ flat.T
    lengths = (rows**2).sum((1, 2))
    shared = (rows**2).sum(2) @ known.T if overlap is not None else None  # length of r in the rows that s knows
    for start in range(0, n_workers, _BLOCK):
        block = slice(start, start + _BLOCK)
        both = lengths[block, None] + lengths if shared is None else shared[block] + shared[:, block].T
        squared = out[block]
        squared *= -2
        squared += both
        squared[squared <= 1e-13 * both] = 0  # what rounding leaves where the two are equal, negatives included
        if overlap is None:
            squared /= n_classes**2
        else:
            out[block] = divide(squared, n_classes * overlap[block])
    np.fill_diagonal(out, 0)
    return out


def _jensen_shannon(rows: FloatArray, evidence: FloatArray) -> FloatArray:
    """Weighted mean of the rows' distances, a block of workers against those from it on, one class at a time."""
    n_workers, n_classes, _ = rows.shape
    total, weight = np.zeros((n_workers, n_workers)), np.zeros((n_workers, n_workers))
    for a in range(n_classes):
        with_evidence = np.flatnonzero(evidence[:, a])
        half, n = rows[with_evidence, a] / 2, evidence[with_evidence, a]
        own, halves = entr(rows[with_evidence, a]).sum(1), entr(half).sum(1)
        for start in range(0, len(with_evidence), _BLOCK):
            block = slice(start, start + _BLOCK)
            middle = halves[block, None] + halves[start:]  # the entropy of (p + q) / 2 if p and q never met
            for b in np.flatnonzero(half[block].any(0)):
                left, right = np.flatnonzero(half[block, b]), np.flatnonzero(half[start:, b])
                p, q = half[block, b][left, None], half[start:, b][right]
                mixed = p + q
                middle[np.ix_(left, right)] -= mixed * np.log(mixed) + entr(p) + entr(q)
            divergence = (middle - (own[block, None] + own[start:]) / 2) / np.log(2)
            weights = n[block, None] * n[start:] / (n[block, None] + n[start:])
            cells = np.ix_(with_evidence[block], with_evidence[start:])
            total[cells] += weights * np.sqrt(np.where(divergence > 1e-15, divergence, 0))
            weight[cells] += weights
    out = np.triu(divide(total, weight), 1)
    out += out.T
    return out
