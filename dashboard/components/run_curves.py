"""Curves of the runs shown and their axes, live while one trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.learning.curve_metrics import curve_metrics
from dashboard import state
from dashboard.components.exhibit import figure
from dashboard.components.guard import fragment
from dashboard.components.pickers import picker, several
from dashboard.components.run_choice import run_names
from dashboard.services.runs import curves as measured, runs_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from crowdcore.exhibits import Exhibit
    from crowdcore.runs import Run

EVERY = 2.0  # seconds between two drawings


def curves(shown: list[Run]) -> None:
    """Metrics by epoch, chosen from those measured."""
    fragment(lambda: _curves(shown))()


def _curves(shown: list[Run]) -> None:
    offered = curve_metrics(name for run in shown for name in run.curve_metrics)
    if not offered:
        st.caption("The curves start after the first epoch.")
        return
    metrics, smooth, axes = _choice(offered)
    dataset, ids = state.get("dataset"), [run.id for run in shown]
    live = any(run.state == "running" for run in shown)

    def draw(metric: str) -> None:
        def drawn() -> Exhibit:
            now = {run.id: run for run in runs_of(dataset)}
            known = [now[name] for name in ids if name in now]
            return _exhibit(known, metric, smooth, axes)

        first = drawn()

        def again() -> go.Figure:
            figure = drawn().figure
            assert figure is not None
            return figure

        figure(
            again if live else first.figure,
            "curves" if metric == metrics[0] else f"curves-{metric}",
            name=f"{dataset}-{first.name}",
            alt=first.alt,
            data=lambda: first.table,
            every=EVERY,
        )

    grid = st.grid(min(len(metrics), 2), min_column_width=480, gap="small")
    for metric in metrics:
        with grid.cell():
            draw(metric)


def _exhibit(shown: Sequence[Run], metric: str, smooth: int, axes: Sequence[str]) -> Exhibit:
    """One metric of these runs by epoch, as far as they are; its table has every metric."""
    names, comparison = run_names(shown), exhibits.comparison
    parts = [
        comparison.Measured(names[run.id], run.spec.method, measured(run.id, run.ended, metric), len(run.spec.seeds))
        for run in shown
    ]
    live = not all(run.has_ended for run in shown)
    until = max(run.epochs for run in shown) if live else 0
    return comparison.training_curves(parts, metric, smooth, axes, until=until, table=lambda: _every_metric(shown))


def _every_metric(shown: Sequence[Run]) -> pd.DataFrame:
    frames = [measured(run.id, run.ended).assign(run=run.id, method=run.spec.method) for run in shown]
    return pd.concat(frames, ignore_index=True)[["run", "method", "epoch", "metric", "mean", "std"]]


SMOOTH = {"1": "As measured", **{str(k): f"Mean of {k} epochs" for k in (3, 5, 9, 15, 25)}}
AXES = {"log_epochs": "Log epochs", "log_values": "Log values", "all_values": "Whole range"}
"""Argument of `crowdcore.figures.learning_curves` -> words."""


def _choice(offered: Mapping[str, str]) -> tuple[list[str], int, list[str]]:
    """Pickers of metrics (by default the first), of the epochs that are averaged, and of `AXES`."""
    metrics = [name for name in state.get_many("metric") if name in offered] or list(offered)[:1]
    axes = [axis for axis in state.get_many("axes") if axis in AXES]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        several("Curves", "metric", offered, "Choose curves", metrics)
        about = "The measured values stay visible behind the smooth line."
        smooth = picker("Smoothing", "smooth", SMOOTH, width=180, help=about)
        st.pills(
            "Axes",
            list(AXES),
            selection_mode="multi",
            format_func=AXES.__getitem__,
            help="Logarithmic axes. “Whole range” includes the first epochs, even if they compress the rest.",
            **state.bind("axes", axes),
        )
    return metrics, int(smooth), axes
