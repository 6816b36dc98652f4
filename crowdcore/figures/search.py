"""A search for settings: how it went, and which settings mattered."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from crowdcore.figures import theme
from crowdcore.figures.axes import dots

if TYPE_CHECKING:
    import pandas as pd


def search_history(
    trials: pd.DataFrame,
    method: str,
    score: str = "validation_accuracy",
    words: str = "validation accuracy",
    *,
    title: str = "Trials",
    subtitle: str = "line: the best so far",
) -> go.Figure:
    """Validation score of every trial, and the best so far.

    Args:
        trials: a row per trial: trial (from 1), run, state, its score (NaN while unknown), best, then its settings.
        method: gives the colour.
        score: its column.
        words: what it is called; all but errors are shares.
        subtitle: what is under it.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    color, share = theme.method_color(method), not score.endswith("rmse")
    known = trials.dropna(subset=score)
    names = [c for c in trials.columns if c not in {"trial", "run", "state", score, "best"}]
    settings = ["<br>".join(f"{n} {_short(row[n])}" for n in names) for _, row in known.iterrows()]
    fig.add_scatter(
        x=known["trial"],
        y=known["best"],
        mode="lines",
        line={"color": color, "width": 2, "shape": "hv"},
        hoverinfo="skip",
    )
    about = np.array([settings, [f"{100 * v:.2f} %" if share else f"{v:.4g}" for v in known[score]]], object).T
    hover = "<b>trial %{x}</b>: %{customdata[1]}<br>%{customdata[0]}"
    dots(fig, known["trial"], known[score], color, hover, about, size=8)
    fig.update_xaxes(title="trial", showgrid=False, rangemode="tozero")
    fig.update_yaxes(title=words, **(theme.PERCENT if share else {}))
    return fig.update_layout(showlegend=False, height=360)


def search_importance(
    shares: Mapping[str, float],
    method: str,
    *,
    title: str = "Which settings matter",
    subtitle: str = "share of the variance of the validation score (fANOVA)",
) -> go.Figure:
    """A bar per setting.

    Args:
        shares: setting -> share, they sum to 1.
        method: gives the colour.
        subtitle: what is under it.
    """
    ordered = sorted(shares.items(), key=lambda item: item[1])
    bars = go.Bar(
        x=[share for _, share in ordered],
        y=[name.replace("_", " ") for name, _ in ordered],
        orientation="h",
        marker={"color": theme.method_color(method)},
        customdata=[100 * share for _, share in ordered],
        hovertemplate="<b>%{y}</b>: %{customdata:.1f} %<extra></extra>",
    )
    fig = theme.figure(bars, title=title, subtitle=subtitle, showlegend=False, height=360)
    fig.update_xaxes(**theme.PERCENT, rangemode="tozero")
    return fig.update_yaxes(showgrid=False)


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value), quote=False)
