"""Methods over epochs, along a setting or a property of the crowd, and per class: means with the spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.bands import Band
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme

__all__ = ["accuracy_along", "class_accuracy", "learning_curves", "seed_accuracies"]

_BAND = 0.16  # opacity of mean ± standard deviation
_FEW = 3  # single points of a method that still have names of their own in the legend
_MANY = 8  # positions on the axis from which lines carry no markers
_WIDE = 50.0  # largest over smallest value from which an axis is logarithmic
_SPREAD = 0.7  # of the room of a class that its markers take


def learning_curves(
    bands: Sequence[Band],
    metric: str,
    *,
    selected: Sequence[FloatArray] = (),
    percent: bool = True,
    title: str = "Learning curves",
    subtitle: str = "",
) -> go.Figure:
    """Mean over seeds by epoch, with a band of one standard deviation; the selected epochs are marked.

    Args:
        bands: over epochs, one per run; a method keeps its colour, its second run is dashed.
        metric: what is drawn, in words.
        selected: (S,) epochs per run, drawn as one mark at their median.
        percent: whether the values are shares.
        title: title of the figure.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    form = ".1%" if percent else ".4g"
    for k, (dash, b) in enumerate(zip(theme.dashes(b.method for b in bands), bands, strict=True)):
        color, some = theme.method_color(b.method), ~np.isnan(b.mean)
        x, mean, std = b.x[some], b.mean[some], np.nan_to_num(b.std[some])
        fig.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([mean + std, (mean - std)[::-1]]),
            fill="toself",
            fillcolor=_faded(color),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            legendgroup=b.name,
            name=b.name,
        )
        fig.add_scatter(
            x=x,
            y=mean,
            mode="lines",
            line={"color": color, "width": 2, "dash": dash},
            customdata=np.stack([b.std[some], b.n[some]], 1),
            hovertemplate=f"<b>{b.name}</b>, epoch %{{x}}<br>%{{y:{form}}} ± %{{customdata[0]:{form}}} "
            "(%{customdata[1]} seeds)<extra></extra>",
            legendgroup=b.name,
            name=b.name,
        )
        if len(selected):
            at = float(np.median(selected[k]))
            fig.add_scatter(
                x=[at],
                y=[np.interp(at, x, mean)],
                mode="markers",
                marker={"symbol": "diamond", "size": 10, "color": color, "line": {"width": 1.5, "color": "white"}},
                hovertemplate=f"<b>{b.name}</b><br>selected epochs {_listed(selected[k])}<extra></extra>",
                showlegend=False,
                legendgroup=b.name,
                name=b.name,
            )
    fig.update_xaxes(title="epoch", rangemode="tozero", showgrid=False)
    fig.update_yaxes(title=metric, tickformat="~%" if percent else None)
    return theme.legend_below(fig, len(bands))


def accuracy_along(
    bands: Sequence[Band], x: str, *, title: str = "Test accuracy along what varies", subtitle: str = ""
) -> go.Figure:
    """Accuracy along a setting or a property of the crowd, with one standard deviation over seeds.

    Args:
        bands: one per curve; positions may be numbers, or words, which stand at equal distances.
        x: what varies.
        title: title of the figure.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    places = list(dict.fromkeys(v for b in bands for v in b.x.tolist()))
    axis, scale = _scale(places)
    drawn = _curves_and_clouds(bands)
    for dash, (name, members) in zip(theme.dashes(members[0].method for _, members in drawn), drawn, strict=True):
        color = theme.method_color(members[0].method)
        at, std, n = (np.concatenate(parts) for parts in zip(*((b.x, b.std, b.n) for b in members), strict=True))
        names = np.repeat([b.name for b in members], [len(b.x) for b in members])
        fig.add_scatter(
            x=[axis[v] for v in at.tolist()],
            y=np.concatenate([b.mean for b in members]),
            error_y={"array": np.nan_to_num(std), "color": color, "thickness": 1.2, "width": 4},
            mode="lines+markers" if len(members) == 1 else "markers",
            line={"color": color, "width": 2, "dash": dash},
            marker={"size": 8, "color": color},
            customdata=np.stack([at.astype(object), std, n, names.astype(object)], 1),
            hovertemplate=f"<b>%{{customdata[3]}}</b>, {x} %{{customdata[0]}}<br>%{{y:.2%}} ± %{{customdata[1]:.2%}} "
            "(%{customdata[2]} values)<extra></extra>",
            name=name,
        )
    fig.update_xaxes(title=x, **scale)
    fig.update_yaxes(title="test accuracy", tickformat="~%")
    return theme.legend_below(fig, len(drawn))


def _curves_and_clouds(bands: Sequence[Band]) -> list[tuple[str, list[Band]]]:
    """What is drawn together: a curve by itself; the many single points of a method, as a search leaves, too."""
    points: dict[str, list[Band]] = {}
    for b in bands:
        if len(b.x) == 1:
            points.setdefault(b.method, []).append(b)
    clouds = {method: found for method, found in points.items() if len(found) > _FEW}
    curves = [(b.name, [b]) for b in bands if len(b.x) > 1 or b.method not in clouds]
    return [*curves, *((f"{method}, {len(found)} settings", found) for method, found in clouds.items())]


def class_accuracy(
    bands: Sequence[Band], *, title: str = "Accuracy per class", subtitle: str = "", gap: float = _SPREAD
) -> go.Figure:
    """Accuracy among the test tasks of each class, the runs beside each other.

    Args:
        bands: along the class names, one per run.
        title: title of the figure.
        subtitle: data, remarks.
        gap: share of a class's room that its markers spread over.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    offset = gap * ((np.arange(len(bands)) + 0.5) / max(len(bands), 1) - 0.5)
    seen: dict[str, int] = {}
    for shift, b in zip(offset, bands, strict=True):
        color, again = theme.method_color(b.method), seen.setdefault(b.method, 0)
        seen[b.method] += 1
        fig.add_scatter(
            x=np.arange(len(b.x)) + shift,
            y=b.mean,
            error_y={"array": np.nan_to_num(b.std), "color": color, "thickness": 1.2, "width": 3},
            mode="markers",
            marker={"size": 9, "color": color, "symbol": ("circle", "square", "diamond", "cross", "x")[again % 5]},
            customdata=np.stack([b.x.astype(object), b.std], 1),
            hovertemplate=f"<b>{b.name}</b>, %{{customdata[0]}}<br>%{{y:.1%}} ± %{{customdata[1]:.1%}}<extra></extra>",
            name=b.name,
        )
    classes = bands[0].x.tolist() if len(bands) else []
    labels = {"tickmode": "array", "tickvals": list(range(len(classes))), "ticktext": list(map(theme.short, classes))}
    fig.update_xaxes(**labels, range=[-0.5, len(classes) - 0.5], showgrid=False, autotickangles=[0, -40, -90])
    fig.update_yaxes(title="test accuracy", tickformat="~%")
    return theme.legend_below(fig, len(bands))


