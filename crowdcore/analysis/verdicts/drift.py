"""Workers who become worse over time, where annotations carry a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import kolmogorov

from crowdcore.analysis.evaluation.paired_tests import holm
from crowdcore.analysis.verdicts.peers import Peers
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

__all__ = ["TIME", "Drift", "change_points", "drift", "times"]

TIME = "timestamp"
"""The column of `CrowdDataset.extra` that says when a label was given."""
_LEAST = 20  # labels below which a worker is not tested


@dataclass(frozen=True, eq=False)
class Drift:
    """The most probable change of each worker's accuracy; arrays (n_workers,), NaN and -1 where it is not tested.

    Attributes:
        p_value: of as large a change by chance, both directions.
        adjusted: after Holm over the workers tested.
        at: labels before the change.
        before: mean belief in the worker's labels up to there, relative to the other workers on the same tasks.
        after: the same from there on.
    """

    p_value: FloatArray
    adjusted: FloatArray
    at: IntArray
    before: FloatArray
    after: FloatArray


def times(dataset: CrowdDataset) -> FloatArray | None:
    """(n_annotations,) when each label was given, in seconds or as written; None without times."""
    if dataset.extra is None or TIME not in dataset.extra:
        return None
    column = dataset.extra[TIME]
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(np.float64)
    read = pd.to_datetime(column.astype("str"), utc=True, errors="coerce", format="ISO8601")
    seconds = (read - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(np.float64)
    return None if np.isnan(seconds).all() else seconds


def drift(dataset: CrowdDataset, peers: Peers) -> Drift | None:
    """Test each worker's accuracy for one change in time; None without times.

    ``e_j`` is the belief in a worker's j-th label less the mean belief in the other workers' labels on the same
    task, so that hard tasks that come late are nobody's fault. With S_t the partial sums of ``e_j - mean(e)`` and s
    its deviation, ``max_t |S_t| / (s √n)`` follows Kolmogorov's distribution as n grows if nothing changes, and stays
    below it for finite n.
    """
    moment = times(dataset)
    if moment is None:
        return None
    n_workers = dataset.n_workers
    when = moment[peers.row]
    belief = peers.judge[np.arange(len(peers.label)), peers.label]
    known = ~np.isnan(belief)
    filled = np.where(known, belief, 0.0)
    others = np.bincount(peers.task, known, dataset.n_tasks)[peers.task] - known
    total = np.bincount(peers.task, filled, dataset.n_tasks)[peers.task] - filled
    kept = np.flatnonzero(known & (others > 0) & ~np.isnan(when))
    e = filled[kept] - total[kept] / others[kept]
    return change_points(e, peers.worker[kept], when[kept], n_workers)


def change_points(value: FloatArray, worker: IntArray, when: FloatArray, n_workers: int) -> Drift:
    """Test the mean of each worker's values (E,), in the order of time, for one change; see `drift`."""
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
    np.maximum.at(largest, worker, np.abs(sums))
    tested = (n >= _LEAST) & (deviation > 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(tested, kolmogorov(largest / (deviation * np.sqrt(n))), np.nan)
    place = np.arange(len(e)) - start[worker]
    at = np.full(n_workers, -1)
    peak = np.flatnonzero(np.abs(sums) >= largest[worker])[::-1]
    at[worker[peak]] = place[peak] + 1
    early = place < at[worker]

    def mean_of(some: FloatArray) -> FloatArray:
        weight = np.bincount(worker, some, n_workers)
        found = np.full(n_workers, np.nan)
        return np.asarray(
            np.divide(np.bincount(worker, e * some, n_workers), weight, out=found, where=tested & (weight > 0))
        )

    before, after = mean_of(early.astype(np.float64)), mean_of((~early).astype(np.float64))
    return Drift(p_value, holm(p_value), np.where(tested, at, -1), before, after)
