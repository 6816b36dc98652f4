"""Initial groups of workers: nearest of G workers that are far from each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

_PULL = 10.0
"""Pseudo-annotations that draw a worker's row to the crowd's, so that rare workers are not remote by chance."""


def first_groups(counts: FloatArray, n_groups: int, starts: int) -> Iterator[IntArray]:
    """Up to ``starts`` ways (n_workers,) to group workers by their counts (n_workers, C, C); no chance involved.

    Each begins at another of the workers farthest from the crowd, adds the one farthest from those chosen until
    there are G, and puts every worker with the nearest of them.
    """
    pooled = counts.sum(0) + 0.1
    rate = counts + _PULL * pooled / pooled.sum(1, keepdims=True)
    rate = (rate / rate.sum(2, keepdims=True)).reshape(len(counts), -1)
    remote = np.argsort(-_distance(rate, rate.mean(0)), kind="stable")
    for first in remote[:starts]:
        distance = [_distance(rate, rate[first])]
        while len(distance) < n_groups:
            distance.append(_distance(rate, rate[np.min(distance, axis=0).argmax()]))
        yield np.argmin(distance, axis=0)


def _distance(rate: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(((rate - other) ** 2).sum(1))