def seed_accuracies(
    values: Sequence[FloatArray],
    bands: Sequence[Band],
    *,
    title: str = "Test accuracy of every seed",
    subtitle: str = "",
) -> go.Figure:
    """Every seed as a dot, their mean and standard deviation above them; one row per run.

    Args:
        values: (S,) of each run.
        bands: one position each: mean and standard deviation of those values.
        title: title of the figure.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    for k, (dots, b) in enumerate(zip(values, bands, strict=True)):
        color = theme.method_color(b.method)
        fig.add_scatter(
            x=dots,
            y=np.full(len(dots), k),
            mode="markers",
            marker={"size": 9, "color": color, "opacity": 0.45},
            hovertemplate=f"<b>{b.name}</b><br>%{{x:.2%}}<extra></extra>",
        )
        fig.add_scatter(
            x=b.mean,
            y=[k - 0.25],
            error_x={"array": np.nan_to_num(b.std), "color": color, "thickness": 2, "width": 5},
            mode="markers",
            marker={"size": 11, "color": color, "symbol": "diamond"},
            customdata=np.stack([b.std, b.n], 1),
            hovertemplate=f"<b>{b.name}</b><br>%{{x:.2%}} ± %{{customdata[0]:.2%}} (%{{customdata[1]}} seeds)"
            "<extra></extra>",
        )
    labels = {"tickmode": "array", "tickvals": list(range(len(bands))), "ticktext": [b.name for b in bands]}
    fig.update_xaxes(title="test accuracy", tickformat="~%")
    fig.update_yaxes(**labels, range=[len(bands) - 0.5, -0.6], showgrid=False)
    return fig.update_layout(height=150 + 46 * max(len(bands), 1), showlegend=False)


def _scale(places: list[object]) -> tuple[dict[object, float], dict[str, object]]:
    """Where each position lies, and the axis for it: linear, logarithmic, or words at equal distances."""
    numbers = [v for v in places if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(places):
        ordered = sorted(numbers)
        wide = bool(ordered) and ordered[0] > 0 and ordered[-1] / ordered[0] >= _WIDE
        uneven = len(ordered) > 2 and ordered[0] <= 0 and ordered[-1] / min(v for v in ordered if v > 0) >= _WIDE
        if not uneven:
            few: dict[str, object] = {"tickmode": "array", "tickvals": ordered, "ticktext": [f"{v:g}" for v in ordered]}
            few = few if len(ordered) <= _MANY else {"exponentformat": "power"}
            kind = "log" if wide else "linear"
            return {v: v for v in places}, {**few, "type": kind, "showgrid": False}  # type: ignore[misc]
        places = list(ordered)
    ticks = {"tickmode": "array", "tickvals": list(range(len(places))), "ticktext": list(map(_worded, places))}
    return {v: float(k) for k, v in enumerate(places)}, {**ticks, "showgrid": False}


def _worded(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _listed(epochs: AnyArray) -> str:
    return ", ".join(str(int(e)) for e in epochs)


def _faded(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {_BAND})"
