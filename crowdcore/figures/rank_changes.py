"""Ranks of the same methods under two ways of judging them, joined by lines: what crosses changes places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.figures import theme

__all__ = ["rank_changes"]

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
        methods: (G,) registered names, which settle their colours.
        rank: (G, 2) on the left and on the right, 1 is best.
        accuracy: (G, 2) what the ranks rest on, as shares.
        ways: what the left and the right rank by.
        subtitle: data, remarks.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    height = rank + _STEP * (_order_within(rank) if len(rank) else 0)
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


def _order_within(rank: IntArray) -> IntArray:
    """(G, 2) 0, 1, 2, … among the methods that share a rank."""
    return np.asarray((rank[:, None] == rank[None]).cumsum(0)[range(len(rank)), range(len(rank))] - 1)
