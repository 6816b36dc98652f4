"""Spans of workers: F1 with its interval, and what became of the true spans."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.spans import SPAN_ERRORS, SpanScores
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.axes import dots, interval, ranked

_WORDS = {
    "exact": "found",
    "type": "other type",
    "boundary": "other boundary",
    "both": "other type and boundary",
    "missed": "missed",
}
_COLORS = {"exact": theme.PALETTE[2], "type": theme.PALETTE[3], "boundary": theme.PALETTE[1], "both": theme.PALETTE[6]}


def span_f1(scores: SpanScores, *, title: str = "Spans: F1 of each worker") -> go.Figure:
    """Draw F1 of each worker, the best first, with its interval where there is one.

    Args:
        scores: from `analysis.span_scores`.
    """
    order = _order(scores)
    value = scores.value[2, order]
    error = None
    if scores.low is not None and scores.high is not None:
        error = interval(scores.low[2, order], value, scores.high[2, order], width=0)
    names = np.asarray(scores.worker_ids, object)[order]
    about = np.stack([names, *(100 * scores.value[:, order]), scores.n_true[order]], axis=1)
    hover = (
        "<b>%{customdata[0]}</b><br>F1 %{customdata[3]:.1f} %<br>precision %{customdata[1]:.1f} %, "
        "recall %{customdata[2]:.1f} %<br>%{customdata[4]} true spans"
    )
    subtitle = f"{plural(len(order), 'worker')} · same tokens and same type · reference: {scores.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=380, margin_t=80)
    dots(fig, np.arange(len(order)), value, theme.ACCENT, hover, about, error_y=error, showlegend=False)
    fig.update_xaxes(**ranked(names))
    return fig.update_yaxes(title="F1 of spans", range=[0, 1.02], **theme.PERCENT)


def span_errors(scores: SpanScores, *, title: str = "What became of the true spans") -> go.Figure:
    """Draw a bar for each worker: true spans found, with another type or boundary, and missed.

    Args:
        scores: from `analysis.span_scores`.
    """
    order = _order(scores)
    share = scores.outcomes[order] / np.maximum(scores.n_true[order], 1)[:, None]
    subtitle = f"share of the true spans in the sentences that each worker tagged · reference: {scores.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=420, margin_t=96, barmode="stack")
    names = np.asarray(scores.worker_ids, object)[order]
    for kind in reversed(SPAN_ERRORS):
        k = SPAN_ERRORS.index(kind)
        about = np.stack([names, scores.outcomes[order, k], 100 * share[:, k]], axis=1)
        fig.add_bar(
            x=np.arange(len(order)),
            y=share[:, k],
            name=_WORDS[kind],
            marker={"color": _COLORS.get(kind, theme.FAINT)},
            customdata=about,
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{_WORDS[kind]}: %{{customdata[1]}} (%{{customdata[2]:.1f}} %)"
            "<extra></extra>",
        )
    fig.update_xaxes(**ranked(names))
    return fig.update_yaxes(title="true spans", range=[0, 1], **theme.PERCENT)


def _order(scores: SpanScores) -> np.ndarray:
    """Workers who tagged a sentence, the best F1 first."""
    seen = np.flatnonzero(scores.sentences)
    return seen[np.lexsort((seen, -scores.value[2, seen]))]
