"""One pass of EM for workers that are lines with noise: posterior of each task, sums of each worker."""

from __future__ import annotations

import numpy as np

from crowdcore.core.kernels import compiled
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

__all__ = ["KNOWN", "line_posterior"]

KNOWN = -1.0  # the variance that marks a task whose mean is known


def line_posterior(
    start: IntArray,
    task: IntArray,
    worker: IntArray,
    value: FloatArray,
    line: FloatArray,
    prior: tuple[float, float],
    mean: FloatArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """E-step of ``y = b + s t + noise of precision τ`` under ``t ~ N(μ, 1/τ0)``; `KNOWN` tasks keep their mean.

    Args:
        start: (n_tasks + 1,) task i's ratings are ``start[i]:start[i + 1]``.
        task, worker, value: (n_annotations,) aligned, ascending by task.
        line: (n_workers, 3) τ s², τ s and τ s b.
        prior: μ and τ0.
        mean, variance: (n_tasks,) overwritten.

    Returns:
        (n_tasks, 2) Σ τ s² and Σ τ s (y − b); (n_workers, 3) Σ m, Σ (m² + v) and Σ y m.
    """
    given = np.empty((len(mean), 2))
    n_workers = len(line)
    if compiled(len(value)):
        from crowdcore.core.kernels_ratings_numba import posterior_range

        parts = n_ranges(len(value), 3 * n_workers)
        sums = np.zeros((parts, n_workers, 3))

        def run(part: int, first: int, last: int) -> float:
            posterior_range(first, last, start, worker, value, line, prior, mean, variance, given, sums[part])
            return 0.0

        run_ranges(len(mean), parts, run)
        return given, np.asarray(sums.sum(0))
    of = line[worker]
    given[:, 0] = np.bincount(task, of[:, 0], len(mean))
    given[:, 1] = np.bincount(task, of[:, 1] * value - of[:, 2], len(mean))
    free = variance >= 0
    variance[free] = 1 / (prior[1] + given[free, 0])
    mean[free] = (prior[0] * prior[1] + given[free, 1]) * variance[free]
    square = mean**2 + np.maximum(variance, 0)
    each = mean[task], square[task], value * mean[task]
    return given, np.stack([np.bincount(worker, v, n_workers) for v in each], 1)
