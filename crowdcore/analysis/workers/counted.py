"""Confusions of workers from labels counted against uncertain classes: their values, and intervals."""

from __future__ import annotations

import numpy as np

from crowdcore.analysis.statistics import check_share
from crowdcore.analysis.workers.confusion import beta_ends
from crowdcore.core.types import FloatArray

_PROBABLY_NONE = np.log(2)  # expected labels below which there is none in most draws of the true classes


def confusion_of_counts(counts: FloatArray, strength: float = 0.5) -> FloatArray:
    """Confusions from counts, each row drawn by ``strength`` labels to what the crowd makes a worker so able do.

    ``π^r_c ∝ n^r_c + m π̄^r_c``: π̄^r_c is the crowd's row c with the odds of a right label times those of worker r
    relative to the crowd's on the same classes. No pseudo-count is uniform: a worker's rows without labels are the
    crowd's, at the worker's skill, and rows that nobody labelled are unknown.

    Args:
        counts: (n_workers, C, C) expected labels, row = true class.
        strength: m, in labels.

    Returns:
        (n_workers, C, C), rows sum to 1; NaN for workers without labels, and for classes that no one was shown.

    Examples:
        >>> counts = np.array([[[9.0, 1.0], [0.0, 0.0]], [[5.0, 5.0], [3.0, 7.0]]])
        >>> confusion_of_counts(counts).round(2)[0]  # the first worker is better than the crowd
        array([[0.9 , 0.1 ],
               [0.12, 0.88]])
    """
    rows = counts + strength * rows_of_crowd(counts)
    known = (counts.sum((1, 2)) > 0)[:, None, None] & (counts.sum((0, 2)) > 0)[:, None]
    return np.where(known, rows / np.maximum(rows.sum(2, keepdims=True), 1e-300), np.nan)


def rows_of_crowd(counts: FloatArray) -> FloatArray:
    """(n_workers, C, C) the crowd's rows at each worker's odds of a right label; even where nobody labelled a class.

    The odds are those of all labels of the worker, beside one label as the crowd gives it.
    """
    n = counts.shape[2]
    pooled = counts.sum(0)
    crowd = np.where(pooled.any(1, keepdims=True), pooled / np.maximum(pooled.sum(1, keepdims=True), 1e-300), 1 / n)
    right = np.diagonal(crowd)
    mean = pooled.trace() / max(float(pooled.sum()), 1e-300)
    hits, labels = np.einsum("rcc->r", counts) + mean, counts.sum((1, 2)) + 1
    usual = counts.sum(2) @ right + mean
    odds = (hits * (labels - usual) / np.maximum((labels - hits) * usual, 1e-12))[:, None]
    able = right * odds / np.maximum(right * odds + 1 - right, 1e-12)
    rows = crowd * ((1 - able) / np.maximum(1 - right, 1e-12))[..., None]
    rows[:, np.arange(n), np.arange(n)] = able
    return np.asarray(rows)


def count_interval(counts: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed intervals of the entries of confusions that were counted against uncertain classes.

    Of Beta(n + 1/2, rest of the row + 1/2) as in `credible_intervals`; it begins at 0 where the label was probably
    never given to the class, and ends at 1 where it was probably the only one (fewer than log 2 expected labels).

    Args:
        counts: (n_workers, C, C) expected labels, row = true class.
        level: between 0 and 1.

    Returns:
        Lower and upper ends, NaN for workers without labels.
    """
    check_share(level=level)
    known = counts.sum((-1, -2), keepdims=True) > 0
    low, high = (np.where(known, end, np.nan) for end in beta_ends(counts, level, 0.5, _PROBABLY_NONE))
    return low, high
