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

_ONCE = ("_std", "_selected", "_last", "_best", "seconds", "_bytes")  # ends of scores that are no curves


def curve_metrics(shown: Sequence[Run]) -> dict[str, str]:
    """Metric -> what it is, of all that any of these runs has measured, the most telling first."""
    from crowdcore.learning.comparison import METRICS

    found = dict.fromkeys(m for run in shown for m in run.scores if not m.endswith(_ONCE))
    known = {m: words for m, words in METRICS.items() if m in found}
    return known | {m: m.replace("_", " ").capitalize() for m in found if m not in known}


def curves_figure(shown: Sequence[Run], metric: str) -> go.Figure:
    """One metric of these runs by epoch, as far as they are."""
    from crowdcore import figures
    from crowdcore.analysis import Band
    from crowdcore.learning.comparison import METRICS

    bands, names = [], run_names(shown)
    for run in shown:
        part = curves(run.id, run.ended, metric).sort_values("epoch")
        mean, std = part["mean"].to_numpy(float), part["std"].to_numpy(float)
        seeds = np.full(len(part), len(run.spec.seeds))
        name = html.escape(names[run.id], quote=False)
        bands.append(Band(name, run.spec.method, part["epoch"].to_numpy(), mean, std, seeds))
    words = METRICS.get(metric, metric.replace("_", " ").capitalize())
    fig = figures.learning_curves(
        bands,
        words,
        percent=metric.endswith("_accuracy"),
        title=words,
        subtitle="mean over seeds ± standard deviation",
    )
    if not all(run.has_ended for run in shown):
        fig.update_xaxes(range=[0, max(run.epochs for run in shown)])  # shows how much is to come
    return fig.update_layout(uirevision=metric)


def curves_table(shown: Sequence[Run]) -> pd.DataFrame:
    """The numbers behind the curves, all metrics."""
    import pandas as pd

    frames = [curves(run.id, run.ended).assign(run=run.id, method=run.spec.method) for run in shown]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["run", "method", "epoch", "metric", "mean", "std"]]
