"""The critical-difference diagram (Demšar 2006): mean ranks on a line, methods that do not differ joined by a bar."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from crowdcore.analysis.evaluation.method_tests import CriticalDifference
from crowdcore.figures import theme

__all__ = ["critical_difference"]

_ROW = 30  # pixels between two names
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
        methods: name -> registered method, which settles its colour; default: the name itself.
        subtitle: data, remarks.
    """
    k, bars = len(result.names), len(result.groups)
    half = -(-k // 2)
    fig = theme.figure(title=title, subtitle=subtitle)
    width = max(k - 1, 1)
    left, right = 1 - _MARGIN * width, k + _MARGIN * width
    depth = bars + half + 0.6
    _line(fig, [1, k], [0, 0], theme.INK, 1.5)
    for rank in range(1, k + 1):
        _line(fig, [rank, rank], [0, 0.25], theme.INK, 1.5)
        fig.add_annotation(x=rank, y=0.3, text=str(rank), showarrow=False, yanchor="bottom")
    span = min(result.difference, float(width))
    words = f"CD = {result.difference:.2f}" + (" (wider than the scale)" if result.difference > width else "")
    _line(fig, [1, 1 + span], [1.7, 1.7], theme.INK, 2)
    fig.add_annotation(x=1, y=1.8, text=words, showarrow=False, xanchor="left", yanchor="bottom")
    for number, (first, last) in enumerate(result.groups):
        reach = [result.rank[first] - 0.03 * width, result.rank[last] + 0.03 * width]
        _line(fig, reach, [-0.6 - number] * 2, theme.INK, 5)
    looks = theme.looks([(methods or {}).get(name, name) for name in result.names])
    for place, (name, rank, look) in enumerate(zip(result.names, result.rank, looks, strict=True)):
        color = look.color
        on_left = place < half
        y = -(bars + 0.6 + (place if on_left else k - 1 - place))
        end = left if on_left else right
        _line(fig, [rank, rank, end], [0, y, y], color, 2)
        fig.add_scatter(
            x=[rank],
            y=[0],
            mode="markers",
            marker={"size": 10, "color": color},
            hovertemplate=f"<b>{name}</b><br>mean rank %{{x:.2f}} over {result.n_blocks}<extra></extra>",
        )
        side = {"x": end, "xanchor": "left" if on_left else "right", "y": y, "yanchor": "bottom"}
        fig.add_annotation(**side, text=f"{name} <b>{rank:.2f}</b>", showarrow=False)
    fig.update_xaxes(range=[left, right], visible=False)
    fig.update_yaxes(range=[-depth, 2.6], visible=False)
    return fig.update_layout(height=int(80 + _ROW * (depth + 2.6)), showlegend=False)


def _line(fig: go.Figure, x: list[float], y: list[float], color: str, width: float) -> None:
    fig.add_scatter(x=x, y=y, mode="lines", line={"color": color, "width": width}, hoverinfo="skip")
