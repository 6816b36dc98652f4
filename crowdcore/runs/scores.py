"""The numbers that a run's record keeps of its result, so that lists of runs need not open results."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from crowdcore.core.errors import DataError, SettingError
from crowdcore.runs.recorder import spread

if TYPE_CHECKING:
    from crowdcore.learning.labels import Learnt
    from crowdcore.learning.ratings.result import RatingsResult
    from crowdcore.learning.results.result import TrainingResult


def result_scores(result: Learnt) -> dict[str, float]:
    """What the record keeps of a result: accuracies, of tags also of spans, or errors of ratings."""
    from crowdcore.learning.ratings.result import RatingsResult

    return rating_errors(result) if isinstance(result, RatingsResult) else accuracy_scores(result)


def rating_errors(result: RatingsResult) -> dict[str, float]:
    """Test MAE, RMSE and R² of three epochs, validation RMSE of one: means over seeds, and ``…_std`` from two on."""
    scores: dict[str, float] = {}
    measures: tuple[Literal["mae", "rmse", "r2"], ...] = ("mae", "rmse", "r2")
    epochs: tuple[Literal["selected", "last", "best"], ...] = ("selected", "last", "best")
    for at in epochs:
        for measure in measures:
            with contextlib.suppress(DataError):  # no gold on the test split
                scores |= spread(f"test_{measure}_{at}", result.score(measure, at=at).tolist())
    if result.validated_on:
        reached = result.curves["valid_rmse"][result.selected_epoch - 1, np.arange(len(result.seeds))]
        scores |= spread("valid_rmse_selected", reached.tolist())
    return scores


def accuracy_scores(result: TrainingResult) -> dict[str, float]:
    """Test accuracies of three epochs, validation accuracy of one: means over seeds, and ``…_std`` from two on."""
    from crowdcore.learning.results.result import At

    scores: dict[str, float] = {}
    for at in get_args(At):
        with contextlib.suppress(DataError, SettingError):  # no gold on the test split
            scores |= spread(f"test_accuracy_{at}", result.accuracy("test", at=at).tolist())
    if result.validated_on and "valid_accuracy" in result.curves:
        reached = result.curves["valid_accuracy"][result.selected_epoch - 1, np.arange(len(result.seeds))]
        scores |= spread("valid_accuracy_selected", reached.tolist())
    return scores | _span_scores(result)


def _span_scores(result: TrainingResult) -> dict[str, float]:
    """Precision, recall and F1 of the test split's spans at two epochs, F1 of validation's at one; {} without spans."""
    from crowdcore.learning.results.tagged import found_spans

    scores: dict[str, float] = {}
    for at in ("selected", "last"):
        with contextlib.suppress(DataError):
            found = found_spans(result, "test", at)
            for measure in ("precision", "recall", "f1"):
                scores |= spread(f"test_span_{measure}_{at}", found[measure].tolist())
    curve = result.curves.get("valid_span_f1")
    if curve is not None and result.validated_on:
        reached = curve[result.selected_epoch - 1, np.arange(len(result.seeds))]
        scores |= spread("valid_span_f1_selected", reached.tolist())
    return scores
