"""Pairs of workers: how far apart their ratings are, and whether they err alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse
from scipy import stats

from crowdcore.analysis.mistakes.significance import benjamini_hochberg
from crowdcore.analysis.ratings.truth import RatingTruth
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class RatingPairs:
    """Pairs of workers with enough tasks in common; all (n_pairs,).

    Attributes:
        worker_ids: all workers.
        reference: what was taken for the truth.
        worker_a, worker_b: worker numbers, a < b.
        tasks: tasks that both rated and whose truth is known.
        distance: root mean squared difference of their ratings.
        kappa: quadratically weighted kappa, ``1 − Σ(x − y)² / Σ expected (x − y)²``.
        error_correlation: Pearson's correlation of their errors; above 0: they err alike.
        p_value: of no correlation (Fisher's z); NaN with fewer than 4 tasks.
        q_value: p after Benjamini and Hochberg over the pairs.
    """

    worker_ids: tuple[str, ...]
    reference: str
    worker_a: IntArray
    worker_b: IntArray
    tasks: IntArray
    distance: FloatArray
    kappa: FloatArray
    error_correlation: FloatArray
    p_value: FloatArray
    q_value: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per pair."""
        ids = np.array(self.worker_ids, object)
        names = ("tasks", "distance", "kappa", "error_correlation", "p_value", "q_value")
        columns = {name.replace("_", " "): getattr(self, name) for name in names}
        return pd.DataFrame({"worker": ids[self.worker_a], "other": ids[self.worker_b], **columns})


def rating_pairs(dataset: RatingDataset, truth: RatingTruth, min_overlap: int = 10) -> RatingPairs:
    """Distance, weighted kappa and error correlation of every pair with ``min_overlap`` tasks in common.

    Errors are relative to the truth, so that tasks that are rated high by all do not count as alike. A worker's
    repeats on a task count once, the first.
    """
    chosen = first_ratings(dataset)
    chosen = chosen[~np.isnan(truth.compared[chosen])]
    centre = (dataset.low + dataset.high) / 2
    a, b, n, rated = pair_moments(dataset, chosen, dataset.rating[chosen] - centre, min_overlap)
    error = pair_moments(dataset, chosen, dataset.rating[chosen] - truth.compared[chosen], min_overlap)[3]
    difference = rated["aa"] + rated["bb"] - 2 * rated["ab"]
    variance = [rated[k + k] - rated[k] ** 2 for k in "ab"]
    spread = [error[k + k] - error[k] ** 2 for k in "ab"]
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 1 - difference / (variance[0] + variance[1] + (rated["a"] - rated["b"]) ** 2)
        tiny = 1e-12 * (dataset.high - dataset.low) ** 2
        varies = (spread[0] > tiny) & (spread[1] > tiny)
        r = np.where(varies, (error["ab"] - error["a"] * error["b"]) / np.sqrt(spread[0] * spread[1]), np.nan)
        r = np.clip(r, -1, 1)
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) * np.sqrt(np.where(n > 3, n - 3.0, np.nan))
    p = 2 * stats.norm.sf(np.abs(z))
    q = np.full(len(p), np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = benjamini_hochberg(p[tested])
    ids = tuple(map(str, dataset.worker_ids))
    return RatingPairs(ids, truth.name, a, b, n, np.sqrt(np.maximum(difference, 0)), kappa, r, p, q)


def first_ratings(dataset: RatingDataset) -> IntArray:
    """Places of each worker's first rating of each task, ascending."""
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    return np.sort(np.unique(key, return_index=True)[1])


def pair_moments(
    dataset: RatingDataset, chosen: IntArray, value: FloatArray, min_overlap: int
) -> tuple[IntArray, IntArray, IntArray, dict[str, FloatArray]]:
    """Pairs a < b with enough tasks in common, how many, and means over them of x_a, x_b, x_a² …"""
    shape = dataset.n_tasks, dataset.n_workers
    at = dataset.task[chosen], dataset.worker[chosen]
    mask, x, xx = (scipy.sparse.csr_array((v, at), shape=shape) for v in (np.ones(len(value)), value, value**2))
    common = scipy.sparse.triu(mask.T @ mask, k=1).tocoo()
    enough = common.data >= min_overlap
    a, b, n = common.row[enough], common.col[enough], common.data[enough]

    def mean(left: object, right: object) -> FloatArray:
        product = (left.T @ right).tocsr()  # type: ignore[attr-defined]
        return np.asarray(product[a, b]).ravel() / n if len(a) else np.empty(0)

    moments = {"a": mean(x, mask), "b": mean(mask, x), "aa": mean(xx, mask), "bb": mean(mask, xx), "ab": mean(x, x)}
    return a, b, n.astype(np.int64), moments
