"""Reproduction: the papers' numbers beside ours, and why they differ."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.exhibit import show
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.pickers import named
from dashboard.components.text import as_text, count
from dashboard.services.reproduction import entries, reproduction

SCALES = {"small": "Small: two cores", "paper": "As the paper: a GPU"}


def draw() -> None:
    """The page."""
    st.title("Reproduction")
    board()


@fragment
def board() -> None:
    """One table or figure of a paper: how to run it, paper and ours, figures, the runs behind them."""
    if fault := services.training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    with st.container(horizontal=True):
        chosen = named("Table or figure", "entry", entries())
        scale = named("Scale", "scale", SCALES, width=220)
    with st.spinner("Looking up the runs …"):
        found = reproduction(chosen, scale)  # type: ignore[arg-type]
    if found.missing:
        some = f"{found.missing} of {count(found.parts, 'row')}" if found.missing < found.parts else "All of this"
        st.info(f"{some} has not been run yet. This command runs what is missing:", icon=":material/terminal:")
        st.code(f"crowdcore reproduce {chosen} --scale {scale}", language="sh")
    for note in found.table.notes:
        st.caption(as_text(note))
    shown = found.table.table.drop(columns=["run", "ours mean", "ours std", "seeds"])
    show(type(found.table)(found.table.name, found.table.title, None, shown), "table", file=found.table.name, rows=14)
    for exhibit in found.drawn:
        show(exhibit, exhibit.name, file=exhibit.name)
    if found.runs:
        st.page_link(
            "views/runs.py",
            label=f"{count(len(found.runs), 'run')} behind these numbers",
            icon=":material/table_rows:",
            query_params=state.address("runs", runs=found.runs),
        )


page("reproduction", draw, draw)
