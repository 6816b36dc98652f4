"""The numbers that a run's record keeps of its result, so that lists of runs need not open results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from crowdcore.core.errors import DataError, SettingError
from crowdcore.learning.selection_score import SCORES
from crowdcore.runs.recorder import spread

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt


def result_scores(result: Learnt) -> dict[str, float]:
    """Means over seeds, and ``…_std`` from two on, of the test split at three epochs and of validation at the selected.

    Of classes accuracies, of tags also precision, recall and F1 of spans; of ratings MAE, RMSE and R².
    """
    scores: dict[str, float] = {}
    for name, score in _on_test(result):
        with contextlib.suppress(DataError, SettingError):  # no gold on the test split, no spans
            scores |= spread(f"test_{name}", score().tolist())
    for metric in SCORES if result.validated_on else ():
        if metric in result.curves:
            reached = result.curves[metric][result.selected_epoch - 1, np.arange(len(result.seeds))]
            scores |= spread(f"{metric}_selected", reached.tolist())
    return scores


def _on_test(result: Learnt) -> Iterator[tuple[str, Any]]:
    """Name of each score -> what computes it, (S,)."""
    from crowdcore.learning.comparison.comparability import Kept
    from crowdcore.learning.ratings.result import RatingsResult
    from crowdcore.learning.results.predictions import found_spans
    from crowdcore.learning.results.result import At

    for at in get_args(At):
        if isinstance(result, RatingsResult):
            yield from ((f"{measure}_{at}", partial(result.score, measure, at=at)) for measure in ("mae", "rmse", "r2"))
        else:
            yield f"accuracy_{at}", partial(result.accuracy, "test", at)
    if not isinstance(result, RatingsResult) and result.sentence is not None:
        for at in get_args(Kept):
            with contextlib.suppress(DataError):
                spans = found_spans(result, "test", at)
                yield from ((f"span_{score}_{at}", spans[score].to_numpy) for score in ("precision", "recall", "f1"))
