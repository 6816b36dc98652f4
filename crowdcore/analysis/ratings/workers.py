"""Each worker's bias, scale, spread and error, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from crowdcore.analysis.ratings.truth import RatingTruth
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset


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
