"""One look for every figure: legible, colour-blind-safe, one colour per method, in the font that journals ask for."""

from __future__ import annotations

import hashlib
import html
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore.core.types import AnyArray, FloatArray, IntArray

INK = "#4f5763"  # text and axes; a dark page replaces it by a light tone (dashboard/style.css, report/page.css)
FAINT = "rgba(128, 136, 150, 0.22)"  # grid lines, empty cells
ACCENT = "#0f7fbf"
WARN = "#e0601f"  # marks what needs a second look; differs from ACCENT to every kind of colour vision
# The same widths on every system, so that a figure laid out on one is not cut on another.
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
_HEIGHT = 450  # pixels of a figure that sets none
_TITLE, _LINE = 48, 16  # pixels of a title, and of each further line of its subtitle

# Cividis (Nunez, Anderton & Renslow 2018): luminance rises evenly, the same to all kinds of colour vision. Its first
# colour is near a dark background.
_CIVIDIS = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"
)  # fmt: skip
SEQUENTIAL: list[list[float | str]] = [[k / 9, color] for k, color in enumerate(_CIVIDIS)]
DIVERGING: list[list[float | str]] = [
    [0.0, "#0b5fa5"],
    [0.25, "#6aa3d1"],
    [0.5, "#e9e9e6"],
    [0.75, "#e59a5f"],
    [1.0, "#b3420e"],
]
DIVERGING_ON_DARK: list[list[float | str]] = [
    [0.0, "#8cc4ee"],
    [0.25, "#3f79a8"],
    [0.5, "#1d2129"],
    [0.75, "#a8602f"],
    [1.0, "#f5a66b"],
]
# Okabe & Ito's colours, black and yellow replaced by tones that show on both backgrounds.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c7a2e", "#8a63d2", "#7f8894", "#b5525c")

