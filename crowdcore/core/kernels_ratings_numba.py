"""The compiled loop behind `kernels_ratings`; Numba keeps it on disk."""

from __future__ import annotations

import math

import numba

from crowdcore.core.types import FloatArray, IntArray


@numba.njit(nogil=True, cache=True, boundscheck=False)
def posterior_range(
    first: int,
    last: int,
    start: IntArray,
    worker: IntArray,
    rating: FloatArray,
    centre: float,
    line: FloatArray,
    prior: tuple[float, float],
    mean: FloatArray,
    variance: FloatArray,
    sums: FloatArray,
) -> tuple[float, float, float, float]:
    """Tasks ``first:last`` of `line_posterior`; adds to each worker's ``sums`` (R, 3)."""
    likelihood, change, total_mean, total_square = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        if start[i] == start[i + 1]:
            continue
        weight, sloped = 0.0, 0.0
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            weight += line[r, 0]
            sloped += line[r, 1] * (rating[j] - centre) - line[r, 2]
        m, v = mean[i], 0.0
        if variance[i] >= 0.0:
            precision = prior[1] + weight
            v = 1.0 / precision
            m = (prior[0] * prior[1] + sloped) * v
            likelihood += m * m * precision - math.log(precision) - prior[1] * prior[0] ** 2
            change = max(change, abs(m - mean[i]))
            mean[i], variance[i] = m, v
        else:
            likelihood += 2.0 * m * sloped - weight * m * m - prior[1] * (m - prior[0]) ** 2
        square = m * m + v
        total_mean += m
        total_square += square
        for j in range(start[i], start[i + 1]):
            r = worker[j]
            sums[r, 0] += m
            sums[r, 1] += square
            sums[r, 2] += (rating[j] - centre) * m
    return likelihood, change, total_mean, total_square
