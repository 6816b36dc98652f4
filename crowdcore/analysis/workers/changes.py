"""One change in each worker's values over time, such as the time that answers take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import kolmogorov

from crowdcore.analysis.statistics import divide, holm
from crowdcore.core.types import FloatArray, IntArray

BREAK_MINUTES = 30.0
"""A longer gap between a worker's labels begins a new session."""
_LEAST = 20  # labels below which a worker is not tested
_STEP = 0.583  # deviations by which a walk in steps passes a limit on average (Siegmund 1985)


@dataclass(frozen=True, eq=False)
class Changes:
    """The most probable change of each worker's mean; arrays (n_workers,), NaN and -1 where it is not tested.

    Attributes:
        p_value: of as large a change by chance.
        adjusted: after Holm over the workers tested.
        at: labels before the change.
        before, after: the worker's mean before and after it.
    """

    p_value: FloatArray
    adjusted: FloatArray
    at: IntArray
    before: FloatArray
    after: FloatArray


def change_points(value: FloatArray, worker: IntArray, when: FloatArray, n_workers: int) -> Changes:
    """Test the mean of each worker's values (E,), in the order of time, for one change.

    With S_t the partial sums of ``e_j - mean(e)`` and s their deviation, ``x = (max_t |S_t| / s + 0.583) / √n`` follows
    Kolmogorov's distribution if nothing changes. The 0.583 is what a walk in n steps stays below the continuous one.
    Values of one session may go together: s² is multiplied by `_clustering`.
    """
    order = np.lexsort((when, worker))
    worker, e = worker[order], value[order]
    n = np.bincount(worker, minlength=n_workers)
    start = np.cumsum(n) - n
    mean = np.bincount(worker, e, n_workers) / np.maximum(n, 1)
    centred = e - mean[worker]
    deviation = np.sqrt(np.bincount(worker, centred**2, n_workers) / np.maximum(n, 1))
    sums = np.cumsum(centred)
    sums -= np.where(start > 0, sums[start - 1], 0.0)[worker] if len(sums) else 0.0
    largest = np.zeros(n_workers)
    sums = np.abs(sums)
    np.maximum.at(largest, worker, sums)
    tested = (n >= _LEAST) & (deviation > 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (largest / deviation + _STEP) / np.sqrt(
            n * _clustering(centred / deviation[worker], worker, when[order], n)
        )
    p_value = np.where(tested, kolmogorov(x), np.nan)
    place = np.arange(len(e)) - start[worker]
    at = np.full(n_workers, -1)
    peak = np.flatnonzero(sums >= largest[worker])[::-1]
    at[worker[peak]] = place[peak] + 1
    early = place < at[worker]

    def mean_of(some: FloatArray) -> FloatArray:
        weight = np.bincount(worker, some, n_workers)
        return divide(np.bincount(worker, e * some, n_workers), np.where(tested, weight, 0))

    before, after = mean_of(early.astype(np.float64)), mean_of((~early).astype(np.float64))
    return Changes(p_value, holm(p_value), np.where(tested, at, -1), before, after)


def _clustering(value: FloatArray, worker: IntArray, when: FloatArray, n: IntArray) -> FloatArray:
    """(n_workers,) ``1 + (m − 1) ρ``: the factor by which sessions raise the variance of sums of a worker's values.

    ρ is the correlation of values of one session, from the analysis of variance over all *other* workers, so that a
    worker's own fall at a break does not excuse itself; m is the mean size of a value's session (1 where there is only
    one). Values are standardised per worker, by worker and time.
    """
    value = np.nan_to_num(value)
    first = (np.diff(worker, prepend=-1) != 0) | (np.diff(when, prepend=-np.inf) > 60 * BREAK_MINUTES)
    session = np.cumsum(first) - 1
    size, of = np.bincount(session), worker[first]
    sessions = np.bincount(of, minlength=len(n))
    squares = np.bincount(of, size**2, len(n)) / np.maximum(n, 1)
    between = np.bincount(of, np.bincount(session, value) ** 2 / np.maximum(size, 1), len(n))
    free, within = np.maximum(sessions - 1, 0), np.maximum(n - sessions, 0)
    rest = np.bincount(worker, value**2, len(n)) - between
    alone = free.sum() - free == 0  # nobody else has two sessions

    def others(own: FloatArray | IntArray) -> FloatArray:
        return np.asarray(own.sum() - np.where(alone, 0, own), np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        by_session, inside, typical = (
            others(a) / others(b) for a, b in ((between, free), (rest, within), (n - squares, free))
        )
        rho = np.nan_to_num((by_session - inside) / (by_session + (typical - 1) * inside))
    return np.where(sessions > 1, 1 + (squares - 1) * np.maximum(rho, 0), 1.0)
