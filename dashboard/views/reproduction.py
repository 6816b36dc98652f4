"""Reproduction: the papers' numbers beside ours, and why they differ."""

from __future__ import annotations

from dataclasses import replace

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
        some = f"{found.missing} of {count(found.parts, 'row')}"
        st.info(f"Not run yet: {some}. This command runs what is missing:", icon=":material/terminal:")
        st.code(f"crowdcore reproduce {chosen} --scale {scale}", language="sh")
    table = found.table.table.drop(columns=["run", "ours mean", "ours std", "seeds"])
    show(replace(found.table, table=table), "table", file=found.table.name, rows=14)
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
