"""Errors of ratings against a truth: each worker's bias, scale and spread, surprising ratings, the crowd's bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from crowdcore.analysis.statistics import benjamini_hochberg, holm
from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.doors import door
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class RatingTruth(Shown):
    """A reference for ratings.

    Args:
        name: name of the reference.
        rating: (n_tasks,) true ratings, NaN = unknown.
        compared: (n_annotations,) value that each rating is compared with, NaN = none.
        note: caveat, empty for gold.
    """

    name: str
    rating: FloatArray
    compared: FloatArray
    note: str = ""

    @property
    def checked(self) -> bool:
        """Return whether the truth is gold, and not inferred from the ratings that it judges."""
        return self.name == "gold"


@door
def rating_truth(dataset: RatingDataset, reference: str | RatingTruth | None = None) -> RatingTruth:
    """Return the reference of a name; None: gold where there is some, else the mean of the others.

    Args:
        reference: ``"gold"``, or an aggregator of ratings. For ``"mean"`` a rating is compared with the mean of the
            others of its task, since the mean of all leans towards it.

    Raises:
        DataError: gold asked for, but there is none.
        SettingError: no such aggregator.
    """
    if isinstance(reference, RatingTruth):
        return reference
    reference = reference or ("gold" if dataset.has_gold else "mean")
    if reference == "gold":
        if not dataset.has_gold:
            raise DataError(f"{dataset.name} has no gold", remedies=[Remedy.take_reference("mean")])
        return RatingTruth("gold", dataset.gold, dataset.gold[dataset.task])
    from crowdcore.aggregation.ratings import get

    rating = get(reference).fit(dataset).rating
    if reference == "mean":
        n = dataset.labels_per_task[dataset.task]
        total = np.bincount(dataset.task, dataset.rating, dataset.n_tasks)[dataset.task]
        with np.errstate(invalid="ignore"):
            compared = np.where(n > 1, (total - dataset.rating) / np.maximum(n - 1, 1), np.nan)
    else:
        compared = rating[dataset.task]
    effect = "Its noise draws slopes towards 0 and makes errors too large."
    if reference != "mean":
        effect = "It leans towards the worker's own ratings, so errors are too small and slopes too steep."
    note = (
        f"The truth is not known: ratings are compared with {reference}, which hides what all workers have in common. "
        f"{effect}"
    )
    return RatingTruth(reference, rating, compared, note)


_FEW_RATINGS = 10  # below which nobody counts as not following the tasks
_FOLLOWED = 0.5  # correlation above which ratings follow the tasks, whatever their scale


@dataclass(frozen=True, eq=False)
class RatingWorkers(Shown):
    """Relation of each worker's ratings y to the truth t; all (n_workers,), NaN if ratings are too few or equal.

    Attributes:
        worker_ids: the workers.
        level: of the intervals.
        n: ratings on tasks whose truth is known.
        bias: mean of y − t, in the unit of the ratings; above 0: overrates.
        spread: standard deviation of y − t.
        scale: slope of y on t; below 1: keeps to the middle, above 1: exaggerates.
        correlation: Pearson's, of y and t.
        mae: mean absolute error.
        rmse: root mean squared error.
        low, high: ends of the intervals of bias, scale, correlation, mae and rmse, by name.
        p_follows, p_reverses: p-value of a scale of a third of the typical one or more, and of one of 0 or more, after
            Holm over the workers.
    """

    worker_ids: tuple[str, ...]
    reference: str
    level: float
    n: IntArray
    bias: FloatArray
    spread: FloatArray
    scale: FloatArray
    correlation: FloatArray
    mae: FloatArray
    rmse: FloatArray
    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    p_follows: FloatArray
    p_reverses: FloatArray

    @property
    def ignores(self) -> BoolArray:
        """(n_workers,) workers whose ratings do not follow the task: hardly any slope, whatever the others' is."""
        return np.asarray(self.p_follows <= 1 - self.level) & ~self.reverses & ~self.shrinks

    @property
    def shrinks(self) -> BoolArray:
        """(n_workers,) workers who follow the task with hardly any slope, as from 0 to 10 and not from 0 to 100."""
        return np.asarray((self.p_follows <= 1 - self.level) & (self.low["correlation"] > _FOLLOWED))

    @property
    def unclear(self) -> BoolArray:
        """(n_workers,) workers whose ratings do not show whether they follow the task: the slope may be 0."""
        unsure = (self.n >= _FEW_RATINGS) & (self.low["scale"] <= 0)
        return np.asarray(unsure & ~self.ignores & ~self.reverses & ~self.shrinks)

    @property
    def reverses(self) -> BoolArray:
        """(n_workers,) bool, whether the worker rates high what is low by the reference."""
        return np.asarray((self.p_reverses <= 1 - self.level) & (self.p_follows <= 1 - self.level))

    def frame(self) -> pd.DataFrame:
        """One row per worker."""
        words = {"no": self.ignores, "reversed": self.reverses, "small scale": self.shrinks, "unclear": self.unclear}
        follows = np.select([*words.values()], [*words], "")
        table: dict[str, object] = {"worker": list(self.worker_ids), "ratings": self.n, "follows": follows}
        for name in ("bias", "spread", "scale", "correlation", "mae", "rmse"):
            table[name] = getattr(self, name)
            if name in self.low:
                table |= {f"{name} low": self.low[name], f"{name} high": self.high[name]}
        return pd.DataFrame(table)


