"""Ratings: workers' biases with intervals, the shared bias over the range of the truth, who errs alike."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.ratings.pairs import RatingPairs
from crowdcore.analysis.ratings.shared_bias import SharedBias
from crowdcore.analysis.ratings.workers import RatingWorkers
from crowdcore.core.types import FloatArray
from crowdcore.figures import theme
from crowdcore.figures.axes import interval, ranked
from crowdcore.figures.heatmap import heatmap

__all__ = ["rating_bias", "rating_errors_alike", "rating_shared_bias"]

BAR = "rgba(128, 136, 150, 0.6)"  # intervals, beside what they are of
MOST = 60  # workers with a name of their own on the axis


def rating_bias(found: RatingWorkers, *, title: str = "Bias of each worker") -> go.Figure:
    """Draw one dot per worker with its interval, lowest bias first; of many workers those with the most ratings.

    Args:
        found: from `analysis.rating_workers`.
    """
    known = np.flatnonzero(~np.isnan(found.low["bias"]))
    busiest = known[np.argsort(-found.n[known], kind="stable")][:MOST]
    order = busiest[np.argsort(found.bias[busiest], kind="stable")]
    called = np.array(list(found.worker_ids), object)[order]
    subtitle = f"mean of rating − truth with {100 * found.level:g} % interval · reference: {found.reference}"
    subtitle += f" · the {MOST} workers with the most ratings of {len(known)}" if len(known) > MOST else ""
    fig = theme.figure(title=title, subtitle=subtitle, height=420, showlegend=False)
    fig.add_hline(y=0, line={"color": theme.INK, "width": 1})
    low, high = (end["bias"][order] for end in (found.low, found.high))
    clear = (low > 0) | (high < 0)
    fig.add_scatter(
        x=np.arange(len(order)),
        y=found.bias[order],
        error_y=interval(low, found.bias[order], high, color=BAR),
        mode="markers",
        marker={"size": 8, "color": np.where(clear, theme.WARN, theme.ACCENT)},
        customdata=np.stack([called, found.n[order], found.scale[order], low, high], 1),
        hovertemplate="<b>%{customdata[0]}</b>: %{y:.3f} (%{customdata[3]:.3f} … %{customdata[4]:.3f})<br>"
        "%{customdata[1]} ratings, scale %{customdata[2]:.2f}<extra></extra>",
    )
    fig.update_xaxes(**ranked(called))
    return fig.update_yaxes(title="bias (orange: interval without 0)")


def rating_shared_bias(
    found: SharedBias,
    *,
    planted: FloatArray | None = None,
    title: str = "Shared bias over the range of the truth",
) -> go.Figure:
    """Draw the crowd's bias in each bin of the truth with its interval; filled dots are shared beyond single workers.

    Args:
        found: from `analysis.shared_bias`.
        planted: (n_bins,) of simulated ratings, the shared bias that was planted, a dashed line.
    """
    known = found.ratings > 0
    x, bias = found.centres[known], found.bias[known]
    shared = np.nan_to_num(found.q_value[known], nan=1.0) <= 1 - found.level
    tested = ~np.isnan(found.q_value[known])
    subtitle = f"mean of rating − truth · intervals over workers and tasks · reference: {found.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=400)
    fig.add_hline(y=0, line={"color": theme.INK, "width": 1})
    fig.add_scatter(
        x=x,
        y=found.smooth[known],
        mode="lines",
        line={"color": theme.ACCENT, "width": 2},
        hoverinfo="skip",
        name="smoothed",
    )
    if planted is not None:
        line = {"color": theme.INK, "width": 2, "dash": "dash"}
        fig.add_scatter(x=found.centres, y=planted, mode="lines", line=line, hoverinfo="skip", name="planted")
    half = np.where(tested, found.high[known] - bias, np.nan)
    told = np.stack([found.edges[:-1][known], found.edges[1:][known], found.tasks[known], found.workers[known]], 1)
    told = np.column_stack([told, found.q_value[known]])
    for name, chosen, fill in (
        ("shared", shared, theme.WARN),
        ("not shown to be shared", ~shared & tested, theme.ACCENT),
        ("too few workers or tasks", ~tested, "rgba(128,136,150,0.6)"),
    ):
        if chosen.any():
            fig.add_scatter(
                x=x[chosen],
                y=bias[chosen],
                error_y={"array": half[chosen], "color": BAR, "thickness": 1.5},
                mode="markers",
                marker={"size": 9, "color": fill},
                customdata=told[chosen],
                hovertemplate="truth %{customdata[0]:.2f} … %{customdata[1]:.2f}: bias %{y:.3f}<br>"
                "%{customdata[2]:.0f} tasks, %{customdata[3]:.0f} workers, q = %{customdata[4]:.2g}<extra></extra>",
                name=name,
            )
    fig.update_xaxes(title="truth", range=[found.edges[0], found.edges[-1]])
    fig.update_yaxes(title="bias")
    return theme.legend_below(fig, 5)


def rating_errors_alike(found: RatingPairs, most: int = 40, *, title: str = "Who errs alike?") -> go.Figure:
    """Draw the correlation of errors between workers; of many workers those in the most pairs.

    Args:
        found: from `analysis.rating_pairs`.
        most: workers drawn.
    """
    n_workers = len(found.worker_ids)
    pairs = np.bincount(np.r_[found.worker_a, found.worker_b], minlength=n_workers)
    chosen = np.sort(np.argsort(-pairs, kind="stable")[: min(most, int((pairs > 0).sum()))])
    place = np.full(n_workers, -1)
    place[chosen] = np.arange(len(chosen))
    a, b = place[found.worker_a], place[found.worker_b]
    both = (a >= 0) & (b >= 0)
    matrix = np.full((len(chosen), len(chosen)), np.nan)
    tasks = np.zeros_like(matrix)
    for row, column in ((a, b), (b, a)):
        matrix[row[both], column[both]] = found.error_correlation[both]
        tasks[row[both], column[both]] = found.tasks[both]
    names = [str(found.worker_ids[n]) for n in chosen]
    return heatmap(
        matrix,
        names,
        names,
        hover="%{y} and %{x}: correlation %{z:.2f}<br>%{customdata[0]:.0f} tasks in common<extra></extra>",
        customdata=tasks[..., None],
        scale=theme.DIVERGING,
        low=-1,
        high=1,
        unit="correlation of errors",
        title=title,
        subtitle=f"pairs with tasks in common · reference: {found.reference}",
    )
