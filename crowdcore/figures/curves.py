"""Methods side by side: scores along a setting, per class and seed, ranks, critical differences (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.method_tests import CriticalDifference
from crowdcore.analysis.recovery.seeds import Band
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.figures import theme
from crowdcore.figures.theme import dots, named

_FEW = 3  # single points of a method that still have names of their own in the legend
_MANY = 8  # positions on the axis from which lines carry no markers
_WIDE = 50.0  # largest over smallest value from which an axis is logarithmic
_SPREAD = 0.7  # of the room of a class that its markers take


def accuracy_along(
    bands: Sequence[Band],
    x: str,
    y: str = "test accuracy",
    *,
    share: bool = True,
    title: str = "Test accuracy along what varies",
    subtitle: str = "",
) -> go.Figure:
    """Plot accuracy, or another score, along a setting or a property of the crowd, ± one standard deviation over seeds.

    Args:
        bands: one per curve; positions may be numbers, or words, which stand at equal distances.
        x: title of the setting.
        y: title of the score.
        share: whether the score is a share, written in percent.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    scale_y, form, unit = (100, ".2f", " %") if share else (1, ".4f", "")
    places = list(dict.fromkeys(v for b in bands for v in b.x.tolist()))
    axis, scale = _scale(places)
    drawn = _curves_and_clouds(bands)
    looks = theme.looks([members[0].method for _, members in drawn])
    for look, (name, members) in zip(looks, drawn, strict=True):
        at, mean, std, n = (
            np.concatenate(parts) for parts in zip(*((b.x, b.mean, b.std, b.n) for b in members), strict=True)
        )
        names = np.repeat([b.name for b in members], [len(b.x) for b in members])
        fig.add_scatter(
            x=[axis[v] for v in at.tolist()],
            y=mean,
            error_y=_bars(mean, std, look.color, 4),
            mode="lines+markers" if len(members) == 1 else "markers",
            line={"color": look.color, "width": 2, "dash": look.dash},
            marker={"size": 8, "color": look.color, "symbol": look.symbol},
            customdata=np.stack(
                [at.astype(object), theme.spreads(scale_y * std, n, "value", form, unit), names, scale_y * mean], 1
            ),
            hovertemplate=f"<b>%{{customdata[2]}}</b>, {x} %{{customdata[0]}}<br>"
            f"%{{customdata[3]:{form}}}{unit}%{{customdata[1]}}<extra></extra>",
            name=name,
        )
    fig.update_xaxes(title=x, **scale)
    fig.update_yaxes(title=y, **(theme.PERCENT if share else {}))
    return theme.legend_below(fig, len(drawn))


def _curves_and_clouds(bands: Sequence[Band]) -> list[tuple[str, list[Band]]]:
    """Group bands: curves one by one, and a method's many single points from a search together."""
    points: dict[str, list[Band]] = {}
    for b in bands:
        if len(b.x) == 1:
            points.setdefault(b.method, []).append(b)
    clouds = {method: members for method, members in points.items() if len(members) > _FEW}
    curves = [(b.name, [b]) for b in bands if len(b.x) > 1 or b.method not in clouds]
    return [*curves, *((f"{method}, {len(members)} settings", members) for method, members in clouds.items())]


