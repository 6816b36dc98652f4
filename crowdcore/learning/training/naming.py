"""Match latent classes to labels: the likelihood of the labels is the same under any renaming of the classes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from crowdcore.core.types import AnyArray, FloatArray, IntArray


def match_names(probabilities: FloatArray, gold: IntArray) -> IntArray:
    """The latent class behind each name, by the Hungarian method.

    Maximises ``Σ_i p_i(latent class of gold_i)``; classes that gold does not hold keep their place where they can.

    Args:
        probabilities: (S, n, C) of latent classes.
        gold: (n,) true class, -1 = unknown.

    Returns:
        (S, C) int64: entry ``[s, c]`` is the latent class of replica s that is class c.
    """
    n_classes = probabilities.shape[-1]
    weight = np.eye(n_classes)[gold[gold >= 0]]
    table = np.einsum("nc,snk->sck", weight, probabilities[:, gold >= 0].astype(np.float64))
    return np.stack([linear_sum_assignment(t + 1e-6 * np.eye(n_classes), maximize=True)[1] for t in table])


def named_by_others(probabilities: FloatArray, gold: IntArray) -> FloatArray:
    """The probabilities of each task under the names that the gold of all other tasks gives the classes.

    Args:
        probabilities: (n, C) of latent classes.
        gold: (n,) true class.

    Returns:
        (n, C).
    """
    known = np.where(np.eye(len(gold), dtype=bool), -1, gold)
    return np.stack(
        [p[match_names(probabilities[None], rest)[0]] for p, rest in zip(probabilities, known, strict=True)]
    )


def renamed(values: AnyArray, order: IntArray, axis: int) -> AnyArray:
    """(S, ...) values with the classes along ``axis`` (counted from the end) in the order (S, C)."""
    shape = [1] * values.ndim
    shape[0], shape[axis] = order.shape
    return np.asarray(np.take_along_axis(values, order.reshape(shape), axis))


def as_trained(values: AnyArray, order: IntArray, axis: int) -> AnyArray:
    """The inverse of `renamed`."""
    return renamed(values, np.argsort(order, 1), axis)
