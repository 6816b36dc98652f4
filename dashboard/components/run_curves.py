"""Curves of the runs shown, live while one of them trains; then the way to what they recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import state
from dashboard.components.curve_choice import curve_choice, each_in_a_cell
from dashboard.components.figure import figure
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.services import opening
from dashboard.services.runs import readable, runs_of
from dashboard.services.training_figures import curve_metrics, training_curves

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from crowdcore.exhibits import Exhibit
    from crowdcore.runs import Run

EVERY = 2.0  # seconds between two drawings


def curves(shown: list[Run]) -> None:
    """Metrics by epoch, chosen from those measured."""
    fragment(lambda: _curves(shown))()


def _curves(shown: list[Run]) -> None:
    metrics = curve_metrics(shown)
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
            return training_curves(known, metric, how.smooth, how.axes)

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


def onwards(shown: list[Run]) -> None:
    """Links to the pages that show what these runs recovered."""
    dataset = state.get("dataset")
    ids = [run.id for run in shown if readable(run, dataset)]
    if not ids:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for page in ("compare", "confusions", "omega") if opening.kind(dataset) == "classes" else ("compare",):
            link(page, runs=ids)
