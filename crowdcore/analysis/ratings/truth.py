"""What ratings are compared with: gold, the mean of the others, or what an aggregator infers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
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
