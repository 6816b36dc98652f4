"""What several figures draw alike: axes of names, the line of equal values, intervals, a ring around what is chosen."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme

__all__ = ["equal_line", "interval", "named", "ranked", "ring", "room_below"]

CROWDED = 24  # names from which they are short and small
_USUAL, _LETTER, _SLANTED = 16, 6.2, 12  # letters of a short name; pixels of one; names up to which they are slanted
NAMED = 60  # workers up to which each has a name on the axis


def named(names: Sequence[object], most: int = 24) -> dict[str, object]:
    """An axis of names, of up to ``most`` characters, at 0, 1, 2, …; of many, small ones of up to 16.

    Names that would look the same show their ends, too, or leave out how all of them begin.
    """
    crowded = len(names) > CROWDED
    most = min(most, 16) if crowded else most
    texts = list(map(str, names))
    plain = sorted(map(html.unescape, texts)) or [""]
    begin = next((k for k, (a, b) in enumerate(zip(plain[0], plain[-1], strict=False)) if a != b), len(plain[0]))
    ways = (
        [theme.short(text, most) for text in texts],
        [theme.short(text, most, end=most // 2) for text in texts],
        [theme.short(text, most, begin=begin) for text in texts],
    )
    words = max(ways, key=lambda way: len(set(way)))  # the first of the best
    ticks: dict[str, object] = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": words}
    return {**ticks, "tickfont": {"size": 8}} if crowded else ticks


def room_below(names: Sequence[object], most: int = 24) -> int:
    """Pixels that the names of an axis of `named` take below a figure beyond those of short names, written slanted.

    Of more than a dozen they are upright.
    """
    longest = max((len(html.unescape(str(word))) for word in named(names, most)["ticktext"]), default=0)  # type: ignore[attr-defined]
    return math.ceil(max(longest - _USUAL, 0) * _LETTER * (1 if len(names) > _SLANTED else math.sin(math.radians(40))))


def ranked(names: AnyArray) -> dict[str, object]:
    """An axis of ranked workers at 0, 1, 2, …: their names upright, or of many only that these are ranks."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": names, "tickangle": -90, "tickfont_size": 10}
    words = ticks if len(names) <= NAMED else {"title": "rank"}
    return {**words, "showgrid": False, "range": [-0.8, max(len(names), 1) - 0.2]}


def equal_line(fig: go.Figure, low: float, high: float) -> None:
    """A dotted line where both axes say the same."""
    line = {"color": theme.INK, "dash": "dot", "width": 1}
    fig.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, line=line, layer="below")


def interval(low: FloatArray, middle: FloatArray, high: FloatArray, **style: object) -> dict[str, object]:
    """Error bars from low to high."""
    above, below = np.maximum(high - middle, 0), np.maximum(middle - low, 0)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **style}


def ring(x: float, y: float, size: int = 18, **more: object) -> go.Scatter:
    """A ring around what is chosen."""
    marker = {"color": "rgba(0,0,0,0)", "size": size, "line": {"color": theme.INK, "width": 2}}
    return go.Scatter(x=[x], y=[y], mode="markers", marker=marker, hoverinfo="skip", **more)
