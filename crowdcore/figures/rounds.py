"""Workers in two rounds: the share of right labels before and after."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.two_rounds.compare import Rounds
from crowdcore.figures import theme
from crowdcore.figures.axes import equal_line

__all__ = ["round_workers"]

_LEVEL = 0.05


def round_workers(found: Rounds, *, title: str = "Who changed") -> go.Figure:
    """Draw a point per worker of both rounds: the second round against the first; surely changed ones are marked.

    Args:
        found: from `analysis.rounds`; names in it are escaped.
    """
    first, second = found.workers.first, found.workers.second
    known = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    surely = (found.q_workers <= _LEVEL)[known]
    subtitle = f"{len(known):,} worker{'s' * (len(known) != 1)} of both rounds · reference: {found.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=400, margin_t=92)
    kinds = (
        ("no surer than noise", theme.ACCENT, ~surely),
        ("better", theme.PALETTE[2], surely & (second > first)[known]),
        ("worse", theme.WARN, surely & (second < first)[known]),
    )
    for name, color, which in kinds:
        of = known[which]
        if len(of):
            about = found.worker_ids[of], 100 * first[of], 100 * second[of], *found.labels[:, of], of
            fig.add_trace(
                go.Scatter(
                    x=first[of],
                    y=second[of],
                    mode="markers",
                    name=name,
                    marker={"color": color, "size": 9},
                    customdata=np.stack([np.asarray(column, object) for column in about], axis=1),
                    hovertemplate="<b>%{customdata[0]}</b>: %{customdata[1]:.1f} % of %{customdata[3]} labels → "
                    "%{customdata[2]:.1f} % of %{customdata[4]}<extra></extra>",
                )
            )
    equal_line(fig, 0, 1)
    fig.update_xaxes(**theme.PERCENT, title_text=f"right labels: {found.names[0]}", range=[-0.02, 1.02])
    fig.update_yaxes(**theme.PERCENT, title_text=f"right labels: {found.names[1]}", range=[-0.02, 1.02])
    return fig
