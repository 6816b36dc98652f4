"""Reproduction: the papers' numbers beside ours, with reasons for differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.components.exhibit import show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import link
from dashboard.components.pickers import picker
from dashboard.components.text import as_text, count
from dashboard.services import reproduction
from dashboard.services.runs import training_fault

if TYPE_CHECKING:
    from crowdcore.reproduce import Scale

SCALES: dict[Scale, str] = {"small": "Small: two cores", "paper": "As in the paper: needs a GPU"}


@fragment
def draw() -> None:
    """One table or figure of a paper: how to run it, paper and ours, figures, the runs behind them."""
    heading()
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    from crowdcore.reproduce import ENTRIES

    with st.container(horizontal=True):
        chosen = picker("Table or figure", "entry", {one.id: f"{one.id}: {one.title}" for one in ENTRIES.values()})
        scale = picker("Scale", "scale", SCALES, width=220)
    with st.spinner("Looking up the runs …"):
        outcome = reproduction.outcome(chosen, scale)
    missing = sum(not one.ours and not one.why.startswith("not run: ") for one in outcome.parts)
    if missing:
        some = f"{missing} of {count(len(outcome.parts), 'row')}"
        st.info(f"Not run yet: {some}. This command runs what is missing:", icon=":material/terminal:")
        st.code(f"crowdcore reproduce {chosen} --scale {scale}", language="sh")
    table, footnotes = outcome.footnoted
    show(replace(outcome.table, table=table.drop(columns="run"), notes=()), "table", file=outcome.table.name, rows=14)
    for footnote in footnotes:
        st.markdown(as_text(footnote))
    show_notes(outcome.table.notes)
    for exhibit in outcome.figures:
        show(exhibit, exhibit.name, file=exhibit.name)
    if runs := {one.run.id: one.run.spec.dataset for one in outcome.parts if one.run}:
        there = list(dict.fromkeys(runs.values()))
        link("train", f"{count(len(runs), 'run')} behind these numbers", datasets=there, runs=list(runs))


page("reproduction", draw, draw)
