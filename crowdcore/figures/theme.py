"""One look for every figure: readable on light and on dark, colour-blind-safe, one colour per method."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable

import plotly.graph_objects as go

__all__ = [
    "ACCENT",
    "DIVERGING",
    "FAINT",
    "INK",
    "PALETTE",
    "SEQUENTIAL",
    "TEMPLATE",
    "WARN",
    "dashes",
    "figure",
    "legend_below",
    "method_color",
]

INK = "#79818d"  # text and axes: contrast of about 4:1 on white and on Streamlit's dark background alike
FAINT = "rgba(128, 136, 150, 0.22)"  # grid lines, empty cells
ACCENT = "#0f7fbf"
WARN = "#e0601f"  # marks what needs a second look; told apart from ACCENT by every kind of colour vision
FONT = "Inter, 'Source Sans 3', 'Source Sans Pro', 'Helvetica Neue', Arial, sans-serif"

# Cividis (Nunez, Anderton & Renslow 2018): luminance rises evenly, the same to all kinds of colour vision.
SEQUENTIAL: list[list[float | str]] = [
    [0.0, "#10316b"],
    [0.125, "#2f4570"],
    [0.25, "#4a5773"],
    [0.375, "#646a76"],
    [0.5, "#7f7d78"],
    [0.625, "#9c9275"],
    [0.75, "#bba96d"],
    [0.875, "#dcc25d"],
    [1.0, "#fde34b"],
]
DIVERGING: list[list[float | str]] = [
    [0.0, "#0b5fa5"],
    [0.25, "#6aa3d1"],
    [0.5, "#e9e9e6"],
    [0.75, "#e59a5f"],
    [1.0, "#b3420e"],
]
# Okabe & Ito's colours, black and yellow replaced by tones that show on both backgrounds.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c7a2e", "#8a63d2", "#7f8894", "#b5525c")

_METHOD_COLORS = {
    "gold": "#b08d2e",
    "dl-true": "#b08d2e",
    "majority-vote": "#7f8894",
    "dl-mv": "#7f8894",
    "dawid-skene": "#0072b2",
    "dl-ds": "#0072b2",
    "one-coin": "#56b4e9",
    "fast-dawid-skene": "#4f8fc0",
    "glad": "#009e73",
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
    "ccc": "#b5525c",
}

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_AXIS = {
    "gridcolor": FAINT,
    "zeroline": False,
    "linecolor": FAINT,
    "automargin": True,
    "ticks": "",
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


def method_color(name: str) -> str:
    """The colour of a method or reference, the same in every figure and every session."""
    digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
    return _METHOD_COLORS.get(name, PALETTE[int.from_bytes(digest, "big") % len(PALETTE)])


def dashes(methods: Iterable[str]) -> list[str]:
    """A dash for each curve: solid for the first of a method, another for its second, …"""
    seen: dict[str, int] = {}
    found = []
    for method in methods:
        found.append(_DASHES[seen.setdefault(method, 0) % len(_DASHES)])
        seen[method] += 1
    return found


def legend_below(fig: go.Figure, n_curves: int) -> go.Figure:
    """The legend under the plot, where any number of curves has room."""
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
    return fig.update_layout(height=380 + 22 * -(-n_curves // 3), legend=legend)


def short(name: object, most: int = 24) -> str:
    """A name that leaves room for the picture: its first characters; entities (``&lt;``) count as one."""
    plain = html.unescape(str(name))
    if len(plain) <= most:
        return str(name)
    cut = f"{plain[: most - 1]}…"
    return html.escape(cut, quote=False) if plain != name else cut
