"""`RatingDataset`: a crowd whose labels are numbers in a range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, IndexTable, Media, SimulatedTruth
from crowdcore.data.rows import Rows
from crowdcore.data.settings import CLASSES, LEVELS, RATINGS, LabelKind, other_kind


@dataclass(frozen=True, eq=False)
class RatingDataset(IndexTable):
    """Tasks, workers and the numbers they gave; a missing rating is an absent row.

    A worker's repeats on a task are kept and counted. The arrays are made read-only.

    Args:
        name: name of the dataset.
        low: lowest rating that can be given, in the ratings' unit.
        high: highest rating that can be given.
        task_ids: (n_tasks,) unique strings.
        worker_ids: (n_workers,) unique strings.
        task: (n_annotations,) int32 task number, ascending.
        worker: (n_annotations,) int32 worker number.
        rating: (n_annotations,) float64 from ``low`` to ``high``.
        gold: (n_tasks,) float64 true rating, NaN = unknown; default all unknown.
        split: (n_tasks,) int8 index into `SPLITS`, -1 = none; default none.
        features: rows aligned with tasks.
        media: images, texts, sounds of the tasks.
        extra: further columns of the annotations, aligned with them.
        file_row: (n_annotations,) int32 1-based row of the file; None: not known.
        notes: what was dropped, merged or noticed while reading, one sentence each.
        levels: words for the ratings, from ``low`` to ``high`` at equal steps; empty for plain numbers.
        truth: parameters of a simulated crowd.

    Raises:
        DataError: arrays that do not fit together, or a rating outside the range.
    """

    name: str
    low: float
    high: float
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    task: IntArray
    worker: IntArray
    rating: FloatArray
    gold: FloatArray = None  # type: ignore[assignment]  # filled in __post_init__
    split: IntArray = None  # type: ignore[assignment]  # filled in __post_init__
    features: Rows | None = None
    media: Media | None = None
    extra: pd.DataFrame | None = None
    file_row: IntArray | None = None
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    truth: SimulatedTruth | None = None
    sentences: ClassVar[None] = None  # type: ignore[misc]  # numbers are no tags of tokens

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise DataError(
                f"The range of ratings goes from {self.low:g} to {self.high:g}", "`low` must be below `high`."
            )
        self._freeze(np.float64, unknown=np.nan)
        self._check(self.low, self.high)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("classes", "n_classes", "label", "tokens"):
                raise other_kind(self, CLASSES)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def kind(self) -> LabelKind:
        """`RATINGS`, or `LEVELS` if the ratings have words."""
        return LEVELS if self.levels else RATINGS

    @property
    def label_names(self) -> tuple[str, ...]:
        """The words for the ratings; empty for plain numbers."""
        return self.levels

    @property
    def rounding(self) -> float:
        """Largest difference between numbers that is rounding alone."""
        return 1e-9 * (self.high - self.low)

    @cached_property
    def annotations(self) -> pd.DataFrame:
        """The ratings as a frame: task, worker (categorical ids), rating, then the extra columns."""
        return self._frame(self.rating)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (32 characters) of range, ids, ratings, gold and split: same content, same digest."""
        return self._digest(f"ratings {self.low!r} {self.high!r}".encode(), (self.task_ids, self.worker_ids))

    def __repr__(self) -> str:
        return (
            f"RatingDataset({self.name!r}: {self.n_tasks} tasks, {self.n_workers} workers, "
            f"{self.n_annotations} ratings from {self.low:g} to {self.high:g})"
        )


Labelled: TypeAlias = CrowdDataset | RatingDataset
"""A dataset with labels of any kind."""
