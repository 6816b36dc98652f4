"""`RatingProblem`: which rated tasks train, validate and test, with ratings on a scale from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.settings import TrainSettings, execution
from crowdcore.learning.training.inputs import prepare_on
from crowdcore.learning.training.problem import TEST, TRAIN, VALID, Problem, arrange
from crowdcore.learning.validation import SPLIT, held_out

UNUSED = 3


@dataclass(frozen=True, eq=False)
class RatingProblem(Problem):
    """A crowd of ratings as a learner sees it: `Problem` with numbers for labels and gold.

    Ratings, gold and predictions are ``(rating - low) / (high - low)``, from 0 to 1; a network has one output.
    """

    dataset: RatingDataset  # type: ignore[assignment]  # a crowd of another kind of labels

    @property
    def n_classes(self) -> int:
        """Outputs of the network."""
        return 1

    @property
    def sentence_start(self) -> None:
        """Ratings are of whole tasks."""
        return None

    @property
    def unit(self) -> float:
        """How much of the dataset's unit 1 is here."""
        return self.dataset.high - self.dataset.low

    @cached_property
    def label(self) -> FloatArray:  # type: ignore[override]
        """(A,) float32 rating of each annotation."""
        return self.scaled(self.dataset.rating[self.annotation])

    @cached_property
    def gold(self) -> FloatArray:  # type: ignore[override]
        """(n,) float32 true rating, NaN = unknown."""
        return self.scaled(self.dataset.gold[self.order])

    @cached_property
    def consensus(self) -> FloatArray:
        """(n,) float32 mean rating, NaN for tasks without."""
        return self.scaled(mean_ratings(self.dataset)[self.order])

    def scaled(self, ratings: FloatArray) -> FloatArray:
        """From the dataset's unit to 0…1, float32."""
        scaled: FloatArray = ((ratings - self.dataset.low) / self.unit).astype(np.float32)
        return scaled


def mean_ratings(dataset: RatingDataset) -> FloatArray:
    """(n_tasks,) mean rating, NaN for tasks without."""
    total = np.bincount(dataset.task, dataset.rating, minlength=dataset.n_tasks)
    given = np.bincount(dataset.task, minlength=dataset.n_tasks)
    mean: FloatArray = np.divide(total, given, out=np.full(dataset.n_tasks, np.nan), where=given > 0)
    return mean


def rating_problem(dataset: RatingDataset, training: TrainSettings) -> RatingProblem:
    """Decide what trains, validates and tests.

    Args:
        dataset: tasks with features, ratings on some of them.
        training: ``select_on``, ``holdout`` and ``standardise`` count here.

    Raises:
        DataError: no features or ratings, too few tasks, nothing to validate on.
        SettingError: a setting that is about classes.
    """
    for name in ("names", "augment"):
        if getattr(training, name) != TrainSettings.model_fields[name].default:
            raise SettingError(name, "be left as it is: these labels are numbers", getattr(training, name))
    if dataset.features is None:
        raise DataError(
            f"{dataset.name} has no features, so no network can be trained on it",
            "Add features_<split>.npy, or infer the ratings without features.",
        )
    role, validated_on = _roles(dataset, training)
    order, splits, annotation = arrange(dataset, role)
    if splits["train"].stop < 2:
        raise DataError(f"{dataset.name} has {splits['train'].stop} rated training tasks with features; 2 are needed")
    preparation = prepare_on(dataset.features, order[splits["train"]], dataset.task_ids, training.standardise)
    no_labels = np.full(splits["valid"].stop - splits["valid"].start, -1)
    notes = (f"Epochs are selected on: {validated_on}.",) if validated_on else ()
    return RatingProblem(
        dataset, dataset.features, preparation, order, splits, annotation, no_labels, validated_on,
        notes=notes, training=training,
    )  # fmt: skip


def _other(*ways: str) -> list[Remedy]:
    return [Remedy("select_on", ways, of="method")]


def _roles(dataset: RatingDataset, training: TrainSettings) -> tuple[IntArray, str]:
    """(n_tasks,) 0 train, 1 valid, 2 test, 3 unused, -1 without features; and what validates, in words."""
    assert dataset.features is not None
    role = np.full(dataset.n_tasks, UNUSED, np.int64)
    role[dataset.annotated & (dataset.split <= TRAIN)] = TRAIN
    for split in (VALID, TEST):
        role[dataset.split == split] = split
    role[~dataset.features.present] = -1
    choice, where = training.select_on, SPLIT
    if choice == "none":
        return role, ""
    if choice == "holdout" or not (role == VALID).any():
        if choice in ("gold", "consensus") and not (role == VALID).any():
            raise DataError(f"{dataset.name} has no valid split", remedies=_other("holdout", "crowd", "none"))
        role[role == VALID] = UNUSED
        train = np.flatnonzero(role == TRAIN)
        seed = execution().holdout_seed
        some = np.random.default_rng(seed).permutation(train)[: round(training.holdout * len(train))]
        role[some] = VALID
        where = held_out(len(some), seed)
    valid = role == VALID
    known, rated = ~np.isnan(dataset.gold[valid]), dataset.annotated[valid]
    if choice in ("crowd", "consensus") or (choice != "gold" and not known.any()):
        if not rated.any():
            raise DataError(f"No task of {where} of {dataset.name} has ratings", remedies=_other("holdout", "none"))
        return role, f"mean ratings of {where}"
    if not known.any():
        raise DataError(f"No task of {where} of {dataset.name} has gold", remedies=_other("crowd", "none"))
    return role, f"gold of {where}"
