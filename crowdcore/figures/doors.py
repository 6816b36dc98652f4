"""Figures of results; a figure of a single analysis also takes that analysis's input."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import plotly.graph_objects as go

from crowdcore.analysis.recovery.seeds import Trained
from crowdcore.data.doors import DatasetLike

A = TypeVar("A")
P = ParamSpec("P")

Drawn: TypeAlias = "Callable[Concatenate[A | DatasetLike | Trained, P], go.Figure]"


def draws(analyse: Callable[..., A]) -> Callable[[Callable[Concatenate[A, P], go.Figure]], Drawn[A, P]]:
    """Decorate a figure so that it also takes a dataset or trained result, of which ``analyse`` makes its input."""

    def decorate(draw: Callable[Concatenate[A, P], go.Figure]) -> Drawn[A, P]:
        @wraps(draw)
        def drawn(start: Any, /, *args: P.args, **settings: P.kwargs) -> go.Figure:
            made = hasattr(start, "__dataclass_fields__") and not hasattr(start, "fingerprint")
            return draw(start if made else analyse(start), *args, **settings)

        return drawn

    return decorate


_FIGURES = {
    **{"RatingPairs": "rating_errors_alike", "RatingWorkers": "rating_bias", "SharedBias": "rating_shared_bias"},
    **{"RatingsResult": "learning_curves", "TrainingResult": "learning_curves", "Rounds": "round_workers"},
    **{"SpanScores": "span_f1", "Summary": "labels_per_worker", "WorkerQuality": "worker_ranking"},
    **{"Calibration": "", "ConfusionIntervals": ""},  # these are drawn several at once, or with names
}
"""Result -> its figure, where their names differ."""


def figure_of(result: Any) -> go.Figure | None:
    """Return the figure of a result or an exhibit; None if it has none.

    Examples:
        >>> import crowdcore as cc
        >>> cc.figures.figure_of(cc.analysis.summary("demo")).layout.title.text.startswith("Annotations per worker")
        True
    """
    if hasattr(result, "figure"):
        return cast("go.Figure | None", result.figure)
    kind = type(result).__name__
    name = _FIGURES.get(kind, re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower())
    from crowdcore import figures

    return cast(go.Figure, getattr(figures, name)(result)) if name in dir(figures) else None
