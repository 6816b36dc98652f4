"""The mean and the median of a task's ratings."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation.ratings.base import RatingAggregator, RatingResult
from crowdcore.core.types import FloatArray
from crowdcore.data.dictionary import summed
from crowdcore.data.ratings import RatingDataset


class Mean(RatingAggregator):
    """``t_i = mean of y_i^r over the workers r of task i``.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> frame = pd.DataFrame({"task": [1, 1, 2], "worker": ["ann", "ben", "ann"], "rating": [0, 1, 0.25]})
        >>> cc.aggregation.ratings.Mean().fit(cc.ratings_from_frame(frame, 0, 1)).rating.tolist()
        [0.5, 0.25]
    """

    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    paper: ClassVar[str] = "-"

    def _fit(self, dataset: RatingDataset, known: FloatArray) -> RatingResult:
        n = dataset.labels_per_task
        total = summed(dataset.task, dataset.rating, dataset.n_tasks)
        return RatingResult(self.name, self.model_dump(), total / np.where(n > 0, n, np.nan))


class Median(RatingAggregator):
    """``t_i = median of y_i^r``; of an even number of ratings the mean of the two in the middle."""

    name: ClassVar[str] = "median"
    title: ClassVar[str] = "Median"
    paper: ClassVar[str] = "-"

    def _fit(self, dataset: RatingDataset, known: FloatArray) -> RatingResult:
        n, start = dataset.labels_per_task, dataset.task_start[:-1]
        ordered = dataset.rating[np.lexsort((dataset.rating, dataset.task))]
        rated = n > 0
        low, high = ((start + (n - 1) // 2)[rated], (start + n // 2)[rated])
        rating = np.full(dataset.n_tasks, np.nan)
        rating[rated] = (ordered[low] + ordered[high]) / 2
        return RatingResult(self.name, self.model_dump(), rating)
