"""What the kind of a dataset's labels decides: the methods that learn from it, the training, and what a result is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.learning import methods
from crowdcore.learning.api import train, usual_settings
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings import methods as rating_methods
from crowdcore.learning.ratings.result import RatingsResult, is_ratings_result, load_ratings_result
from crowdcore.learning.ratings.train import train_ratings
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.results.result_files import load_result

Learnt: TypeAlias = TrainingResult | RatingsResult


def method_for(dataset: Labelled, name: str) -> type[CrowdMethod]:
    """A method that learns from such labels, by name.

    Raises:
        SettingError: there is none.
    """
    return rating_methods.find(name) if isinstance(dataset, RatingDataset) else methods.get(name)


def usual(dataset: Labelled) -> dict[str, Any]:
    """The trainer's settings that hold where nobody gives them; see `usual_settings`."""
    return {} if isinstance(dataset, RatingDataset) else usual_settings(dataset)


def fit(dataset: Labelled, method: str, accept: bool = False, **settings: Any) -> Learnt:
    """`train`, or of labels that are numbers `train_ratings`, which take the same further arguments."""
    if isinstance(dataset, RatingDataset):
        return train_ratings(dataset, method, **settings)
    return train(dataset, method, accept=accept, **settings)


def read_result(folder: Path) -> Learnt:
    """A result of either kind.

    Raises:
        DataError: no result there, or broken files.
    """
    return load_ratings_result(folder) if is_ratings_result(folder) else load_result(folder)