def class_accuracy(
    bands: Sequence[Band], *, title: str = "Accuracy per class", subtitle: str = "", gap: float = _SPREAD
) -> go.Figure:
    """Plot accuracy among the test tasks of each class, the runs beside each other.

    Args:
        bands: along the class names, one per run.
        subtitle: data, remarks.
        gap: share of a class's room that its markers spread over.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    offset = gap * ((np.arange(len(bands)) + 0.5) / max(len(bands), 1) - 0.5)
    for shift, look, b in zip(offset, theme.looks([b.method for b in bands]), bands, strict=True):
        about = np.stack([b.x.astype(object), theme.spreads(100 * b.std, b.n, "seed", ".1f"), 100 * b.mean], 1)
        hover = f"<b>{b.name}</b>, %{{customdata[0]}}<br>%{{customdata[2]:.1f}} %%{{customdata[1]}}"
        more = {"marker_symbol": look.symbol, "error_y": _bars(b.mean, b.std, look.color, 3), "name": b.name}
        dots(fig, np.arange(len(b.x)) + shift, b.mean, look.color, hover, about, **more)
    classes = bands[0].x.tolist() if len(bands) else []
    fig.update_xaxes(**named(classes), range=[-0.5, len(classes) - 0.5], showgrid=False, autotickangles=[0, -40, -90])
    fig.update_yaxes(title="test accuracy", **theme.PERCENT)
    return theme.legend_below(fig, len(bands))


def seed_accuracies(
    values: Sequence[FloatArray],
    bands: Sequence[Band],
    ensembles: Sequence[float] = (),
    *,
    title: str = "Test accuracy of every seed",
    subtitle: str = "",
) -> go.Figure:
    """Plot every seed as a dot, and of several their mean ± standard deviation and their ensemble; one row per run.

    Args:
        values: (S,) of each run.
        bands: one position each: mean and standard deviation of those values.
        ensembles: accuracy of the mean of the seeds' predictions, of each run; NaN or empty: none.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    looks = theme.looks([b.method for b in bands])
    for k, (seeds, b, look) in enumerate(zip(values, bands, looks, strict=True)):
        hover = f"<b>{b.name}</b><br>%{{customdata:.2f}} %"
        dots(fig, seeds, np.full(len(seeds), k), look.color, hover, 100 * seeds, marker_opacity=0.45)
        if len(seeds) < 2:
            continue
        hover = f"<b>{b.name}</b><br>{100 * b.mean[0]:.2f} %{theme.spreads(100 * b.std, b.n, 'seed')[0]}"
        diamond = {"size": 11, "marker_symbol": "diamond", "error_x": _bars(b.mean, b.std, look.color, 5)}
        dots(fig, b.mean, [k - 0.25], look.color, hover, **diamond)
        if len(ensembles) and not np.isnan(ensembles[k]):
            hover = f"<b>{b.name}</b>, ensemble<br>{100 * ensembles[k]:.2f} %"
            dots(fig, [ensembles[k]], [k - 0.25], look.color, hover, size=12, marker_symbol="star")
    labels = {"tickmode": "array", "tickvals": list(range(len(bands))), "ticktext": [b.name for b in bands]}
    fig.update_xaxes(title="test accuracy", **theme.PERCENT)
    fig.update_yaxes(**labels, range=[len(bands) - 0.5, -0.6], showgrid=False)
    return fig.update_layout(height=150 + 46 * max(len(bands), 1), showlegend=False)


def _bars(mean: FloatArray, std: FloatArray, color: str, width: int) -> dict[str, object] | None:
    """Error bars of one standard deviation, cut at 0 and 1; none for single values."""
    if np.isnan(std).all():
        return None
    above, below = np.minimum(std, 1 - mean), np.minimum(std, mean)
    return {"array": above, "arrayminus": below, "symmetric": False, "color": color, "thickness": 1.5, "width": width}


def _scale(places: list[object]) -> tuple[dict[object, float], dict[str, object]]:
    """Coordinates of all positions, and the axis for them: linear, logarithmic, or words at equal distances."""
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
    ticks = {
        "tickmode": "array",
        "tickvals": list(range(len(places))),
        "ticktext": [f"{v:g}" if isinstance(v, float) else str(v) for v in places],
    }
    return {v: float(k) for k, v in enumerate(places)}, {**ticks, "showgrid": False}


_ROW = 42  # pixels between two ranks
_STEP = 0.85  # of a rank, between methods that share one: the ranks behind them are free


