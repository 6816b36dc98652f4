"""True biases of raters beside those that a network learnt (Rodrigues & Pereira 2018, Fig. 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset


@dataclass(frozen=True, eq=False)
class RatingBiases:
    """Biases of R workers in the dataset's unit.

    Args:
        worker_ids: (R,).
        n_ratings: (R,) ratings of tasks with gold.
        true: (R,) mean of rating minus gold, NaN without such ratings.
        learnt: (S, R) of each replica.
        least: ratings from which a worker counts in the correlations.
        correlation: (S,) Pearson's r of learnt and true biases over those workers; NaN where one of them is constant.
        mean_correlation: of the mean over replicas.
    """

    worker_ids: pd.Index[str]
    n_ratings: IntArray
    true: FloatArray
    learnt: FloatArray
    least: int
    correlation: FloatArray
    mean_correlation: float

    def frame(self) -> pd.DataFrame:
        """One row per worker with ratings of tasks with gold: worker, ratings, true, learnt, std (over replicas)."""
        several = len(self.learnt) > 1
        columns = {
            "worker": self.worker_ids,
            "ratings": self.n_ratings,
            "true": self.true,
            "learnt": self.learnt.mean(0),
            "std": self.learnt.std(0, ddof=1) if several else np.full(len(self.true), np.nan),
        }
        return pd.DataFrame(columns)[self.n_ratings > 0].sort_values("ratings", ascending=False, kind="stable")


def rating_biases(dataset: RatingDataset, learnt: FloatArray, least: int = 10) -> RatingBiases:
    """Compare learnt biases with the mean difference of a worker's ratings from the gold.

    Args:
        dataset: with gold on rated tasks.
        learnt: (S, R) in the dataset's unit.
        least: ratings of tasks with gold from which a worker counts in the correlations.

    Raises:
        DataError: no rated task has gold.
        SettingError: biases of other workers.
    """
    if not dataset.has_gold:
        raise DataError(f"No rated task of {dataset.name} has gold", "True biases cannot be known.")
    if learnt.ndim != 2 or learnt.shape[1] != dataset.n_workers:
        raise SettingError("learnt", f"have the shape (S, {dataset.n_workers})", learnt.shape)
    error = dataset.rating - dataset.gold[dataset.task]
    known = ~np.isnan(error)
    n = np.bincount(dataset.worker[known], minlength=dataset.n_workers)
    total = np.bincount(dataset.worker[known], error[known], minlength=dataset.n_workers)
    true = np.divide(total, n, out=np.full(dataset.n_workers, np.nan), where=n > 0)
    counted = n >= max(least, 1)
    r = np.array([bias_correlation(dataset, true[counted], one[counted]) for one in (*learnt, learnt.mean(0))])
    return RatingBiases(dataset.worker_ids, n, true, learnt, least, r[:-1], float(r[-1]))


def bias_correlation(dataset: RatingDataset, a: FloatArray, b: FloatArray) -> float:
    """Pearson's, of biases of some workers; NaN where they do not vary."""
    varied = len(a) > 1 and min(np.ptp(a), np.ptp(b)) > dataset.rounding
    return float(np.corrcoef(a, b)[0, 1]) if varied else float("nan")
