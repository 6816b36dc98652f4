"""Sources of labels: ω by task, by class, by worker, and against the truth of a simulation (CoNAL, Fig. 10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore import analysis
from crowdcore.analysis.recovery.omega import OmegaRanking, OmegaSpread, OmegaTruth
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.figures import theme
from crowdcore.figures.doors import draws
from crowdcore.figures.heatmap import heatmap
from crowdcore.figures.theme import dots, named, percent_ticks, ring

BINS = 50  # of ω̄ between 0 and 1
_STRIPS = 24  # classes of which each has a strip
_NAMED = 60  # names on an axis
_SHAPES = 24  # groups whose distribution has an outline
_BELOW = {"y": -0.2, "yanchor": "top"}  # a legend beneath the axis, where it may take several lines


@draws(analysis.omega_ranking)
def omega_ranking(
    ranking: OmegaRanking, *, highlight: int | None = None, title: str = "Tasks by ω̄, the share of common noise"
) -> go.Figure:
    """Plot the distribution of the tasks' ω̄: a strip for all tasks, then one per class, largest mean first.

    A bar's last custom value is ``c * BINS + b``: its class (C for all tasks) and its bin.

    Args:
        ranking: from `analysis.omega_ranking`.
        highlight: number of a task to mark.
    """
    edges, counts = ranking.histogram(BINS)
    n = len(ranking.classes)
    known = np.flatnonzero(counts[:n].any(1)) if n <= _STRIPS else np.empty(0, np.int64)
    order = [n, *known[np.lexsort((known, -ranking.class_omega[known]))].tolist()]
    names = [*ranking.classes, "all tasks"]
    means = [*ranking.class_omega, float(ranking.omega.mean())]
    words = [f"{len(ranking.task):,} tasks", ranking.combined, f"reference: {ranking.reference}"]
    fig = theme.figure(title=title, subtitle=" · ".join(words), height=160 + 44 * len(order), margin_t=94, bargap=0)
    for k, c in enumerate(order):
        fig.add_trace(_strip(edges, counts[c], names[c], c, -float(k)))
    x, y = [means[c] for c in order], [0.12 - k for k in range(len(order))]
    dots(fig, x, y, theme.WARN, "mean ω̄ %{x:.3f}", marker_symbol="diamond", name="mean")
    if highlight is not None and highlight in ranking.task:
        task = int(np.flatnonzero(ranking.task == highlight)[0])
        row = order.index(int(ranking.label[task])) if int(ranking.label[task]) in order else 0
        fig.add_trace(ring(ranking.omega[task], 0.12 - row, 16, name="the chosen task"))
    cut = float(ranking.omega[[ranking.n_top - 1, min(ranking.n_top, len(ranking.omega) - 1)]].mean())
    fig.add_vline(x=cut, line=theme.DOTTED)
    side = "right" if cut > 0.7 else "left" if cut < 0.3 else "center"
    middle = f"&nbsp;median {cut:.2f}, top half to its right&nbsp;"
    fig.add_annotation(x=cut, y=1, yref="paper", text=middle, showarrow=False, xanchor=side, yanchor="bottom")
    ticks = {"tickmode": "array", "tickvals": [-k for k in range(len(order))]}
    fig.update_yaxes(**ticks, ticktext=[theme.short(names[c]) for c in order], range=[0.05 - len(order) + 0.9, 1.0])
    fig.update_layout(barmode="overlay", showlegend=False)
    return fig.update_xaxes(title="ω̄ of a task", range=[0, 1.005], dtick=0.2)


def _strip(edges: FloatArray, counts: IntArray, name: str, number: int, base: float) -> go.Bar:
    """Histogram of a class, scaled to its fullest bin."""
    bins = np.flatnonzero(counts)
    total = int(counts.sum())
    data = np.empty((len(bins), 5), object)
    for k, b in enumerate(bins.tolist()):
        data[k] = edges[b], edges[b + 1], int(counts[b]), 100 * counts[b] / total, number * BINS + b
    return go.Bar(
        x=(edges[bins] + edges[bins + 1]) / 2,
        y=0.85 * counts[bins] / max(int(counts.max()), 1),
        base=base,
        width=np.diff(edges)[bins],
        name=name,
        marker={"color": theme.ACCENT, "line": {"width": 0}},
        customdata=data,
        hovertemplate=f"<b>{name}</b><br>ω̄ from %{{customdata[0]:.2f}} to %{{customdata[1]:.2f}}: "
        "%{customdata[2]:,} tasks (%{customdata[3]:.1f} %)<extra></extra>",
    )


@draws(analysis.omega_ranking)
def omega_halves(ranking: OmegaRanking, *, title: str = "True classes in the two halves of the ranking") -> go.Figure:
    """Plot the tasks of each class in the top and the bottom half by ω̄ (Fig. 10), and below them the entropy."""
    n = len(ranking.classes)
    x = list(range(n))
    names = np.array(ranking.classes, object)
    total = ranking.top + ranking.bottom
    bars = [
        go.Bar(
            x=x,
            y=values,
            name=name,
            offsetgroup=kind,
            marker={"color": color, "cornerradius": 3},
            customdata=np.stack([names, 100 * values / np.where(total > 0, total, np.nan)], axis=1),
            hovertemplate="<b>%{customdata[0]}</b><br>%{y:.5~g} tasks in the " + kind + " half "
            "(%{customdata[1]:.3g} % of the class)<extra></extra>",
        )
        for name, kind, values, color in (
            (f"top half: {ranking.n_top:,} tasks, more common noise", "top", ranking.top, theme.PALETTE[4]),
            (f"bottom half: {len(ranking.task) - ranking.n_top:,} tasks", "bottom", ranking.bottom, theme.ACCENT),
        )
    ]
    below = go.Bar(
        x=x,
        y=ranking.class_entropy,
        name="annotation entropy (nats)",
        marker={"color": "rgba(128, 136, 150, 0.6)", "cornerradius": 3},
        yaxis="y2",
        width=0.5,
        offset=-0.25,
        text=[f"{e:.2f}" if e == e else "" for e in ranking.class_entropy] if n <= _NAMED / 3 else None,
        textposition="outside",
        cliponaxis=False,
        customdata=np.stack([names, ranking.class_omega], axis=1),
        hovertemplate="<b>%{customdata[0]}</b><br>annotation entropy %{y:.3f} nats<br>"
        "mean ω̄ of its tasks %{customdata[1]:.3f}<extra></extra>",
    )
    r = ranking.class_correlation
    words = [f"mean ω̄ against entropy over classes: Spearman {r:+z.2f}" if r == r else "", ranking.combined]
    subtitle = " · ".join(filter(None, [*words, f"reference: {ranking.reference}"]))
    fig = theme.figure(*bars, below, title=title, subtitle=subtitle, height=470, barmode="group", bargap=0.25)
    top = float(np.nanmax(ranking.class_entropy)) if np.isfinite(ranking.class_entropy).any() else 1.0
    fig.update_layout(
        margin_t=64,
        legend=_BELOW,
        yaxis={"domain": [0.36, 1], "title": {"text": "tasks"}, "rangemode": "tozero"},
        yaxis2={
            "domain": [0, 0.24],
            "title": {"text": "entropy"},
            "range": [0, 1.25 * top or 1.0],
            "gridcolor": theme.FAINT,
            "nticks": 3,
        },
        xaxis_anchor="y2",
    )
    return fig.update_xaxes(**_names(ranking.classes), showgrid=False)


@draws(analysis.omega_spread)
def omega_spread(
    spread: OmegaSpread,
    *,
    beside: FloatArray | None = None,
    beside_name: str = "",
    highlight: int | None = None,
    title: str = "",
) -> go.Figure:
    """Plot the distribution of ω per class or worker, largest mean first: outline, 5 to 95 %, quartiles and mean.

    Args:
        spread: from `analysis.omega_spread`.
        beside: (K,) another number of each group, shown on hover.
        beside_name: name of that number.
        highlight: number of a group to mark.
    """
    known = np.flatnonzero(spread.n)
    order = known[np.lexsort((known, -spread.mean[known]))]
    n = len(order)
    x = np.arange(n)
    what = "true class" if spread.by == "class" else "worker"
    words = [f"{spread.n.sum():,} annotations", spread.combined]
    words += [f"reference: {spread.reference}"] if spread.reference else []
    fig = theme.figure(title=title or f"ω by {what}", subtitle=" · ".join(words), height=420, margin_t=64)
    if n and n <= _SHAPES:
        fig.add_trace(_outlines(spread, order))
    q = spread.quantiles[order].T
    hover = np.stack([spread.names[order], spread.n[order], *q], axis=1)
    _bars_between(fig, x, q[0], q[4], "5 to 95 %", 1.5 if n <= 200 else 1)
    _bars_between(fig, x, q[1], q[3], "quartiles", 7 if n <= _NAMED else 3 if n <= 200 else 1.5)
    template = (
        "<b>%{customdata[0]}</b><br>mean ω %{y:.3f}, %{customdata[1]} annotations<br>"
        "median %{customdata[4]:.3f}, quartiles %{customdata[3]:.3f} – %{customdata[5]:.3f}<br>"
        "5 to 95 %: %{customdata[2]:.3f} – %{customdata[6]:.3f}"
    )
    if beside is not None:
        hover = np.column_stack([hover, np.asarray(beside)[order]])
        template += f"<br>{beside_name} %{{customdata[7]:.3f}}"
    look = {"size": 9 if n <= _NAMED else 5, "marker_symbol": "diamond", "name": "mean"}
    dots(fig, x, spread.mean[order], theme.WARN, template, hover, **look)
    if highlight is not None and highlight in order:
        at = int(np.flatnonzero(order == highlight)[0])
        fig.add_vrect(x0=at - 0.5, x1=at + 0.5, fillcolor=theme.FAINT, line_width=0, layer="below")
    fig.update_layout(legend={"y": 1.0, "yanchor": "bottom"}, margin_t=94)
    fig.update_xaxes(**_names(list(spread.names[order])), showgrid=False, range=[-0.7, max(n, 1) - 0.3])
    if n > _NAMED:
        fig.update_xaxes(title=f"{what}s by mean ω")
    return fig.update_yaxes(title="ω of an annotation", range=[0, 1])


def _outlines(spread: OmegaSpread, order: AnyArray) -> go.Scatter:
    """Histograms of the groups as upright shapes, each scaled to its fullest bin."""
    middle = (spread.edges[1:] + spread.edges[:-1]) / 2
    counts = spread.counts[order]
    width = 0.42 * counts / np.maximum(counts.max(1, keepdims=True), 1)
    x, y = [], []
    for k, w in enumerate(width):
        some = np.flatnonzero(w)
        part = slice(some[0], some[-1] + 1)
        x += [*(k + w[part]), *(k - w[part][::-1]), None]
        y += [*middle[part], *middle[part][::-1], None]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor="rgba(15, 127, 191, 0.25)",
        line={"width": 0.5, "color": theme.ACCENT},
        hoverinfo="skip",
        name="share of annotations",
    )


def _bars_between(fig: go.Figure, x: AnyArray, low: FloatArray, high: FloatArray, name: str, width: float) -> None:
    """Add an upright line for each x from low to high."""
    gap = np.full(len(x), np.nan)
    at, height = (np.stack(parts, axis=1).ravel() for parts in ((x, x, gap), (low, high, gap)))
    theme.line(fig, at, height, theme.ACCENT, width, name=name)


@draws(analysis.omega_truth)
def omega_truth(result: OmegaTruth, *, title: str = "Recovered ω against the true one") -> go.Figure:
    """Plot how often a recovered ω goes with a true one; faithful recovery lies on the diagonal."""
    bins = len(result.counts)
    share = result.counts / np.maximum(result.counts.sum(1, keepdims=True), 1)
    shown = np.where(result.counts > 0, share, np.nan)[::-1]
    names = [f"{a:.2f} – {b:.2f}" for a, b in zip(result.edges[:-1], result.edges[1:], strict=True)]
    words = f"{result.n:,} annotations"
    if result.correlation == result.correlation:
        words += f" · Pearson {result.correlation:z.2f}, Spearman {result.rank_correlation:z.2f}"
    if result.auc == result.auc:
        words += f" · AUC of which label was common {result.auc:.3f}, of the true ω {result.auc_limit:.3f}"
    fig = heatmap(
        shown,
        names[::-1],
        names,
        hover="true ω %{y}<br>recovered ω %{x}<br>%{customdata} annotations<extra></extra>",
        customdata=result.counts[::-1],
        low=0.0,
        unit="share of the row",
        row_title="true ω",
        column_title="recovered ω",
        title=title,
        subtitle=f"{words} · {result.combined}",
        cell=18,
    )
    line = {"color": theme.WARN, "dash": "dot", "width": 1.5}
    fig.add_shape(type="line", x0=-0.5, y0=bins - 0.5, x1=bins - 0.5, y1=-0.5, line=line)
    fig.update_layout(coloraxis_colorbar=percent_ticks(0, float(np.nanmax(shown))) if result.n else None)
    every = {"tickvals": list(range(0, bins, 4)), "showticklabels": True}
    fig.update_xaxes(**every, ticktext=names[::4])
    return fig.update_yaxes(**every, ticktext=names[::-1][::4])


def _names(names: Sequence[str]) -> dict[str, object]:
    """Axis of names at 0, 1, 2, …"""
    angle = {"tickangle": -90, "tickfont_size": 10} if len(names) > 15 else {"autotickangles": [0, -40, -90]}
    look = {"showticklabels": len(names) <= _NAMED, "ticklabelstandoff": 6}
    return {**named(names), **angle, **look}
