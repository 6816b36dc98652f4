"""Axes and colour scales that figures share: names, shares, equal lines, intervals, probabilities in cividis."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme

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


def dots(
    fig: go.Figure, x: Any, y: Any, color: Any, hover: str, about: Any = None, *, size: Any = 9, **more: Any
) -> None:
    """Add markers; ``hover`` is what the pointer shows, with ``about`` as its custom data."""
    marker = {"color": color, "size": size, **{key[7:]: more.pop(key) for key in [*more] if key.startswith("marker_")}}
    hover = f"{hover}<extra></extra>"
    fig.add_scatter(x=x, y=y, mode="markers", marker=marker, customdata=about, hovertemplate=hover, **more)


def ring(x: float, y: float, size: int = 18, **more: object) -> go.Scatter:
    """A ring around what is chosen."""
    marker = {"color": "rgba(0,0,0,0)", "size": size, "line": {"color": theme.INK, "width": 2}}
    return go.Scatter(x=[x], y=[y], mode="markers", marker=marker, hoverinfo="skip", **more)


Scale = Literal["linear", "log"]
LEAST = 1e-3  # smallest probability that a logarithmic scale tells from 0
UNKNOWN = "rgba(128, 136, 150, 0.3)"  # grey on light and on dark: rows without evidence, which are not zeros
_WHITE, _BLACK = "#ffffff", "#050505"
_EQUAL = 0.1826  # luminance on which white and near-black are equally legible, at a contrast of 4.5


def on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    """Probabilities as the colour axis has them: as they are, or their decimal logarithm from `LEAST` on."""
    return np.log10(np.maximum(values, LEAST)) if scale == "log" else np.asarray(values)


def probability_axis(top: float, scale: Scale) -> dict[str, object]:
    """The colour axis from 0 to ``top``, labelled in percent."""
    if scale == "log":
        ticks = [t for t in (LEAST, 0.01, 0.1, 1.0) if t <= top or t == LEAST]
        words = [f"≤ {100 * LEAST:g} %", *(f"{100 * t:g} %" for t in ticks[1:])]
        ticked = {"tickmode": "array", "tickvals": np.log10(ticks).tolist(), "ticktext": words}
        ends = {"cmin": float(np.log10(LEAST)), "cmax": float(np.log10(max(top, 2 * LEAST)))}
        return {"colorscale": theme.SEQUENTIAL, **ends, "colorbar": bar(**ticked)}
    return {"colorscale": theme.SEQUENTIAL, "cmin": 0, "cmax": top, "colorbar": bar(**percent_ticks(0, top))}


def percent_ticks(low: float, high: float, sign: bool = False) -> dict[str, object]:
    """Ticks of an axis of shares, written ``20 %``, at most eight of them."""
    step = next((s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1) if (high - low) / s <= 7), 0.2)
    at = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    words = [f"{100 * t:{'+' if sign and t else ''}.3g} %".replace("-", "−") for t in at]
    return {"tickmode": "array", "tickvals": at.tolist(), "ticktext": words}


def bar(**more: object) -> dict[str, object]:
    """A slim colour bar."""
    return {"thickness": 12, "outlinewidth": 0, "len": 1.0, "y": 0.5, "xpad": 8, **more}


def readable(
    text: AnyArray, values: FloatArray, colorscale: Sequence[Sequence[float | str]], low: float, high: float
) -> AnyArray:
    """(n, m) strings in white or near-black, whichever is legible on the cell's colour (contrast 4.5 or more)."""
    place = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1).ravel()
    shades = np.array([unlabel_rgb(c) for c in sample_colorscale(list(map(list, colorscale)), place, colortype="rgb")])
    part = shades.reshape(-1, 3) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    light = (linear @ [0.2126, 0.7152, 0.0722] > _EQUAL).reshape(values.shape)
    out = np.empty(values.shape, object)
    for at, words in np.ndenumerate(np.asarray(text, object)):
        ink = theme.INK if np.isnan(values[at]) else _BLACK if light[at] else _WHITE
        out[at] = f'<span style="color:{ink}">{words}</span>' if words else ""
    return out
