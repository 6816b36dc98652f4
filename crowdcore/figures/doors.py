"""Figures draw results; a figure of what one analysis gives also takes what this analysis starts from."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import plotly.graph_objects as go

from crowdcore.analysis.recovery.seeds import Trained
from crowdcore.data.doors import DatasetLike

A = TypeVar("A")
P = ParamSpec("P")

Drawn: TypeAlias = "Callable[Concatenate[A | DatasetLike | Trained, P], go.Figure]"


def draws(analyse: Callable[..., A]) -> Callable[[Callable[Concatenate[A, P], go.Figure]], Drawn[A, P]]:
    """Make the result by ``analyse``, with its defaults, where a dataset or a trained result is to be drawn."""

    def decorate(draw: Callable[Concatenate[A, P], go.Figure]) -> Drawn[A, P]:
        @wraps(draw)
        def drawn(start: Any, /, *args: P.args, **settings: P.kwargs) -> go.Figure:
            made = hasattr(start, "__dataclass_fields__") and not hasattr(start, "fingerprint")
            return draw(start if made else analyse(start), *args, **settings)

        return drawn

    return decorate
