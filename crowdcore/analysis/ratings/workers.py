"""The truth that ratings are compared with, each worker's bias, scale, spread and error, and surprising ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class RatingTruth:
    """A reference for ratings.

    Args:
        name: what it is called.
        rating: (n_tasks,) the rating taken for the truth, NaN = unknown.
        compared: (n_annotations,) what each rating is compared with, NaN = nothing.
        note: what to bear in mind, empty for gold.
    """

    name: str
    rating: FloatArray
    compared: FloatArray
    note: str = ""

    @property
    def checked(self) -> bool:
        """Whether it is gold, and not inferred from the ratings that are judged by it."""
        return self.name == "gold"


def rating_truth(dataset: RatingDataset, reference: str = "gold") -> RatingTruth:
    """The reference of that name.

    Args:
        reference: ``"gold"``, or an aggregator of ratings. For ``"mean"`` a rating is compared with the mean of the
            others of its task, since the mean of all leans towards it.

    Raises:
        DataError: gold asked for, but there is none.
        SettingError: no such aggregator.
    """
    if reference == "gold":
        if not dataset.has_gold:
            raise DataError(f"{dataset.name} has no gold", "Take an aggregator, such as mean, as the reference.")
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
    note = (
        f"The truth is not known: ratings are compared with {reference}, which hides what all workers have in common, "
        "and whose noise pulls slopes towards 0."
    )
    return RatingTruth(reference, rating, compared, note)


@dataclass(frozen=True, eq=False)
class RatingWorkers:
    """How each worker's ratings y relate to the truth t; all (n_workers,), NaN where ratings are too few, or equal.

    Attributes:
        worker_ids: the workers.
        reference: what was taken for the truth.
        level: of the intervals.
        n: ratings on tasks whose truth is known.
        bias: mean of y − t, in the unit of the ratings; above 0: overrates.
        spread: standard deviation of y − t.
        scale: slope of y on t; below 1: keeps to the middle, above 1: exaggerates.
        correlation: Pearson's, of y and t.
        mae: mean absolute error.
        rmse: root mean squared error.
        low, high: ends of the intervals of bias, scale, correlation, mae and rmse, by name.
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

    def frame(self) -> pd.DataFrame:
        """One row per worker."""
        table: dict[str, object] = {"worker": list(self.worker_ids), "ratings": self.n}
        for name in ("bias", "spread", "scale", "correlation", "mae", "rmse"):
            table[name] = getattr(self, name)
            if name in self.low:
                table |= {f"{name} low": self.low[name], f"{name} high": self.high[name]}
        return pd.DataFrame(table)


def rating_workers(dataset: RatingDataset, truth: RatingTruth, level: float = 0.95) -> RatingWorkers:
    """Bias, scale, correlation and error of every worker.

    Intervals: Student's t for bias, scale (least squares) and mean absolute error; Fisher's z for the correlation;
    Student's t over squared errors, on the scale of logarithms, for the RMSE. They take a worker's ratings as
    independent. Where a few tasks carry most of the error, those of correlation and RMSE are too narrow.

    Args:
        truth: of `rating_truth`.
        level: of the intervals.
    """
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
    ids = tuple(map(str, dataset.worker_ids))
    return RatingWorkers(ids, truth.name, level, n, bias, spread, scale, correlation, mae, np.sqrt(mse), low, high)


@dataclass(frozen=True, eq=False)
class RatingSurprise:
    """How each rating lies beside the others of its worker; all (n_annotations,), NaN where nothing tells.

    Attributes:
        error: rating minus truth, in the unit of the ratings.
        usual: mean error of the worker's other ratings.
        p_value: two-sided, of the error beside those others.
    """

    error: FloatArray
    usual: FloatArray
    p_value: FloatArray


def rating_surprise(dataset: RatingDataset, truth: RatingTruth) -> RatingSurprise:
    """Each rating's error beside the errors of its worker's other ratings.

    The difference over its standard error is the externally studentised residual: where a worker's errors are
    independent and normal, it has Student's t with n − 2 degrees of freedom. A worker with fewer than three ratings
    whose truth is known, or whose others err by exactly the same, has none.

    Args:
        dataset: the ratings.
        truth: of `rating_truth`.
    """
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
