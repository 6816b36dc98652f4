"""One worker's accuracy in the order of time."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.workers.over_time import WorkerOverTime
from crowdcore.figures import theme

__all__ = ["worker_over_time"]


def worker_over_time(found: WorkerOverTime, *, title: str = "") -> go.Figure:
    """Draw a point with its interval for each block of labels.

    Args:
        found: from `analysis.worker_over_time`; names in it are escaped.
    """
    middle = (found.first + found.last) / 2
    fig = theme.figure(
        title=title or f"{found.name} over time", subtitle=f"reference: {found.reference}", height=300, margin_t=80
    )
    fig.add_trace(
        go.Scatter(
            x=middle,
            y=found.accuracy,
            mode="lines+markers",
            line={"color": theme.ACCENT, "width": 2},
            marker={"size": 8, "color": theme.ACCENT},
            error_y={
                "type": "data",
                "array": np.maximum(found.high - found.accuracy, 0),
                "arrayminus": np.maximum(found.accuracy - found.low, 0),
                "thickness": 1,
                "width": 0,
                "color": theme.ACCENT,
            },
            customdata=np.stack([100 * found.accuracy, found.first, found.last, found.begins], axis=1),
            hovertemplate="labels %{customdata[1]} to %{customdata[2]}, from %{customdata[3]}: %{customdata[0]:.1f} %"
            "<extra></extra>",
            showlegend=False,
        )
    )
    fig.update_xaxes(title_text="the worker's labels, in order of time")
    fig.update_yaxes(**theme.PERCENT, range=[0, 1.02])
    return fig
