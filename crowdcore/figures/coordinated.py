"""Groups of coordinated workers: how many labels change without each."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.coordinated.workers import CoordinatedWorkers
from crowdcore.figures import theme

__all__ = ["coordinated_workers"]

_ROW = 44  # pixels of a group
_NAMES = 4  # members named on the axis


def coordinated_workers(
    found: CoordinatedWorkers, *, most: int = 30, title: str = "Labels that change without each group"
) -> go.Figure:
    """Draw a bar per group: labels of the majority vote that become right, become wrong or change otherwise.

    Without gold or marks nobody knows which become right, and a bar has one colour.

    Args:
        found: from `analysis.coordinated_workers`.
        most: groups drawn, the surest.
    """
    groups = found.groups[:most]
    subtitle = f"majority vote without the group · reference: {found.reference}"
    subtitle += f" · the {most} surest of {len(found.groups)} groups" if len(found.groups) > most else ""
    fig = theme.figure(title=title, subtitle=subtitle, height=170 + _ROW * len(groups), margin_t=90)
    changed = np.array([len(group.influence.changed) for group in groups], int)
    right, wrong = (
        np.array([getattr(group.influence, name) for group in groups], int) for name in ("become_right", "become_wrong")
    )
    judged = bool((right >= 0).all())
    parts = [("become right", theme.ACCENT, right), ("become wrong", theme.WARN, wrong)] if judged else []
    parts.append(("change otherwise" if judged else "change", theme.FAINT, changed - (right + wrong if judged else 0)))
    called = [_called(found, group.members.tolist()) for group in groups]
    for name, color, count in parts:
        fig.add_bar(
            x=count,
            y=np.arange(len(groups)),
            orientation="h",
            name=name,
            marker={"color": color, "line": {"color": theme.INK, "width": 0.5}},
            customdata=[[*words, number] for number, words in enumerate(called)],
            hovertemplate=f"%{{x}} labels {name} without<br><b>%{{customdata[1]}}</b><extra></extra>",
        )
    fig.update_layout(
        barmode="stack",
        bargap=0.35,
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    )
    fig.update_xaxes(title="labels", rangemode="tozero")
    ticks = {"tickvals": np.arange(len(groups)), "ticktext": [short for short, _ in called]}
    return fig.update_yaxes(**ticks, showgrid=False, range=[len(groups) - 0.4, -0.6])


def _called(found: CoordinatedWorkers, members: list[int]) -> tuple[str, str]:
    """A group by the names of some members, and of all."""
    names = sorted(str(found.worker_ids[member]) for member in members)
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more, ", ".join(names)
