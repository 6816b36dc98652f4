"""Confusions of workers who gave few labels: drawn to what the crowd and their own accuracy suggest."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from crowdcore.core.types import FloatArray

_RIGHT, _WRONG = 0.6, 0.1  # pseudo-labels of the whole crowd per class: no row of its confusion is empty or certain
_OF_WORKER = 2.0  # labels by which a worker's accuracy is drawn to the crowd's


def pooled_confusion(counts: FloatArray, strength: float) -> FloatArray:
    """``π^r[c, l] ∝ n_rcl + κ m^r[c, l]``, row sums over the given label l.

    The mean ``m^r`` has the crowd's mistakes at the worker's level: with a and a_c the crowd's accuracy, overall and
    on class c, and a_r the worker's, ``logit m^r[c, c] = logit a_c + logit a_r - logit a``; the rest of the row
    follows the crowd's mistakes on class c.

    Args:
        counts: (n_workers, given, true) expected counts.
        strength: κ, labels.

    Returns:
        (n_workers, given, true), sums over ``given`` are 1.
    """
    n_classes = counts.shape[1]
    each = np.arange(n_classes)
    crowd = counts.sum(0) + _WRONG + (_RIGHT - _WRONG) * np.eye(n_classes)
    crowd /= crowd.sum(0)
    of_class = np.clip(crowd.diagonal(), 0.01, 0.99)
    right, total = counts.trace(axis1=1, axis2=2), counts.sum((1, 2))
    overall = np.clip(right.sum() / max(total.sum(), 1), 0.01, 0.99)
    of_worker = (right + _OF_WORKER * overall) / (total + _OF_WORKER)
    level = expit(logit(of_class) + logit(np.clip(of_worker, 0.01, 0.99))[:, None] - logit(overall))
    mistakes = crowd.copy()
    mistakes[each, each] = 0.0
    mistakes /= np.maximum(mistakes.sum(0), 1e-12)
    mean = (1 - level)[:, None, :] * mistakes
    mean[:, each, each] = level
    confusion = counts + strength * mean
    confusion /= confusion.sum(1, keepdims=True)
    return np.asarray(confusion)
