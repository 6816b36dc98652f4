"""Shared bias: where in the range of the truth does the whole crowd overrate?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from crowdcore.analysis.ratings.workers import RatingTruth
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset

FEW_WORKERS, FEW_TASKS = 5.0, 10  # below these nothing is said to be shared

NO_GOLD = "A shared bias cannot be seen without gold: errors relative to the same workers' ratings cancel out."
ENDS = "At the ends of the range errors can only point inwards, even those of unbiased workers."


@dataclass(frozen=True, eq=False)
class SharedBias:
    """The crowd's mean error in each bin of the truth; all (n_bins,), NaN where nobody rated.

    Attributes:
        reference: what was taken for the truth.
        checked: whether that is gold.
        level: of the intervals.
        edges: (n_bins + 1,) of the bins.
        bias: mean of rating − truth, in the unit of the ratings.
        low, high: interval over workers and tasks.
        ratings, tasks, workers: how many there are.
        effective_workers: as many workers with equally many ratings would weigh as much: ``1 / Σ share²``.
        same_sign: share of the bin's workers whose own mean error has the sign of ``bias``.
        p_value: of the hypothesis that errors are the workers' own, with mean 0 over workers; NaN with fewer than 5
            effective workers or 10 tasks, and without gold.
        q_value: p after Benjamini and Hochberg over the bins.
        smooth: (n_bins,) bias after smoothing over neighbouring bins (a kernel one bin wide).
    """

    reference: str
    checked: bool
    level: float
    edges: FloatArray
    bias: FloatArray
    low: FloatArray
    high: FloatArray
    ratings: IntArray
    tasks: IntArray
    workers: IntArray
    effective_workers: FloatArray
    same_sign: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    smooth: FloatArray

    @property
    def centres(self) -> FloatArray:
        """(n_bins,) middles of the bins."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def frame(self) -> pd.DataFrame:
        """One row per bin."""
        names = ("bias", "low", "high", "smooth", "ratings", "tasks", "workers", "effective_workers", "same_sign")
        columns = {name.replace("_", " "): getattr(self, name) for name in (*names, "p_value", "q_value")}
        return pd.DataFrame({"truth from": self.edges[:-1], "truth to": self.edges[1:], **columns})

    def sentence(self) -> str:
        """Where the crowd overrates and underrates, in words."""
        if not self.checked:
            return NO_GOLD
        shared = np.nan_to_num(self.q_value, nan=1.0) <= 1 - self.level
        parts = []
        for verb, chosen in (("overrates", shared & (self.bias > 0)), ("underrates", shared & (self.bias < 0))):
            if chosen.any():
                bins = np.flatnonzero(chosen)
                runs = np.split(bins, np.flatnonzero(np.diff(bins) > 1) + 1)
                where = ", ".join(f"{self.edges[run[0]]:g}…{self.edges[run[-1] + 1]:g}" for run in runs)
                parts.append(f"{verb} where the truth is {where}")
        if not parts:
            return "No shared bias beyond what individual biases explain."
        words = f"The crowd {' and '.join(parts)}."
        inwards = (shared & (self.bias > 0))[0] or (shared & (self.bias < 0))[-1]
        return f"{words} {ENDS}" if inwards else words