@door
def rating_workers(
    dataset: RatingDataset, reference: RatingTruth | str | None = None, level: float = 0.95
) -> RatingWorkers:
    """Estimate bias, scale, correlation and error of every worker.

    Intervals: Student's t for bias, scale (least squares) and mean absolute error; Fisher's z for the correlation;
    Student's t over squared errors, on the scale of logarithms, for the RMSE. They treat a worker's ratings as
    independent. If a few tasks cause most of the error, those of correlation, MAE and RMSE are too narrow.

    Args:
        reference: of `rating_truth`, or what it takes.
        level: of the intervals.
    """
    truth = rating_truth(dataset, reference)
    known = ~np.isnan(truth.compared)
    worker, y, t = dataset.worker[known], dataset.rating[known], truth.compared[known]
    n = np.bincount(worker, minlength=dataset.n_workers)

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(worker, values, dataset.n_workers) / np.where(n > 0, n, np.nan))

    error = y - t
    bias, mae, mse = mean(error), mean(np.abs(error)), mean(error**2)
    yc, tc = y - mean(y)[worker], t - mean(t)[worker]
    yy, tt, yt = mean(yc**2), mean(tc**2), mean(yc * tc)
    y_varies, t_varies = yy > dataset.rounding**2, tt > dataset.rounding**2
    several = np.where(n > 1, n, np.nan)
    enough = np.where(n > 2, n - 2.0, np.nan)
    spread = np.sqrt(mean((error - bias[worker]) ** 2) * several / (several - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(t_varies, yt / tt, np.nan)
        correlation = np.where(t_varies & y_varies, yt / np.sqrt(tt * yy), np.nan)
        residual = np.maximum(yy - yt**2 / tt, 0) * n / enough
        t_bias, t_scale = (special.stdtrit(df, (1 + level) / 2) for df in (several - 1, enough))
        of_mean = t_bias / np.sqrt(several - 1)  # times the root of a mean square
        half = {
            "bias": t_bias * spread / np.sqrt(several),
            "scale": t_scale * np.sqrt(residual / (n * tt)),
            "mae": of_mean * np.sqrt(np.maximum(mse - mae**2, 0)),
        }
        square = of_mean * np.sqrt(np.maximum(mean((error**2 - mse[worker]) ** 2), 0))
        z = special.ndtri((1 + level) / 2) / np.sqrt(np.where(n > 3, n - 3.0, np.nan))
        fisher = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    values = {"bias": bias, "scale": scale, "mae": mae}
    low = {name: values[name] - half[name] for name in values}
    high = {name: values[name] + half[name] for name in values}
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(mse > 0, np.exp(square / mse / 2), 1.0)
    low |= {"correlation": np.tanh(fisher - z), "rmse": np.sqrt(mse) / factor}
    high |= {"correlation": np.tanh(fisher + z), "rmse": np.sqrt(mse) * factor}
    low["mae"] = np.maximum(low["mae"], 0)
    judged = (n >= _FEW_RATINGS) & np.isfinite(scale)
    third = float(np.median(scale[judged])) / 3 if judged.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        less = [special.stdtr(enough, (scale - border) * t_scale / half["scale"]) for border in (third, 0.0)]
    p = (holm(np.where(judged & (third > 0), tail, np.nan)) for tail in less)
    ids, rmse = tuple(map(str, dataset.worker_ids)), np.sqrt(mse)
    return RatingWorkers(ids, truth.name, level, n, bias, spread, scale, correlation, mae, rmse, low, high, *p)


@dataclass(frozen=True, eq=False)
class RatingSurprise(Shown):
    """Errors of ratings beside the others of the same worker; all (n_annotations,), NaN if unknown.

    Attributes:
        error: rating minus truth, in the unit of the ratings.
        usual: mean error of the worker's other ratings.
        p_value: two-sided, of the error beside those others.
    """

    error: FloatArray
    usual: FloatArray
    p_value: FloatArray


@door
def rating_surprise(dataset: RatingDataset, reference: RatingTruth | str | None = None) -> RatingSurprise:
    """Compare each rating's error with the errors of its worker's other ratings.

    The difference over its standard error is the externally studentised residual: if a worker's errors are independent
    and normal, it has Student's t distribution with n − 2 degrees of freedom. It is undefined for workers with fewer
    than three ratings of known truth, or if the other errors are all equal.

    Args:
        reference: of `rating_truth`, or what it takes.
    """
    truth = rating_truth(dataset, reference)
    known, n_workers = ~np.isnan(truth.compared), dataset.n_workers
    worker, error = dataset.worker, dataset.rating - truth.compared
    n_of = np.bincount(worker[known], minlength=n_workers).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.bincount(worker[known], error[known], n_workers) / n_of
        off = error - centre[worker]
        squares = np.bincount(worker[known], off[known] ** 2, n_workers)[worker]
        n = n_of[worker]
        usual = np.where(n > 1, centre[worker] - off / (n - 1), np.nan)
        rest = squares - off**2 * n / (n - 1)  # sum of squares of the others around their own mean
        rounded = np.maximum(1e-12 * squares, n * dataset.rounding**2)
        freedom = np.where((n > 2) & (rest > rounded), n - 2, np.nan)
        t = (error - usual) / np.sqrt(rest / freedom * n / (n - 1))
    return RatingSurprise(error, usual, np.asarray(2 * special.stdtr(freedom, -np.abs(t))))


FEW_WORKERS, FEW_TASKS = 5.0, 10  # below these no shared bias is tested

NO_GOLD = "A shared bias cannot be seen without gold: errors relative to the same workers' ratings cancel out."
ENDS = "At the ends of the range errors can only point inwards, even those of unbiased workers."


@dataclass(frozen=True, eq=False)
class SharedBias(Shown):
    """The crowd's mean error in each bin of the truth; all (n_bins,), NaN where nobody rated.

    Attributes:
        checked: whether the reference is gold.
        level: of the intervals.
        edges: (n_bins + 1,) of the bins.
        bias: mean of rating − truth, in the unit of the ratings.
        low, high: interval over workers and tasks.
        ratings, tasks, workers: their numbers.
        effective_workers: equivalent number of workers with equally many ratings, ``1 / Σ share²``.
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
        """Sentence about the ranges in which the crowd overrates and underrates."""
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


@door
def shared_bias(
    dataset: RatingDataset, reference: RatingTruth | str | None = None, n_bins: int = 10, level: float = 0.95
) -> SharedBias:
    """Estimate the crowd's bias over the range of the truth, and test whether it is more than individual biases.

    A bin's bias is the mean error of its ratings. Its variance is robust to clusters of workers and of tasks at once
    (Cameron, Gelbach & Miller 2011, eq. 2.7): ``V = V_worker + V_task − V_worker∩task``, at least the larger of the
    first two, so that neither one busy worker nor one odd task makes a bias shared. The test is Student's t with
    ``min(effective workers, tasks) − 1`` degrees of freedom. Without gold nothing is tested: the errors of a task are
    then relative to its own ratings, and cancel.

    Args:
        reference: of `rating_truth`, or what it takes.
        n_bins: equal parts of the range.
        level: of the intervals and of the test.

    Raises:
        SettingError: fewer than two bins.
    """
    if n_bins < 2:
        raise SettingError("n_bins", "be at least 2", n_bins)
    truth = rating_truth(dataset, reference)
    edges = np.linspace(dataset.low, dataset.high, n_bins + 1)
    known = ~np.isnan(truth.compared)
    where = truth.rating[dataset.task[known]]
    inside = where + dataset.rounding  # 0.3 lies in the bin from 0.3, whose edge is a little above it
    b = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, n_bins - 1)
    error = dataset.rating[known] - truth.compared[known]
    n = np.bincount(b, minlength=n_bins)
    some = np.where(n > 0, n, np.nan)
    bias = np.bincount(b, error, n_bins) / some
    score = error - bias[b]
    v_worker, workers, counts, sums = _clusters(b, dataset.worker[known], score, n_bins, dataset.n_workers)
    v_task, tasks, _, _ = _clusters(b, dataset.task[known], score, n_bins, dataset.n_tasks)
    single = np.bincount(b, score**2, n_bins)
    variance = np.maximum(v_worker + v_task - single, np.maximum(v_worker, v_task)) / some**2
    effective = some**2 / np.maximum((counts**2).sum(1), 1)
    signs = (np.sign(sums + bias[:, None] * counts) == np.sign(bias)[:, None]) & (counts > 0)
    df = np.maximum(np.minimum(effective, tasks) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error_of_mean = np.sqrt(variance)
        half = special.stdtrit(df, (1 + level) / 2) * error_of_mean
        p = 2 * special.stdtr(df, -np.abs(bias) / error_of_mean)
    p[(effective < FEW_WORKERS) | (tasks < FEW_TASKS) | (not truth.checked)] = np.nan
    q = benjamini_hochberg(p)
    return SharedBias(
        *(truth.name, truth.checked, level, edges, bias, bias - half, bias + half, n, tasks, workers, effective),
        *(signs.sum(1) / np.where(workers > 0, workers, np.nan), p, q, _smoothed(bias, n)),
    )


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
