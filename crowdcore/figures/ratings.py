"""Ratings: workers' biases with intervals, the shared bias over the range of the truth, correlated errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from crowdcore import analysis
from crowdcore.analysis.ratings.pairs import RatingPairs
from crowdcore.analysis.ratings.workers import RatingWorkers, SharedBias
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.figures import theme
from crowdcore.figures.doors import draws
from crowdcore.figures.heatmap import heatmap
from crowdcore.figures.theme import dots, interval, ranked

BAR = "rgba(128, 136, 150, 0.6)"  # intervals
MOST = 60  # workers with a name of their own on the axis
LEVEL = 0.05  # q-value up to which a pair is coloured


@draws(analysis.rating_workers)
def rating_bias(result: RatingWorkers, *, title: str = "Bias of each worker") -> go.Figure:
    """Draw one dot per worker with its interval, lowest bias first; of many workers those with the most ratings.

    Args:
        result: from `analysis.rating_workers`.
    """
    known = np.flatnonzero(~np.isnan(result.low["bias"]))
    busiest = known[np.argsort(-result.n[known], kind="stable")][:MOST]
    order = busiest[np.argsort(result.bias[busiest], kind="stable")]
    called = np.array(list(result.worker_ids), object)[order]
    subtitle = f"mean of rating − truth with {100 * result.level:g} % interval · reference: {result.reference}"
    subtitle += f" · the {MOST} workers with the most ratings of {len(known)}" if len(known) > MOST else ""
    fig = theme.figure(title=title, subtitle=subtitle, height=420, showlegend=False)
    fig.add_hline(y=0, line={"color": theme.INK, "width": 1})
    low, high = (end["bias"][order] for end in (result.low, result.high))
    clear = (low > 0) | (high < 0)
    about = np.stack([called, result.n[order], result.scale[order], low, high, order], 1)  # the last for clicks
    hover = "<b>%{customdata[0]}</b>: %{y:.3f} (%{customdata[3]:.3f} … %{customdata[4]:.3f})<br>"
    hover += "%{customdata[1]} ratings, scale %{customdata[2]:.2f}"
    color, bars = np.where(clear, theme.WARN, theme.ACCENT), interval(low, result.bias[order], high, color=BAR)
    dots(fig, np.arange(len(order)), result.bias[order], color, hover, about, size=8, error_y=bars)
    fig.update_xaxes(**ranked(called))
    return fig.update_yaxes(title="bias (orange: interval without 0, by chance 1 in 20)")


@draws(analysis.shared_bias)
def rating_shared_bias(
    result: SharedBias,
    *,
    planted: FloatArray | None = None,
    title: str = "Shared bias over the range of the truth",
) -> go.Figure:
    """Draw the crowd's bias in each bin of the truth with its interval; filled dots are shared beyond single workers.

    Args:
        result: from `analysis.shared_bias`.
        planted: (n_bins,) of simulated ratings, the shared bias that was planted, a dashed line.
    """
    known = result.ratings > 0
    x, bias = result.centres[known], result.bias[known]
    shared = np.nan_to_num(result.q_value[known], nan=1.0) <= 1 - result.level
    tested = ~np.isnan(result.q_value[known])
    subtitle = f"mean of rating − truth · intervals over workers and tasks · reference: {result.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=400)
    fig.add_hline(y=0, line={"color": theme.INK, "width": 1})
    theme.line(fig, x, result.smooth[known], theme.ACCENT, name="smoothed")
    if planted is not None:
        theme.line(fig, result.centres, planted, theme.INK, 2, "dash", name="planted")
    half = np.where(tested, result.high[known] - bias, np.nan)
    about = np.stack([result.edges[:-1][known], result.edges[1:][known], result.tasks[known], result.workers[known]], 1)
    about = np.column_stack([about, result.q_value[known], np.flatnonzero(known)])  # the last for clicks
    hover = "truth %{customdata[0]:.2f} … %{customdata[1]:.2f}: bias %{y:.3f}<br>"
    hover += "%{customdata[2]:.0f} tasks, %{customdata[3]:.0f} workers, q = %{customdata[4]:.2g}"
    for name, chosen, fill in (
        ("shared", shared, theme.WARN),
        ("not shown to be shared", ~shared & tested, theme.ACCENT),
        ("too few workers or tasks" if result.reference == "gold" else "not tested", ~tested, "rgba(128,136,150,0.6)"),
    ):
        if chosen.any():
            bars = {"array": half[chosen], "color": BAR, "thickness": 1.5}
            dots(fig, x[chosen], bias[chosen], fill, hover, about[chosen], error_y=bars, name=name)
    fig.update_xaxes(title="truth", range=[result.edges[0], result.edges[-1]])
    fig.update_yaxes(title="bias")
    return theme.legend_below(fig, 5)


def pairs_drawn(result: RatingPairs, most: int = 40) -> IntArray:
    """(≤ most,) numbers of the workers in the most pairs, whose rows and columns `rating_errors_alike` draws."""
    pairs = np.bincount(np.r_[result.worker_a, result.worker_b], minlength=len(result.worker_ids))
    return np.sort(np.argsort(-pairs, kind="stable")[: min(most, int((pairs > 0).sum()))])


@draws(analysis.rating_pairs)
def rating_errors_alike(result: RatingPairs, most: int = 40, *, title: str = "Who errs alike?") -> go.Figure:
    """Draw the correlation of errors between workers, in colour up to a q-value of .05; of many those in most pairs.

    Args:
        result: from `analysis.rating_pairs`.
        most: workers drawn.
    """
    chosen = pairs_drawn(result, most)
    place = np.full(len(result.worker_ids), -1)
    place[chosen] = np.arange(len(chosen))
    a, b = place[result.worker_a], place[result.worker_b]
    both = (a >= 0) & (b >= 0)
    shown = np.full((3, len(chosen), len(chosen)), np.nan)  # correlation, q-value, tasks
    for row, column in ((a, b), (b, a)):
        shown[:, row[both], column[both]] = np.stack([result.error_correlation, result.q_value, result.tasks])[:, both]
    correlation, q_value, _ = shown
    names = [str(result.worker_ids[n]) for n in chosen]
    return heatmap(
        np.where((q_value <= LEVEL) | np.isnan(correlation), correlation, 0.0),
        names,
        names,
        hover="%{y} and %{x}: correlation %{customdata[0]:.2f}, q = %{customdata[1]:.2g}<br>"
        "%{customdata[2]:.0f} tasks in common",
        customdata=np.moveaxis(shown, 0, -1),
        scale=theme.DIVERGING,
        low=-1,
        high=1,
        unit="correlation of errors",
        title=title,
        subtitle=f"without colour: chance may explain it (q > {LEVEL:g}) · reference: {result.reference}",
    )


def task_ratings(
    ratings: pd.DataFrame,
    span: tuple[float, float],
    truth: float,
    estimate: tuple[float, float, float],
    *,
    reference: str = "gold",
    estimated_by: str = "raykar-em",
    title: str = "Ratings of one task",
) -> go.Figure:
    """Draw each worker's rating of one task, and the rating without the worker's usual error.

    Args:
        ratings: of `exhibits.ratings.task_ratings`: worker, rating, without it, p value, surprising.
        span: ends of the range of ratings.
        truth: the reference's rating, NaN = unknown.
        estimate: an aggregator's rating, and the ends of its interval.
        reference: name of the truth.
        estimated_by: name of the aggregator.
    """
    table = ratings.sort_values("rating", kind="stable")
    y, names = np.arange(len(table)), [theme.short(name) for name in table["worker"]]
    fig = theme.figure(title=title, subtitle="one row per rating · open: without what its worker is usually off by")
    middle, low, high = estimate
    if middle == middle:
        fig.add_vrect(x0=low, x1=high, fillcolor=theme.ACCENT, opacity=0.15, line_width=0, layer="below")
    ends = [-0.6, len(table) - 0.4]
    for x, dash, name in ((truth, "solid", reference), (middle, "dash", f"{estimated_by}, 95 % interval")):
        if x == x:
            line = {"color": theme.INK if dash == "solid" else theme.ACCENT, "width": 2, "dash": dash}
            hover = f"{name}: {x:.3f}<extra></extra>"
            fig.add_scatter(x=[x, x], y=ends, mode="lines", line=line, name=name, hovertemplate=hover)
    for given, usual, row in zip(table["rating"], table["without it"], y, strict=True):
        fig.add_shape(type="line", x0=given, x1=usual, y0=row, y1=row, line={"color": BAR, "width": 1.5}, layer="below")
    open_dots = {"marker_symbol": "circle-open", "name": "without the usual bias"}
    dots(fig, table["without it"], y, theme.ACCENT, "%{x:.3f} without the usual bias", **open_dots)
    odd = (table["surprising"] == "yes").to_numpy()
    for chosen, color, name in ((~odd, theme.ACCENT, "rating"), (odd, theme.WARN, "surprising rating")):
        if chosen.any():
            about = np.stack([table["worker"][chosen], table["p value"][chosen], table.index[chosen]], 1)
            hover = "<b>%{customdata[0]}</b>: %{x:.3f}, p = %{customdata[1]:.2g}"
            dots(fig, table["rating"][chosen], y[chosen], color, hover, about, size=11, name=name)
    margin = 0.02 * (span[1] - span[0])
    fig.update_xaxes(title="rating", range=[span[0] - margin, span[1] + margin])
    fig.update_yaxes(tickvals=y, ticktext=names, range=ends, showgrid=False)
    return theme.legend_below(fig, 6).update_layout(height=260 + 26 * max(len(table), 3))
