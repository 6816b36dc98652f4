"""One worker's accuracy and speed in the order of time."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.workers.over_time import WorkerOverTime, WorkerSpeedOverTime
from crowdcore.core.types import FloatArray
from crowdcore.figures import theme
from crowdcore.figures.axes import interval

__all__ = ["worker_over_time", "worker_speed_over_time"]


def worker_over_time(found: WorkerOverTime, *, title: str = "") -> go.Figure:
    """Draw a point with its interval for each block of labels.

    Args:
        found: from `analysis.worker_over_time`; names in it are escaped.
    """
    fig = theme.figure(
        title=title or f"{found.name} over time", subtitle=f"reference: {found.reference}", height=300, margin_t=80
    )
    told = "labels %{customdata[1]} to %{customdata[2]}, from %{customdata[3]}: %{customdata[0]:.1f} %"
    fig.add_trace(_blocks(found, found.accuracy, 100 * found.accuracy, told))
    fig.update_xaxes(title_text="the worker's labels, in order of time")
    fig.update_yaxes(**theme.PERCENT, range=[0, 1.02])
    return fig


def worker_speed_over_time(found: WorkerSpeedOverTime, *, title: str = "") -> go.Figure:
    """Draw the median of each block with its quartiles, the others' speed as a line, and a change of speed.

    Args:
        found: from `analysis.worker_speed_over_time`; names in it are escaped.
    """
    subtitle = "median of each block, with quartiles; 1 = as long as the others on the same tasks"
    fig = theme.figure(title=title or f"Speed of {found.name}", subtitle=subtitle, height=300, margin_t=80)
    told = (
        "answers %{customdata[1]} to %{customdata[2]}, from %{customdata[3]}: %{y:.2f} times the others, "
        "%{customdata[0]:.3~g} s"
    )
    fig.add_trace(_blocks(found, found.ratio, found.seconds, told))
    fig.add_hline(y=1, line={"color": theme.INK, "dash": "dot", "width": 1})
    if found.change >= 0:
        fig.add_vline(x=found.change + 0.5, line={"color": theme.WARN, "dash": "dash", "width": 1.5})
    fig.update_xaxes(title_text="the worker's answers, in order of time")
    top, bottom = (float(np.log10(end)) for end in (max(found.high.max(), 2.0), min(found.low.min(), 0.5)))
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    shown = {"tickvals": ticks, "ticktext": [f"×{tick:g}" for tick in ticks]}
    return fig.update_yaxes(type="log", range=[bottom - 0.05, top + 0.05], title="time of an answer", **shown)


def _blocks(
    found: WorkerOverTime | WorkerSpeedOverTime, height: FloatArray, beside: FloatArray, told: str
) -> go.Scatter:
    """A point with its interval for each block of labels, in the middle of it.

    Args:
        found: whose blocks.
        height: (B,) of the points.
        beside: (B,) ``customdata[0]``; then come the first label, the last, and when the block begins.
        told: what the pointer tells.
    """
    return go.Scatter(
        x=(found.first + found.last) / 2,
        y=height,
        mode="lines+markers",
        line={"color": theme.ACCENT, "width": 2},
        marker={"size": 8, "color": theme.ACCENT},
        error_y=interval(found.low, height, found.high, thickness=1, width=0, color=theme.ACCENT),
        customdata=np.stack([beside, found.first, found.last, found.begins], axis=1),
        hovertemplate=f"{told}<extra></extra>",
        showlegend=False,
    )
