"""How a search goes: its trials, the best so far, and which settings matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.link import link
from dashboard.components.run_words import run_title
from dashboard.components.table import table
from dashboard.components.text import as_text
from dashboard.components.train_form import prefill
from dashboard.services import compare, searches

if TYPE_CHECKING:
    from crowdcore.runs import Run


def search_board(search: Run) -> None:
    """One search."""
    st.header(as_text(run_title(search)))
    trials = searches.search_trials(search)
    if not trials[searches.compared_by(search).column].notna().any():
        st.caption("No trial has finished yet.")
        return
    name = f"{state.get('dataset')}-{search.spec.method}-search"
    history, importance = searches.search_exhibits(search)
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        show(history, f"history-{search.id}", file=f"{name}-history")
    with grid.cell():
        if importance is None:
            st.caption("Importance needs four trials.")
        else:
            show(importance, f"importance-{search.id}", file=f"{name}-importance")
    best = searches.best_draft(state.get("dataset"), search)
    if best is not None and st.button(
        "Train with the best settings …", icon=":material/trophy:", key=f"best-{search.id}"
    ):
        prefill(best)
        st.toast("The form above holds the best settings.", icon=":material/trophy:")
        st.rerun()
    if search.id in compare.searches(state.get("dataset")):
        told = searches.compared_by(search).measure
        link("compare", f"Test {told} along what it varies", icon="show_chart", view="Sweeps", searches=[search.id])
    table(trials.drop(columns="run"), f"trials-{search.id}", name=name, noun="trial")
