"""The score on validation by which runs and settings are chosen; what the labels are decides which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import Labelled
from crowdcore.data.tags import TagScheme

T = TypeVar("T", float, FloatArray)


@dataclass(frozen=True)
class SelectionScore:
    """A number of the validation split.

    Args:
        metric: name of its curve.
        measure: what it measures, in words.
        lowest: whether a lower one is better.
    """

    metric: str
    measure: str
    lowest: bool = False

    @property
    def words(self) -> str:
        """What it is called in sentences."""
        return f"validation {self.measure}"

    @property
    def on_test(self) -> str:
        """Name of the curve of the same on the test split."""
        return self.metric.replace("valid_", "test_")

    @property
    def recorded(self) -> str:
        """Name among the scores of a run, at the selected epoch."""
        return f"{self.metric}_selected"

    @property
    def column(self) -> str:
        """Name in tables of trials."""
        return self.metric.replace("valid_", "validation_")

    def better(self, value: T) -> T:
        """What is the higher, the better the score."""
        return -value if self.lowest else value


ACCURACY = SelectionScore("valid_accuracy", "accuracy")
SPAN_F1 = SelectionScore("valid_span_f1", "F1 of spans")
RMSE = SelectionScore("valid_rmse", "RMSE", lowest=True)
SCORES: Mapping[str, SelectionScore] = {score.metric: score for score in (SPAN_F1, RMSE, ACCURACY)}
"""By the name of their curve; of several that a run has, the first counts."""


def selection_score(dataset: Labelled) -> SelectionScore:
    """What results on a dataset are chosen by: nearly all tokens are outside of spans, so that taggers go by spans.

    Examples:
        >>> import crowdcore as cc
        >>> selection_score(cc.data.simulate.tags(n_sentences=5)).words
        'validation F1 of spans'
    """
    if dataset.kind.numeric:
        return RMSE
    return ACCURACY if dataset.sentences is None or TagScheme.of(dataset.label_names) is None else SPAN_F1


def recorded_score(scores: Mapping[str, float]) -> SelectionScore | None:
    """The score that a run was chosen by; None where nothing was validated."""
    return next((score for score in SCORES.values() if score.recorded in scores), None)


def selecting(metrics: Mapping[str, FloatArray]) -> tuple[FloatArray | None, FloatArray | None]:
    """What selects an epoch, (S,) the higher the better, and among equals (S,) the lower the better.

    None where nothing was validated.
    """
    score = next((score for score in SCORES.values() if score.metric in metrics), None)
    if score is None:
        return None, None
    value = score.better(metrics[score.metric])
    return value, metrics.get("valid_nll", -value)