def rank_changes(
    names: Sequence[str],
    methods: Sequence[str],
    rank: IntArray,
    accuracy: FloatArray,
    ways: tuple[str, str],
    *,
    title: str = "Ranks by what selects the epoch",
    subtitle: str = "",
) -> go.Figure:
    """Draw one line per method from its rank on the left to its rank on the right, best on top.

    Args:
        names: (G,) of the methods.
        methods: (G,) registered names, which set their colours.
        rank: (G, 2) on the left and on the right, 1 is best.
        accuracy: (G, 2) shares behind the ranks.
        ways: titles of the left and the right ranking.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    same = (rank[:, None] == rank[None]).cumsum(0)  # 1, 2, … among the methods that share a rank
    height = rank + _STEP * (same[range(len(rank)), range(len(rank))] - 1 if len(rank) else 0)
    for k, (name, look) in enumerate(zip(names, theme.looks(methods), strict=True)):
        fig.add_scatter(
            x=[0, 1],
            y=height[k],
            mode="lines+markers",
            line={"color": look.color, "width": 2.5, "dash": look.dash},
            marker={"size": 10, "color": look.color, "symbol": look.symbol},
            customdata=[[ways[side], rank[k, side], 100 * accuracy[k, side]] for side in (0, 1)],
            hovertemplate=f"<b>{name}</b>, %{{customdata[0]}}<br>rank %{{customdata[1]}}: %{{customdata[2]:.2f}} %"
            "<extra></extra>",
            name=name,
        )
        for side, anchor in ((0, "right"), (1, "left")):
            text = f"{rank[k, side]}. {theme.short(name)}<br>{100 * accuracy[k, side]:.1f} %"
            fig.add_annotation(
                x=side,
                y=height[k, side],
                text=text,
                align=anchor,
                showarrow=False,
                xanchor=anchor,
                xshift=10 if side else -10,
            )
    fig.update_xaxes(
        range=[-0.9, 1.9], tickvals=[0, 1], ticktext=list(ways), side="top", showgrid=False, fixedrange=True
    )
    fig.update_yaxes(range=[len(names) + 0.7, 0.4], visible=False, fixedrange=True)
    return fig.update_layout(height=150 + _ROW * len(names), margin={"t": 92}, showlegend=False)


_NAME_ROW = 30  # pixels between two names
_MARGIN = 0.45  # ranks of room for the names, as a share of the ranks drawn


def critical_difference(
    result: CriticalDifference,
    methods: Mapping[str, str] | None = None,
    *,
    title: str = "Critical difference",
    subtitle: str = "",
) -> go.Figure:
    """Draw mean ranks, best on the left; a bar joins those whose ranks do not differ.

    Args:
        result: from `analysis.critical_difference`.
        methods: name -> registered method, which sets its colour; default: the name itself.
        subtitle: data, remarks.
    """
    k, bars = len(result.names), len(result.groups)
    half = -(-k // 2)
    fig = theme.figure(title=title, subtitle=subtitle)
    width = max(k - 1, 1)
    left, right = 1 - _MARGIN * width, k + _MARGIN * width
    depth = bars + half + 0.6
    theme.line(fig, [1, k], [0, 0], theme.INK, 1.5)
    for rank in range(1, k + 1):
        theme.line(fig, [rank, rank], [0, 0.25], theme.INK, 1.5)
        fig.add_annotation(x=rank, y=0.3, text=str(rank), showarrow=False, yanchor="bottom")
    span = min(result.difference, float(width))
    words = f"CD = {result.difference:.2f}" + (" (wider than the scale)" if result.difference > width else "")
    theme.line(fig, [1, 1 + span], [1.7, 1.7], theme.INK, 2)
    fig.add_annotation(x=1, y=1.8, text=words, showarrow=False, xanchor="left", yanchor="bottom")
    for number, (first, last) in enumerate(result.groups):
        reach = [result.rank[first] - 0.03 * width, result.rank[last] + 0.03 * width]
        theme.line(fig, reach, [-0.6 - number] * 2, theme.INK, 5)
    looks = theme.looks([(methods or {}).get(name, name) for name in result.names])
    for place, (name, rank, look) in enumerate(zip(result.names, result.rank, looks, strict=True)):
        color = look.color
        on_left = place < half
        y = -(bars + 0.6 + (place if on_left else k - 1 - place))
        end = left if on_left else right
        theme.line(fig, [rank, rank, end], [0, y, y], color, 2)
        dots(fig, [rank], [0], color, f"<b>{name}</b><br>mean rank %{{x:.2f}} over {result.n_blocks}", size=10)
        side = {"x": end, "xanchor": "left" if on_left else "right", "y": y, "yanchor": "bottom"}
        fig.add_annotation(**side, text=f"{name} <b>{rank:.2f}</b>", showarrow=False)
    fig.update_xaxes(range=[left, right], visible=False)
    fig.update_yaxes(range=[-depth, 2.6], visible=False)
    return fig.update_layout(height=int(80 + _NAME_ROW * (depth + 2.6)), showlegend=False)
