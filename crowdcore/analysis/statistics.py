"""Statistics that several analyses share: votes, intervals, corrections for multiple tests, ranks, correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.special import bdtr, betaincinv

from crowdcore.core.counts import divide as divide, row_shares as row_shares, wilson_interval as wilson_interval
from crowdcore.core.errors import SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


def sparse_votes(dataset: CrowdDataset) -> scipy.sparse.csr_array:
    """(n_tasks, C) number of labels by task and class; stored entries are positive and in order of class."""
    ones = np.ones(dataset.n_annotations)
    shape = (dataset.n_tasks, dataset.n_classes)
    votes = scipy.sparse.csr_array((ones, dataset.label.copy(), dataset.task_start.copy()), shape=shape)
    votes.sum_duplicates()
    return votes


def majority_labels(votes: scipy.sparse.csr_array) -> IntArray:
    """(n_tasks,) the most frequent label, ties to the lowest class, -1 for tasks without labels."""
    size = np.diff(votes.indptr)
    labels = np.full(len(size), -1, np.int32)
    rows = np.flatnonzero(size)
    if len(rows):
        most = np.maximum.reduceat(votes.data, votes.indptr[rows])
        winners = np.flatnonzero(votes.data == np.repeat(most, size[rows]))
        task = np.repeat(rows, size[rows])[winners]
        first = np.r_[True, task[1:] != task[:-1]]
        labels[task[first]] = votes.indices[winners[first]]
    return labels


def tied_votes(votes: scipy.sparse.csr_array) -> BoolArray:
    """(n_tasks,) bool, whether several labels are the most frequent."""
    task = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    most = np.zeros(votes.shape[0])
    np.maximum.at(most, task, votes.data)
    return np.asarray(np.bincount(task[votes.data == most[task]], minlength=len(most)) > 1)


_BLOCK = 500_000  # (task, worker) pairs voted on at a time


@dataclass(frozen=True, eq=False)
class Others:
    """Leave-one-worker-out majority votes; P counts the distinct (task, worker) pairs.

    Attributes:
        majority: (n_tasks,) majority vote of everyone, ties to the lowest class, -1 without labels.
        task: (P,) ascending.
        worker: (P,) the worker whose labels on the task are left out.
        without: (P,) majority vote of the others, -1 where nobody else labelled the task.
        pair_of: (n_annotations,) the pair of each annotation.
    """

    majority: IntArray
    task: IntArray
    worker: IntArray
    without: IntArray
    pair_of: IntArray


def majority_of_others(dataset: CrowdDataset) -> Others:
    """Vote on each task without each of its workers in turn, in O(A log A) time and O(A) memory."""
    votes = sparse_votes(dataset)
    majority = majority_labels(votes)
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    pairs, pair_of = np.unique(key, return_inverse=True)
    task, worker = np.divmod(pairs, max(dataset.n_workers, 1))
    without = majority[task]
    support, runner_up = _two_best(votes, majority)
    own = np.bincount(pair_of, dataset.label == majority[dataset.task], minlength=len(pairs))
    # The winner changes only if it loses votes and the next best then reaches it.
    close = np.flatnonzero((own > 0) & (support[task] - own <= runner_up[task]))
    ones = np.ones(dataset.n_annotations)
    labels = scipy.sparse.csr_array((ones, (pair_of, dataset.label)), shape=(len(pairs), dataset.n_classes))
    for begin in range(0, len(close), _BLOCK):
        some = close[begin : begin + _BLOCK]
        without[some] = majority_labels((votes[task[some]] - labels[some]).tocsr())
    return Others(majority, task, worker, without, pair_of)


def _two_best(votes: scipy.sparse.csr_array, majority: IntArray) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) votes for the winner and for the next best label, 0 where there is none."""
    task = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    won = votes.indices == majority[task]
    support, runner_up = np.zeros((2, votes.shape[0]))
    support[task[won]] = votes.data[won]
    np.maximum.at(runner_up, task[~won], votes.data[~won])
    return support, runner_up


_MOST = 200_000_000  # weights held at once


