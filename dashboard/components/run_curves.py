"""Curves of the runs shown, live while one of them trains; then the way to what they recovered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.learning.results.curve_metrics import curve_metrics
from dashboard import state
from dashboard.components.curve_choice import curve_choice, each_in_a_cell
from dashboard.components.figure import figure
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.components.run_words import run_names
from dashboard.services import opening
from dashboard.services.runs import curves as measured, readable, runs_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from crowdcore.exhibits import Exhibit
    from crowdcore.runs import Run

EVERY = 2.0  # seconds between two drawings


def curves(shown: list[Run]) -> None:
    """Metrics by epoch, chosen from those measured."""
    fragment(lambda: _curves(shown))()


def _curves(shown: list[Run]) -> None:
    metrics = curve_metrics(name for run in shown for name in run.curve_metrics)
    if not metrics:
        st.caption("The curves start after the first epoch.")
        return
    how = curve_choice(metrics)
    dataset, ids = state.get("dataset"), [run.id for run in shown]
    live = any(run.state == "running" for run in shown)

    def draw(metric: str) -> None:
        def drawn() -> Exhibit:
            now = {run.id: run for run in runs_of(dataset)}
            known = [now[name] for name in ids if name in now]
            return _exhibit(known, metric, how.smooth, how.axes)

        first = drawn()

        def again() -> go.Figure:
            found = drawn().figure
            assert found is not None
            return found

        figure(
            again if live else first.figure,
            "curves" if metric == how.metrics[0] else f"curves-{metric}",
            name=f"{dataset}-{first.name}",
            alt=first.alt,
            data=lambda: first.table,
            every=EVERY,
        )

    each_in_a_cell(how.metrics, draw)


def _exhibit(shown: Sequence[Run], metric: str, smooth: int, axes: Sequence[str]) -> Exhibit:
    """One metric of these runs by epoch, as far as they are; its table has every metric."""
    names, training = run_names(shown), exhibits.training
    parts = [
        training.Measured(names[run.id], run.spec.method, measured(run.id, run.ended, metric), len(run.spec.seeds))
        for run in shown
    ]
    live = not all(run.has_ended for run in shown)
    until = max(run.epochs for run in shown) if live else 0
    return training.training_curves(parts, metric, smooth, axes, until=until, table=lambda: _every_metric(shown))


def _every_metric(shown: Sequence[Run]) -> pd.DataFrame:
    frames = [measured(run.id, run.ended).assign(run=run.id, method=run.spec.method) for run in shown]
    return pd.concat(frames, ignore_index=True)[["run", "method", "epoch", "metric", "mean", "std"]]


def onwards(shown: list[Run]) -> None:
    """Links to the pages that show what these runs recovered."""
    dataset = state.get("dataset")
    ids = [run.id for run in shown if readable(run, dataset)]
    if not ids:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for page in ("compare", "confusions", "omega") if opening.kind(dataset) == "classes" else ("compare",):
            link(page, runs=ids)
