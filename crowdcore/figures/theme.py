"""One look for every figure: legible, colour-blind-safe, one colour per method, in the font that journals ask for."""

from __future__ import annotations

import hashlib
import html
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.types import AnyArray, FloatArray, IntArray

INK = "#4f5763"  # text and axes; a dark page replaces it by a light tone (dashboard/style.css, report/page.css)
FAINT = "rgba(128, 136, 150, 0.22)"  # grid lines, empty cells
ACCENT = "#0f7fbf"
WARN = "#e0601f"  # marks what needs a second look; told apart from ACCENT by every kind of colour vision
# Of the same widths on every system, so that a figure laid out on one is not cut on another.
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"

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
_ALIKE = {  # colours that some kind of colour vision takes for another one (Machado et al. 2009: ΔE < 15)
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
    """An empty figure in the shared look with these traces; the subtitle names the reference and the data."""
    fig = go.Figure(list(traces))
    fig.update_layout(template=TEMPLATE, **layout)
    if title:
        fig.update_layout(title={"text": title, "subtitle": {"text": subtitle, "font": {"size": 12}}})
    return fig


def copied(figure: go.Figure) -> go.Figure:
    """A copy of a figure that other threads may be drawing: ``Figure(figure)`` takes its types away for a moment."""
    return type(figure)([trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json())


def method_color(name: str) -> str:
    """The colour that a method or reference has where it is free: the same in every figure and every session."""
    digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
    return _METHOD_COLORS.get(name, PALETTE[int.from_bytes(digest, "big") % len(PALETTE)])


class Look(NamedTuple):
    """How a curve is drawn."""

    color: str
    dash: str
    symbol: str


def looks(methods: Sequence[str]) -> list[Look]:
    """A look for each of up to 36 curves of a figure, no two alike to any kind of colour vision.

    A method's first runs have its own colour where that is free, whatever the order of methods; those with a colour of
    their own come before others. Dash and marker tell apart runs of one colour, and colours that are alike.

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
    """What the pointer adds to each mean: ``± 0.52 % (3 seeds)``, or ``(1 seed)``; ``std`` is in that unit."""
    pairs = zip(std.tolist(), n.tolist(), strict=True)
    return np.array([f" (1 {noun})" if k < 2 else f" ± {s:{form}}{unit} ({k} {noun}s)" for s, k in pairs], object)


def _family(color: str) -> str:
    return _ALIKE.get(color, color)


def legend_below(fig: go.Figure, n_curves: int) -> go.Figure:
    """The legend under the plot, where any number of curves has room."""
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
    return fig.update_layout(height=380 + 22 * -(-n_curves // 3), legend=legend)


def short(name: object, most: int = 24, begin: int = 0, end: int = 0) -> str:
    """A name that leaves room for the picture: characters from ``begin``, and ``end`` last; ``&lt;`` is one."""
    plain = html.unescape(str(name))
    if len(plain) <= most:
        return str(name)
    rest = f"…{plain[begin:]}" if begin else plain
    cut = rest if len(rest) <= most else f"{rest[: most - 1 - end]}…{rest[len(rest) - end :]}"
    return html.escape(cut, quote=False) if plain != name else cut
