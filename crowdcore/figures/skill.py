"""Learnt skills of the workers beside those that the labels show (Tanno et al. 2019, Fig. 7b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.recovery.recovered import SkillComparison
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme
from crowdcore.figures.axes import equal_line, ring
from crowdcore.figures.colors import percent_ticks

__all__ = ["skills"]

_BARS = 80  # workers up to which each has a bar; beyond, learnt against observed as points


def skills(
    comparisons: Mapping[str, SkillComparison],
    *,
    colors: Sequence[str] = (),
    highlight: int | None = None,
    title: str = "Skill of each worker",
) -> go.Figure:
    """Draw observed skills as bars, the best first, and the learnt ones of each run as points on them.

    With more than 80 workers, learnt skills are drawn against observed ones.

    Args:
        comparisons: what to call each run -> its comparison; all with the same reference.
        colors: of the runs.
        highlight: number of a worker to mark.

    Raises:
        SettingError: nothing to draw, or different references.
    """
    runs = list(comparisons.values())
    if not runs or len({run.reference for run in runs}) > 1:
        raise SettingError("comparisons", "hold one run or more, with one reference", list(comparisons))
    first = runs[0]
    known = np.flatnonzero(~np.isnan(first.observed))
    order = known[np.lexsort((known, -first.observed[known]))]
    colors = list(colors) or [theme.PALETTE[k % len(theme.PALETTE)] for k in range(len(runs))]
    combined = " · ".join(dict.fromkeys(run.combined for run in runs))
    subtitle = (
        f"mean of the diagonal over the classes that a worker labelled · {len(known)} of {len(first.observed)} workers"
        f" · {combined} · reference: {first.reference}"
    )
    fig = theme.figure(title=title, subtitle=subtitle, height=430, margin_t=94)
    bars = len(known) <= _BARS
    if bars:
        fig.add_trace(_bars(first, order))
    for color, (name, run) in zip(colors, comparisons.items(), strict=True):
        fig.add_trace(_points(name, run, order, color, bars))
    if highlight is not None and highlight in order:
        at = int(np.flatnonzero(order == highlight)[0])
        x = at if bars else first.observed[highlight]
        fig.add_trace(ring(x, first.learned[highlight], name=str(first.worker_ids[highlight])))
    if bars:
        ticks = {"tickvals": np.arange(len(order)), "ticktext": first.worker_ids[order], "tickangle": -90}
        fig.update_xaxes(**ticks, tickfont_size=10, showgrid=False, range=[-0.7, len(order) - 0.3])
    else:
        equal_line(fig, 0, 1)
        fig.update_xaxes(title=f"observed skill ({first.reference})", range=[-0.02, 1.02], **percent_ticks(0, 1))
    return fig.update_yaxes(title="skill" if bars else "learnt skill", range=[0, 1.02], **percent_ticks(0, 1))


def _bars(run: SkillComparison, order: AnyArray) -> go.Bar:
    return go.Bar(
        x=np.arange(len(order)),
        y=run.observed[order],
        name=f"observed ({run.reference})",
        marker={"color": "rgba(128, 136, 150, 0.45)", "cornerradius": 2},
        customdata=_about(run, order, run.observed),
        hovertemplate="<b>%{customdata[0]}</b><br>observed %{customdata[3]:.1f} %, %{customdata[1]:.4~g} labels, "
        "%{customdata[2]} classes<extra></extra>",
    )


def _points(name: str, run: SkillComparison, order: AnyArray, color: str, bars: bool) -> go.Scatter:
    spread, learned = np.nan_to_num(run.learned_spread[order]), run.learned[order]
    some = np.isfinite(run.learned_spread[order]).any()
    ends = {"array": np.minimum(spread, 1 - learned), "arrayminus": np.minimum(spread, learned)}  # within 0 to 100 %
    error = {"type": "data", "symmetric": False, **ends, "color": color, "thickness": 1.5, "width": 0}
    return go.Scatter(
        x=np.arange(len(order)) if bars else run.observed[order],
        y=learned,
        mode="markers",
        name=f"{name}: r = {run.correlation:z.2f}",
        marker={"color": color, "size": 8 if len(order) <= 200 else 5, "line": {"width": 0}},
        error_y=error if some and len(order) <= 300 else None,
        customdata=np.column_stack([_about(run, order, run.learned), 100 * spread]),
        hovertemplate="<b>%{customdata[0]}</b><br>learnt %{customdata[3]:.1f} %"
        + (" ± %{customdata[4]:.1f}" if some else "")
        + f"<extra>{name}</extra>",
    )


def _about(run: SkillComparison, order: AnyArray, skill: FloatArray) -> AnyArray:
    """(n, 4) name, labels, classes and skill in percent of each worker."""
    columns = np.asarray(run.worker_ids, object), run.n_annotations, run.n_classes, 100 * skill
    return np.stack([column[order] for column in columns], axis=1)
