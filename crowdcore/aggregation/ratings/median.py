"""The median of a task's ratings."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation.ratings.base import RatingAggregator, RatingResult
from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset


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