def bootstrap_weights(sizes: IntArray, resamples: int, rng: np.random.Generator) -> FloatArray:
    """(n_kinds, B) float32 draws of each kind of unit, with replacement; columns sum to the number of units.

    ``sizes`` (n_kinds,) counts the units of each kind; more than `_MOST` weights are refused.
    """
    n = int(sizes.sum())
    if len(sizes) * resamples > _MOST:
        most = _MOST // len(sizes)
        raise SettingError("n_resamples", f"be at most {most} for {len(sizes)} units", resamples, "Ask for fewer.")
    drawn = rng.multinomial(n, sizes / n, size=resamples)
    return np.ascontiguousarray(drawn.T, np.float32)


def percentile_interval(samples: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Percentile interval over the last axis, without NaN samples; NaN where all are."""
    tail = 50 * (1 - level)
    undefined = np.isnan(samples)
    if not undefined.any():
        low, high = np.percentile(samples, [tail, 100 - tail], axis=-1)
        return low, high
    never = np.asarray(undefined.all(-1))
    filled = np.where(never[..., None], 0.0, samples)
    low, high = np.where(never, np.nan, np.nanpercentile(filled, [tail, 100 - tail], axis=-1))
    return low, high


def exact_interval(k: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's interval of a share with k successes of n; numbers need not be whole."""
    tail, rest = (1 - level) / 2, n - k
    low = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), rest + 1, tail), 0.0)
    return low, np.where(rest > 0, betaincinv(k + 1, np.maximum(rest, 1e-9), 1 - tail), 1.0)


def holm(p_value: FloatArray) -> FloatArray:
    """Holm's step-down adjusted p-values over the entries that are not NaN."""
    adjusted = np.full(p_value.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    steps = p_value[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_value: FloatArray) -> FloatArray:
    """Adjusted p-values (q-values) of Benjamini & Hochberg (1995) over all entries that are not NaN.

    Among the tests with q <= 0.05 the expected share of false ones is at most 5 %, if tests are independent or
    positively dependent.
    """
    adjusted = np.full(p_value.shape, np.nan)
    tested = ~np.isnan(p_value)
    p = p_value[tested]
    order = np.argsort(p)[::-1]
    rank = np.arange(len(p), 0, -1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(np.minimum(p[order] * len(p) / rank, 1.0))
    adjusted[tested] = q
    return adjusted


def mcnemar(only_first: IntArray, only_second: IntArray) -> FloatArray:
    """Exact two-sided p-values of McNemar's test, by the tasks that only one has right; NaN where there are none."""
    n = np.asarray(only_first) + np.asarray(only_second)
    p = np.minimum(1.0, 2 * bdtr(np.minimum(only_first, only_second), n, 0.5))
    return np.where(n > 0, p, np.nan)


def correlation(x: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
    """Pearson's correlation of weighted pairs; NaN where either does not vary."""
    if len(x) < 2:
        return float("nan")
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    w = w / w.sum()
    dx, dy = x - w @ x, y - w @ y
    vx, vy = float(w @ dx**2), float(w @ dy**2)
    tiny = 1e-24  # of the squares: what rounding leaves of a constant
    if vx <= tiny * float(w @ x**2) or vy <= tiny * float(w @ y**2):
        return float("nan")
    return float(np.clip((w * dx) @ dy / np.sqrt(vx * vy), -1, 1))


def ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, inverse, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[inverse], np.float64)


def known_mean(values: FloatArray) -> FloatArray:
    """(..., C) -> (...,) mean of the entries that are not NaN; NaN where all are."""
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0).sum(-1), known.sum(-1))


def group_means(values: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """(n_groups,) mean of the values (n,) of each group, NaN values left out; NaN for groups without any."""
    known = ~np.isnan(values)
    total = np.bincount(group[known], values[known], n_groups)
    return divide(total, np.bincount(group[known], minlength=n_groups))


def check_share(**shares: float) -> None:
    """Raise a `SettingError` for the first keyword whose value does not lie between 0 and 1."""
    for name, share in shares.items():
        if not 0 < share < 1:
            raise SettingError(name, "lie between 0 and 1", share)
