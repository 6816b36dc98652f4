"""Curves of training, live and finished."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dashboard.services.runs import curves, run_names

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore.runs import Run

__all__ = ["curve_metrics", "curves_figure", "curves_table"]

_ONCE = ("_selected", "_last", "_best", "seconds", "_second", "_bytes")  # ends of scores that are no curves


def curve_metrics(shown: Sequence[Run]) -> dict[str, str]:
    """Metric -> what it is, of all that any of these runs has measured, the most telling first."""
    from crowdcore.learning.results import curve_metrics as measured
    from crowdcore.runs.run import is_spread

    return measured.curve_metrics(
        m for run in shown for m in run.scores if not (is_spread(m, run.scores) or m.endswith(_ONCE))
    )


def curves_figure(shown: Sequence[Run], metric: str, smooth: int = 1, axes: Sequence[str] = ()) -> go.Figure:
    """One metric of these runs by epoch, as far as they are.

    Args:
        shown: the runs.
        metric: what is drawn.
        smooth: epochs that a line takes the mean of.
        axes: ``log_epochs``, ``log_values`` and ``all_values`` of `crowdcore.figures.learning_curves`, as wanted.
    """
    from crowdcore import figures
    from crowdcore.analysis import Band
    from crowdcore.learning.results import curve_metrics as measured

    bands, names = [], run_names(shown)
    for run in shown:
        part = curves(run.id, run.ended, metric).sort_values("epoch")
        mean, std = part["mean"].to_numpy(float), part["std"].to_numpy(float)
        seeds = np.full(len(part), len(run.spec.seeds))
        name = html.escape(names[run.id], quote=False)
        bands.append(Band(name, run.spec.method, part["epoch"].to_numpy(), mean, std, seeds))
    live = not all(run.has_ended for run in shown)
    fig = figures.learning_curves(
        bands,
        measured.in_words(metric),
        percent=measured.is_share(metric),
        smooth=smooth,
        until=max(run.epochs for run in shown) if live else 0,  # shows how much is to come
        title=measured.in_words(metric),
        log_epochs="log_epochs" in axes,
        log_values="log_values" in axes,
        all_values="all_values" in axes,
    )
    return fig.update_layout(uirevision=f"{metric} {axes}")


def curves_table(shown: Sequence[Run]) -> pd.DataFrame:
    """The numbers behind the curves, all metrics."""
    import pandas as pd

    frames = [curves(run.id, run.ended).assign(run=run.id, method=run.spec.method) for run in shown]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["run", "method", "epoch", "metric", "mean", "std"]]
