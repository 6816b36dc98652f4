"""`LabelKind`: the kinds of labels, what each is called, where its labels stand and which settings read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from crowdcore.core.errors import DataError
from crowdcore.data.settings import RatingSettings, ReadSettings

if TYPE_CHECKING:
    from crowdcore.data.dataset import CrowdDataset
    from crowdcore.data.ratings import Labelled, RatingDataset


class KindError(DataError, AttributeError):
    """Labels of one kind were given where another kind is needed."""


@dataclass(frozen=True)
class LabelKind:
    """A kind of label. The kinds are `CLASSES`, `TAGS`, `RATINGS` and `LEVELS`; `dataset.kind` is one of them.

    Args:
        name: for settings and files: ``classes``, ``tags``, ``ratings``, ``levels``.
        labels: what the labels are, after "The labels of demo are …".
        label: noun for one annotation.
        task: noun for what is labelled.
        value: attribute of the dataset that holds the labels.
        gold: what true labels are called.
        consensus: what the labels of a task are summed up by.
        settings: options that read them.
        numeric: labels are numbers in a range, and the dataset is a `RatingDataset`.
        sequential: tasks are the tokens of sentences.
        applies: what applies to them, where something else does not.

    Examples:
        >>> import crowdcore as cc
        >>> cc.load_dataset("demo").kind.name
        'classes'
    """

    name: str
    labels: str
    label: str
    task: str
    value: str
    settings: type[ReadSettings]
    gold: str = "gold labels"
    consensus: str = "majority vote"
    numeric: bool = False
    sequential: bool = False
    applies: str = "Analyses, aggregators and training methods of classes apply."


_TO_NUMBERS = (
    "`crowdcore ratings`, the exhibits rating-…, `crowdcore.analysis.ratings`, `crowdcore.aggregation.ratings` and "
    "`crowdcore.learning.train` apply to numbers."
)
CLASSES = LabelKind("classes", "classes", "annotation", "task", "label", ReadSettings)
TAGS = LabelKind("tags", "tags of tokens", "annotation", "token", "label", ReadSettings, sequential=True)
RATINGS = LabelKind(
    *("ratings", "numbers", "rating", "task", "rating", RatingSettings, "gold", "mean ratings"),
    numeric=True,
    applies=_TO_NUMBERS,
)
LEVELS = replace(RATINGS, name="levels", labels="ordered classes, read as numbers")  # words at equal steps


def other_kind(dataset: Any, needed: LabelKind) -> KindError:
    """The error that labels are of another kind than the one needed; it says what applies to them."""
    return KindError(
        f"The labels of {dataset.name} are {dataset.kind.labels}, not {needed.labels}", dataset.kind.applies
    )


def need_classes(dataset: Labelled) -> CrowdDataset:
    """The dataset, whose labels must be classes or tags; else a `KindError`."""
    if dataset.kind.numeric:
        raise other_kind(dataset, CLASSES)
    return cast("CrowdDataset", dataset)


def need_ratings(dataset: Labelled) -> RatingDataset:
    """The dataset, whose labels must be numbers; else a `KindError`."""
    if not dataset.kind.numeric:
        raise other_kind(dataset, RATINGS)
    return cast("RatingDataset", dataset)
