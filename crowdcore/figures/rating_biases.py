"""Learnt biases of raters against the true ones (Rodrigues & Pereira 2018, Fig. 4)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.recovery.ratings import RatingBiases
from crowdcore.figures import theme
from crowdcore.figures.axes import equal_line

__all__ = ["rating_biases"]


def rating_biases(biases: RatingBiases, *, title: str = "Learnt and true biases", subtitle: str = "") -> go.Figure:
    """A point per worker with enough ratings, larger the more there are; bars are one standard deviation over seeds.

    Args:
        biases: what was compared; names in it are escaped.
        subtitle: data, method; the correlation is appended.
    """
    least = max(biases.least, 1)
    table = biases.frame()
    table = table[table["ratings"] >= least]
    r = biases.mean_correlation
    words = f"r = {r:z.2f} over " if r == r else ""
    words += f"{len(table)} workers with {least} ratings or more"
    fig = theme.figure(title=title, subtitle=" · ".join(filter(None, [subtitle, words])), height=460)
    values = np.concatenate([table["true"], table["learnt"], [0.0]])
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low or 1.0)
    ends = [low - room, high + room]
    equal_line(fig, *ends)
    spread = table["std"].to_numpy()
    fig.add_scatter(
        x=table["true"],
        y=table["learnt"],
        error_y={"type": "data", "array": spread, "thickness": 1, "width": 0} if np.isfinite(spread).all() else None,
        mode="markers",
        marker={"color": theme.ACCENT, "size": 5 + 2 * np.log2(table["ratings"] / least + 1), "opacity": 0.75},
        customdata=np.stack([table["worker"].to_numpy(object), table["ratings"].to_numpy(object)], 1),
        hovertemplate="<b>%{customdata[0]}</b>, %{customdata[1]} ratings<br>true %{x:.3f}, learnt %{y:.3f}"
        "<extra></extra>",
        showlegend=False,
    )
    fig.update_xaxes(title="true bias: mean of rating − gold", range=ends)
    return fig.update_yaxes(title="learnt bias", range=ends)