def shared_bias(dataset: RatingDataset, truth: RatingTruth, bins: int = 10, level: float = 0.95) -> SharedBias:
    """The crowd's bias over the range of the truth, and whether it is more than the sum of individual biases.

    A bin's bias is the mean error of its ratings. Its variance is robust to clusters of workers and of tasks at once
    (Cameron, Gelbach & Miller 2011, eq. 2.7): ``V = V_worker + V_task − V_worker∩task``, at least the larger of the
    first two, so that neither one busy worker nor one odd task makes a bias shared. The test is Student's t with
    ``min(effective workers, tasks) − 1`` degrees of freedom. Without gold nothing is tested: the errors of a task are
    then relative to its own ratings, and cancel.

    Args:
        truth: of `rating_truth`.
        bins: equal parts of the range.
        level: of the intervals and of the test.

    Raises:
        SettingError: fewer than two bins.
    """
    if bins < 2:
        raise SettingError("bins", "be at least 2", bins)
    edges = np.linspace(dataset.low, dataset.high, bins + 1)
    known = ~np.isnan(truth.compared)
    where = truth.rating[dataset.task[known]]
    inside = where + dataset.rounding  # 0.3 lies in the bin from 0.3, whose edge is a little above it
    b = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, bins - 1)
    error = dataset.rating[known] - truth.compared[known]
    n = np.bincount(b, minlength=bins)
    some = np.where(n > 0, n, np.nan)
    bias = np.bincount(b, error, bins) / some
    score = error - bias[b]
    own = [_clusters(b, unit[known], score, bins, size) for unit, size in _units(dataset)]
    (v_worker, workers, counts, sums), (v_task, tasks, _, _) = own
    single = np.bincount(b, score**2, bins)
    variance = np.maximum(v_worker + v_task - single, np.maximum(v_worker, v_task)) / some**2
    effective = some**2 / np.maximum((counts**2).sum(1), 1)
    signs = (np.sign(sums + bias[:, None] * counts) == np.sign(bias)[:, None]) & (counts > 0)
    df = np.maximum(np.minimum(effective, tasks) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error_of_mean = np.sqrt(variance)
        half = special.stdtrit(df, (1 + level) / 2) * error_of_mean
        p = 2 * special.stdtr(df, -np.abs(bias) / error_of_mean)
    p[(effective < FEW_WORKERS) | (tasks < FEW_TASKS) | (not truth.checked)] = np.nan
    tested = ~np.isnan(p)
    q = np.full(bins, np.nan)
    if tested.any():
        q[tested] = benjamini_hochberg(p[tested])
    return SharedBias(
        *(truth.name, truth.checked, level, edges, bias, bias - half, bias + half, n, tasks, workers, effective),
        *(signs.sum(1) / np.where(workers > 0, workers, np.nan), p, q, _smoothed(bias, n)),
    )


def _units(dataset: RatingDataset) -> tuple[tuple[IntArray, int], tuple[IntArray, int]]:
    return (dataset.worker, dataset.n_workers), (dataset.task, dataset.n_tasks)


def _clusters(
    b: IntArray, unit: IntArray, score: FloatArray, bins: int, size: int
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Per bin: the sum over clusters of squared sums of scores, corrected for few; and how many clusters there are.

    The last two are (n_bins, size) ratings and sums of scores, of workers; tasks lie in one bin each.
    """
    cell = b.astype(np.int64) * size + unit
    filled, place, count = np.unique(cell, return_inverse=True, return_counts=True)
    total = np.bincount(place, score, len(filled))
    of_bin = filled // size
    n = np.bincount(of_bin, minlength=bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.bincount(of_bin, count, bins) ** 2 / np.bincount(of_bin, count.astype(float) ** 2, bins)
    few = effective / np.where(effective > 1, effective - 1, np.nan)
    meat = np.bincount(of_bin, total**2, bins) * few
    counts = np.zeros((bins, int(np.bincount(of_bin, minlength=bins).max(initial=0))))
    sums, column = np.zeros_like(counts), np.arange(len(filled)) - np.searchsorted(of_bin, of_bin)
    counts[of_bin, column], sums[of_bin, column] = count, total
    return meat, n, counts, sums


def _smoothed(bias: FloatArray, n: IntArray) -> FloatArray:
    """Kernel regression over bin centres, a Gaussian one bin wide, weighted by ratings."""
    k = np.arange(len(bias))
    kernel = np.exp(-0.5 * (k[:, None] - k) ** 2) * n
    total = kernel.sum(1)
    return np.asarray(np.where(n > 0, kernel @ np.nan_to_num(bias) / np.where(total > 0, total, np.nan), np.nan))