_METHOD_COLORS = {
    "gold": "#b08d2e",
    "dl-true": "#b08d2e",
    "auto": "#1f7a7a",
    "majority-vote": "#7f8894",
    "dl-mv": "#7f8894",
    "dawid-skene": "#0072b2",
    "dl-ds": "#0072b2",
    "pooled-dawid-skene": "#34558b",
    "ordinal-dawid-skene": "#2e86a8",
    "span-majority": "#a0764b",
    "hmm-crowd": "#3f7f5f",
    "bsc-seq": "#7b4f9d",
    "crf-ma": "#a3452f",
    "one-coin": "#56b4e9",
    "fast-dawid-skene": "#4f8fc0",
    "glad": "#009e73",
    "item-response": "#4b2fd0",
    "kos": "#e69f00",
    "m-msr": "#6b8e23",
    "mace": "#8c7a2e",
    "wawa": "#b5525c",
    "zero-based-skill": "#cc79a7",
    "trait": "#5f7d1f",
    "worker-clustering": "#8a63d2",
    "conal-em": "#d55e00",
    "conal": "#d55e00",
    "crowd-layer": "#e69f00",
    "trace": "#cc79a7",
    "dl-em": "#009e73",
    "vanilla": "#8a63d2",
    "single-cm": "#56b4e9",
    "soft-bootstrap": "#b5525c",
    "ccc": "#b5525c",
}
_ALIKE = {  # colours that some kind of colour vision confuses with another one (Machado et al. 2009: ΔE < 15)
    "#7f8894": "#cc79a7",
    "#8a63d2": "#0072b2",
    "#4f8fc0": "#56b4e9",
    "#b5525c": "#009e73",
    **dict.fromkeys(("#8c7a2e", "#b08d2e", "#6b8e23"), "#d55e00"),
}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SHARING = 3  # runs of a method that share its colour
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")
PERCENT = {  # an axis of shares, written ``20 %`` as everywhere
    "tickformat": "~%",
    "labelalias": {f"{k / 2:g}%": f"{k / 2:g} %" for k in range(201)},
    "autorangeoptions": {"clipmin": -0.02, "clipmax": 1.02},  # around a single value an axis would reach 1 further
}
_AXIS = {
    "gridcolor": FAINT,
    "zeroline": False,
    "linecolor": FAINT,
    "automargin": True,
    "ticks": "",
    "ticklabeloverflow": "allow",  # to hide some, Plotly measures all at every redraw, and redraws for the margin
    "title": {"font": {"size": 13}, "standoff": 12},
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": INK},
        "title": {
            "font": {"size": 16},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 4, "t": 10},
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": list(PALETTE),
        "margin": {"l": 8, "r": 8, "t": 60, "b": 8},
        "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "bargap": 0.08,
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


def figure(*traces: object, title: str = "", subtitle: str = "", **layout: object) -> go.Figure:
    """Make a figure of traces in the shared look; the subtitle names the reference and the data."""
    fig = go.Figure(list(traces))
    fig.update_layout(template=TEMPLATE, **layout)
    if title:
        fig.update_layout(title={"text": title, "subtitle": {"text": subtitle, "font": {"size": 12}}})
    return fig


def copied(figure: go.Figure) -> go.Figure:
    """Copy a figure that other threads may be drawing: ``Figure(figure)`` takes its types away for a moment."""
    return type(figure)([trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json())


def untitled(figure: go.Figure) -> go.Figure:
    """Copy a figure without its title and subtitle, whose words become ``layout.meta``, and without their room."""
    title, layout = figure.layout.title, figure.layout
    words = [html.unescape(text.replace("<br>", " · ")) for text in (title.text, title.subtitle.text) if text]
    if not words:
        return figure
    room = _TITLE + _LINE * (title.subtitle.text or "").count("<br>")
    height, margin = layout.height or _HEIGHT, layout.margin.t or TEMPLATE.layout.margin.t
    return copied(figure).update_layout(title=None, meta=words, height=height - room, margin_t=margin - room)


def method_color(name: str) -> str:
    """Colour of a method or reference, if not yet taken: the same in every figure and session."""
    digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
    return _METHOD_COLORS.get(name, PALETTE[int.from_bytes(digest, "big") % len(PALETTE)])


class Look(NamedTuple):
    """Style of a curve."""

    color: str
    dash: str
    symbol: str


def looks(methods: Sequence[str]) -> list[Look]:
    """Choose a look for each of up to 36 curves of a figure, no two alike to any kind of colour vision.

    A method's first runs have its own colour if it is free, whatever the order of methods; those with a colour of their
    own come before others. Dash and marker distinguish runs of one colour, and colours that are alike.

    Args:
        methods: of each curve.

    >>> [look.dash for look in looks(["conal", "trace", "conal"])]
    ['solid', 'solid', 'dash']
    """
    seen: Counter[str] = Counter()
    groups = []
    for method in methods:
        groups.append((seen[method] // _SHARING, method not in _METHOD_COLORS, method))
        seen[method] += 1
    colors: dict[tuple[int, bool, str], str] = {}
    taken: Counter[str] = Counter()
    for group, size in sorted(Counter(groups).items()):
        own = [method_color(group[2])] if group[0] == 0 else []
        others = sorted(PALETTE, key=lambda color: taken[_family(color)])
        free = [color for color in (*own, *others) if color not in colors.values()]
        with_room = [color for color in free if taken[_family(color)] + size <= len(_DASHES)]
        colors[group] = (with_room or others)[0]
        taken[_family(colors[group])] += size
    drawn: Counter[str] = Counter()
    chosen = []
    for color in (colors[group] for group in groups):
        k = drawn[_family(color)]
        drawn[_family(color)] += 1
        chosen.append(Look(color, _DASHES[k % len(_DASHES)], _SYMBOLS[k % len(_SYMBOLS)]))
    return chosen


def spreads(std: FloatArray, n: IntArray, noun: str, form: str = ".2f", unit: str = " %") -> AnyArray:
    """Hover text after each mean: ``± 0.52 % (3 seeds)``, or ``(1 seed)``; ``std`` is in that unit."""
    pairs = zip(std.tolist(), n.tolist(), strict=True)
    return np.array([f" (1 {noun})" if k < 2 else f" ± {s:{form}}{unit} ({k} {noun}s)" for s, k in pairs], object)


def _family(color: str) -> str:
    return _ALIKE.get(color, color)


def legend_below(fig: go.Figure, n_curves: int) -> go.Figure:
    """Put the legend under the plot, where any number of curves has room."""
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
    return fig.update_layout(height=380 + 22 * -(-n_curves // 3), legend=legend)


def short(name: object, most: int = 24, begin: int = 0, end: int = 0) -> str:
    """Shorten a name to ``most`` characters: those from ``begin`` on, and the ``end`` last; ``&lt;`` is one."""
    plain = html.unescape(str(name))
    if len(plain) <= most:
        return str(name)
    rest = f"…{plain[begin:]}" if begin else plain
    cut = rest if len(rest) <= most else f"{rest[: most - 1 - end]}…{rest[len(rest) - end :]}"
    return html.escape(cut, quote=False) if plain != name else cut


CROWDED = 24  # names from which they are short and small
_USUAL, _LETTER, _SLANTED = 16, 6.2, 12  # letters of a short name; pixels of one; names up to which they are slanted
NAMED = 60  # workers up to which each has a name on the axis


def named(names: Sequence[object], most: int = 24) -> dict[str, object]:
    """Axis of names, of up to ``most`` characters, at 0, 1, 2, …; of many, small ones of up to 16.

    Names that would look the same also show their ends, or leave out their common beginning.
    """
    crowded = len(names) > CROWDED
    most = min(most, 16) if crowded else most
    texts = list(map(str, names))
    plain = sorted(map(html.unescape, texts)) or [""]
    begin = next((k for k, (a, b) in enumerate(zip(plain[0], plain[-1], strict=False)) if a != b), len(plain[0]))
    ways = (
        [short(text, most) for text in texts],
        [short(text, most, end=most // 2) for text in texts],
        [short(text, most, begin=begin) for text in texts],
    )
    words = max(ways, key=lambda way: len(set(way)))  # the first of the best
    ticks: dict[str, object] = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": words}
    return {**ticks, "tickfont": {"size": 8}} if crowded else ticks


def room_below(names: Sequence[object], most: int = 24) -> int:
    """Pixels below a figure that an axis of `named` takes beyond short names: slanted, or above a dozen upright."""
    longest = max((len(html.unescape(str(word))) for word in named(names, most)["ticktext"]), default=0)  # type: ignore[attr-defined]
    return math.ceil(max(longest - _USUAL, 0) * _LETTER * (1 if len(names) > _SLANTED else math.sin(math.radians(40))))


def ranked(names: AnyArray) -> dict[str, object]:
    """Axis of ranked workers at 0, 1, 2, …: their names upright, or of many only the title ``rank``."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": names, "tickangle": -90, "tickfont_size": 10}
    words = ticks if len(names) <= NAMED else {"title": "rank"}
    return {**words, "showgrid": False, "range": [-0.8, max(len(names), 1) - 0.2]}


def equal_line(fig: go.Figure, low: float, high: float) -> None:
    """Add a dotted line where both axes have the same value."""
    fig.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, line=DOTTED, layer="below")


def interval(low: FloatArray, middle: FloatArray, high: FloatArray, **style: object) -> dict[str, object]:
    """Error bars from low to high."""
    above, below = np.maximum(high - middle, 0), np.maximum(middle - low, 0)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **style}


def dots(
    fig: go.Figure, x: Any, y: Any, color: Any, hover: str, about: Any = None, *, size: Any = 9, **more: Any
) -> None:
    """Add markers; ``hover`` is their hover text, with ``about`` as its custom data."""
    marker = {"color": color, "size": size, **{key[7:]: more.pop(key) for key in [*more] if key.startswith("marker_")}}
    hover = f"{hover}<extra></extra>"
    fig.add_scatter(x=x, y=y, mode="markers", marker=marker, customdata=about, hovertemplate=hover, **more)


def line(fig: go.Figure, x: Any, y: Any, color: str, width: float = 2, dash: str | None = None, **more: Any) -> None:
    """Add a line without hover text."""
    style = {"color": color, "width": width, "dash": dash}
    fig.add_scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", **more)


def ring(x: float, y: float, size: int = 18, **more: object) -> go.Scatter:
    """Ring around a chosen point."""
    marker = {"color": "rgba(0,0,0,0)", "size": size, "line": {"color": INK, "width": 2}}
    return go.Scatter(x=[x], y=[y], mode="markers", marker=marker, hoverinfo="skip", **more)


Scale = Literal["linear", "log"]
LEAST = 1e-3  # smallest probability that a logarithmic scale distinguishes from 0
DOTTED = {"color": INK, "dash": "dot", "width": 1}
UNKNOWN = "rgba(128, 136, 150, 0.3)"  # grey on light and on dark: rows without evidence, which are not zeros
_WHITE, _BLACK = "#ffffff", "#050505"
_EQUAL = 0.1826  # luminance on which white and near-black are equally legible, at a contrast of 4.5


def on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    """Values of probabilities on the colour axis: themselves, or their decimal logarithm from `LEAST` on."""
    return np.log10(np.maximum(values, LEAST)) if scale == "log" else np.asarray(values)


def probability_axis(top: float, scale: Scale) -> dict[str, object]:
    """Colour axis from 0 to ``top``, labelled in percent."""
    if scale == "log":
        ticks = [t for t in (LEAST, 0.01, 0.1, 1.0) if t <= top or t == LEAST]
        words = [f"≤ {100 * LEAST:g} %", *(f"{100 * t:g} %" for t in ticks[1:])]
        ticked = {"tickmode": "array", "tickvals": np.log10(ticks).tolist(), "ticktext": words}
        ends = {"cmin": float(np.log10(LEAST)), "cmax": float(np.log10(max(top, 2 * LEAST)))}
        return {"colorscale": SEQUENTIAL, **ends, "colorbar": bar(**ticked)}
    return {"colorscale": SEQUENTIAL, "cmin": 0, "cmax": top, "colorbar": bar(**percent_ticks(0, top))}


def percent_ticks(low: float, high: float, sign: bool = False) -> dict[str, object]:
    """Ticks of an axis of shares, written ``20 %``, at most eight of them."""
    step = next((s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1) if (high - low) / s <= 7), 0.2)
    at = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    words = [f"{100 * t:{'+' if sign and t else ''}.3g} %".replace("-", "−") for t in at]
    return {"tickmode": "array", "tickvals": at.tolist(), "ticktext": words}


def bar(**more: object) -> dict[str, object]:
    """Slim colour bar."""
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
        ink = INK if np.isnan(values[at]) else _BLACK if light[at] else _WHITE
        out[at] = f'<span style="color:{ink}">{words}</span>' if words else ""
    return out
