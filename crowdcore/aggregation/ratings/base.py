"""`RatingAggregator`: from numbers to a true rating per task and worker parameters."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.registry import Registry
from crowdcore.core.settings import Settings
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray
from crowdcore.data.doors import DatasetLike, as_dataset
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.settings import need_ratings


@dataclass(frozen=True, eq=False)
class RatingResult(Shown):
    """Result of an aggregator of ratings; None for parts that the method does not estimate.

    Args:
        method: registered name, e.g. ``"raykar-em"``.
        settings: the aggregator's settings.
        rating: (n_tasks,) estimated true rating; NaN without a rating.
        sd: (n_tasks,) its posterior standard deviation.
        bias: (n_workers,) a worker's bias in the middle of the ratings; NaN without a rating.
        scale: (n_workers,) slope of a worker's ratings on the truth.
        precision: (n_workers,) one over the variance of a worker's ratings around that line.
        shared_bias: bias that all workers have in common, in the middle of the ratings.
        shared_scale: slope that all workers have in common.
        log_likelihood: (n_iterations,) log posterior density of the parameters per iteration, up to a constant.
        converged: whether the stopping rule was met; None for closed forms.
        notes: warnings in words.
        seconds: wall time of the fit.
        task_ids: names of the tasks.
    """

    method: str
    settings: dict[str, Any]
    rating: FloatArray
    sd: FloatArray | None = None
    bias: FloatArray | None = None
    scale: FloatArray | None = None
    precision: FloatArray | None = None
    shared_bias: float | None = None
    shared_scale: float | None = None
    log_likelihood: FloatArray = field(default_factory=lambda: np.empty(0))
    converged: bool | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    task_ids: pd.Index[str] | None = None

    def frame(self, dataset: RatingDataset | None = None) -> pd.DataFrame:
        """One row per task: task, rating, and its standard deviation where the method estimates it."""
        tasks = self.task_ids if dataset is None else dataset.task_ids
        table = pd.DataFrame({"task": range(len(self.rating)) if tasks is None else tasks, "rating": self.rating})
        return table if self.sd is None else table.assign(sd=self.sd)


class RatingAggregator(Settings):
    """Base of every aggregator of ratings: a frozen pydantic model of settings with one method, `fit`.

    A subclass sets ``name``, ``title`` and ``paper``, and implements ``_fit``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]

    def fit(self, dataset: DatasetLike, *, known: FloatArray | None = None) -> RatingResult:
        """Infer the true ratings.

        Args:
            dataset: the ratings; its gold is not used.
            known: (n_tasks,) true ratings of tasks to clamp, NaN = unknown.

        Raises:
            DataError: no ratings.
            SettingError: ``known`` of another shape.
        """
        dataset = need_ratings(as_dataset(dataset))
        if dataset.n_annotations == 0:
            raise DataError(f"{dataset.name} has no ratings", "There is nothing to aggregate.")
        if known is not None and np.shape(known) != (dataset.n_tasks,):
            raise SettingError("known", f"have the shape ({dataset.n_tasks},)", np.shape(known))
        began = time.perf_counter()
        result = self._fit(dataset, np.full(dataset.n_tasks, np.nan) if known is None else np.asarray(known, float))
        clamped = result.rating if known is None else np.where(np.isnan(known), result.rating, known)
        seconds = time.perf_counter() - began
        return replace(result, rating=clamped, seconds=seconds, task_ids=dataset.task_ids)

    @abstractmethod
    def _fit(self, dataset: RatingDataset, known: FloatArray) -> RatingResult: ...


rating_aggregators: Registry[RatingAggregator] = Registry(
    __package__, RatingAggregator, "aggregator", group="crowdcore.rating-aggregators"
)


def names() -> list[str]:
    """Names of all aggregators of ratings, e.g. ``"raykar-em"``."""
    return list(rating_aggregators)


def get(name: str, **settings: Any) -> RatingAggregator:
    """The aggregator of ratings called ``name`` with these settings.

    Raises:
        SettingError: no such aggregator or setting.
        PluginError: it is a plug-in that cannot be loaded.
    """
    return rating_aggregators.find(name)(**settings)
