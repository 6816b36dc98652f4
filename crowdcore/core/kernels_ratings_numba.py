"""The compiled loop behind `kernels_ratings`; Numba keeps it on disk."""

from __future__ import annotations

import numba

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["posterior_range"]


@numba.njit(nogil=True, cache=True, boundscheck=False)
def posterior_range(
    first: int,
    last: int,
    start: IntArray,
    worker: IntArray,
    value: FloatArray,
    line: FloatArray,
    prior: tuple[float, float],
    mean: FloatArray,
    variance: FloatArray,
    given: FloatArray,
    sums: FloatArray,
) -> None:
    """Tasks ``first:last``: write mean and variance, and add to each worker's ``sums`` (R, 3): m, m² + v, y m."""
    for i in range(first, last):
        weight, total = 0.0, 0.0
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            weight += line[r, 0]
            total += line[r, 1] * value[j] - line[r, 2]
        given[i, 0], given[i, 1] = weight, total
        if variance[i] >= 0.0:
            variance[i] = 1.0 / (prior[1] + weight)
            mean[i] = (prior[0] * prior[1] + total) * variance[i]
            square = mean[i] ** 2 + variance[i]
        else:
            square = mean[i] ** 2
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            sums[r, 0] += mean[i]
            sums[r, 1] += square
            sums[r, 2] += value[j] * mean[i]
