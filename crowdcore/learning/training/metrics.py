"""Metrics of predictions and recovered confusions, in NumPy float64; names of latent classes.

The likelihood of the labels is the same under any permutation of the classes, so names are matched with gold.
"""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import AnyArray, FloatArray, IntArray

_SMALLEST = 1e-12


def accuracy(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Share of tasks whose most probable class is the true one: (..., n, C), (n,) -> (...,); -1 does not count."""
    known = truth >= 0
    if not known.any():
        return np.full(probabilities.shape[:-2], np.nan)
    hit = probabilities[..., known, :].argmax(-1) == truth[known]
    return np.asarray(hit.mean(-1))


def class_accuracy(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """(..., C) accuracy among the tasks of each class; NaN for a class without tasks."""
    n_classes = probabilities.shape[-1]
    parts = [accuracy(probabilities, np.where(truth == c, c, -1)) for c in range(n_classes)]
    return np.stack(parts, -1)


def macro_f1(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """(...,) mean over classes of 2TP / (2TP + FP + FN); classes neither true nor predicted do not count."""
    known = truth >= 0
    given, true = probabilities[..., known, :].argmax(-1), truth[known]
    scores = []
    for c in range(probabilities.shape[-1]):
        predicted, actual = given == c, true == c
        total = predicted.sum(-1) + actual.sum()
        hits = 2.0 * (predicted & actual).sum(-1)
        scores.append(np.divide(hits, total, out=np.full(np.shape(total), np.nan), where=total > 0))
    return np.asarray(np.nanmean(np.stack(scores, -1), -1))


def negative_log_likelihood(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """(...,) mean of -log p(true class), nats; probabilities are cut at 1e-12."""
    known = np.flatnonzero(truth >= 0)
    picked = probabilities[..., known, truth[known]].astype(np.float64)
    return np.asarray(-np.log(np.maximum(picked, _SMALLEST)).mean(-1))


def calibration_error(probabilities: FloatArray, truth: IntArray, bins: int = 15) -> FloatArray:
    """(...,) expected calibration error: |accuracy - confidence| over equal bins of confidence, by share of tasks."""
    known = truth >= 0
    p = probabilities[..., known, :].astype(np.float64)
    confidence, hit = p.max(-1), p.argmax(-1) == truth[known]
    edge = np.minimum((confidence * bins).astype(int), bins - 1)
    error = np.zeros(p.shape[:-2])
    for b in range(bins):
        inside = edge == b
        error += np.abs(((hit - confidence) * inside).sum(-1)) / max(known.sum(), 1)
    return error


def recovery_error(true: FloatArray, estimate: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """``1/(R·C) Σ_r Σ_ab (π^r_ab - π̂^r_ab)²`` (Tanno, section 3.2), 0 to 2: (R, C, C), (..., R, C, C) -> (...,).

    Args:
        true: rows sum to 1.
        estimate: rows sum to 1; workers with NaN do not count.
        weight: (R,) e.g. annotations per worker; None = all workers alike.
    """
    per_worker = ((estimate - true) ** 2).sum(-1).mean(-1)
    w = np.broadcast_to(np.ones(len(true)) if weight is None else weight, per_worker.shape)
    seen = ~np.isnan(per_worker)
    return np.asarray((np.where(seen, per_worker, 0) * w).sum(-1) / np.maximum((w * seen).sum(-1), _SMALLEST))


def skill_correlation(true: FloatArray, estimate: FloatArray) -> FloatArray:
    """(...,) Pearson correlation over workers of the mean diagonals (Tanno Fig. 7)."""
    a = np.diagonal(true, axis1=-2, axis2=-1).mean(-1)
    b = np.diagonal(estimate, axis1=-2, axis2=-1).mean(-1)
    return _correlation(np.broadcast_to(a, b.shape), b)


def omega_correlation(true: FloatArray, estimate: FloatArray) -> FloatArray:
    """(...,) Pearson correlation over annotations of ω with its truth, (A,) and (..., A); NaN entries do not count."""
    return _correlation(np.broadcast_to(true, estimate.shape), estimate)


def _correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    seen = ~(np.isnan(a) | np.isnan(b))
    n = np.maximum(seen.sum(-1, keepdims=True), 1)
    a = np.where(seen, a - np.where(seen, a, 0).sum(-1, keepdims=True) / n, 0)
    b = np.where(seen, b - np.where(seen, b, 0).sum(-1, keepdims=True) / n, 0)
    scale = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    return np.asarray(np.divide((a * b).sum(-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0))


def match_names(probabilities: FloatArray, gold: IntArray) -> IntArray:
    """Match latent classes with the classes of gold, by the Hungarian method.

    Maximises ``Σ_i p_i(latent class of gold_i)``; classes that do not occur in gold keep their place if possible.

    Args:
        probabilities: (S, n, C) of latent classes.
        gold: (n,) true class, -1 = unknown.

    Returns:
        (S, C) int64: entry ``[s, c]`` is the latent class of replica s that is class c.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import: whoever reads results does without

    same = np.eye(probabilities.shape[-1])
    table = np.einsum("nc,snk->sck", same[gold[gold >= 0]], probabilities[:, gold >= 0].astype(np.float64))
    return np.stack([linear_sum_assignment(t + 1e-6 * same, maximize=True)[1] for t in table])


def match_names_without_task(probabilities: FloatArray, gold: IntArray) -> FloatArray:
    """(n, C) probabilities of latent classes, named by the true classes (n,) of all other tasks."""
    known = np.where(np.eye(len(gold), dtype=bool), -1, gold)
    return np.stack(
        [p[match_names(probabilities[None], rest)[0]] for p, rest in zip(probabilities, known, strict=True)]
    )


def reorder_classes(values: AnyArray, order: IntArray, axis: int) -> AnyArray:
    """(S, ...) values with the classes along ``axis`` (negative) in the order (S, C)."""
    shape = [1] * values.ndim
    shape[0], shape[axis] = order.shape
    return np.asarray(np.take_along_axis(values, order.reshape(shape), axis))


def restore_classes(values: AnyArray, order: IntArray, axis: int) -> AnyArray:
    """The inverse of `reorder_classes`."""
    return reorder_classes(values, np.argsort(order, 1), axis)
