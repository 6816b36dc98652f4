"""The tasks on which a run contradicts every label: what to look at, and to label again."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.recovered.choice import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text, percent


def contradicted(choice: Choice) -> None:
    """How many there are, the tasks themselves with links to their pages, and all as a table."""
    found = exhibits.recovered.contradicted_tasks(choice.view)
    for note in found.notes:
        st.caption(as_text(note))
    if not len(found.table):
        st.info("Every task has a label that this run agrees with.", icon=":material/check_circle:")
        return
    rows = zip(found.table["class by the run"], found.table["probability"], found.table["most given"], strict=True)
    captions = [f"{name} ({percent(p, 0)}), labelled {given}" for name, p, given in rows]
    cards(state.get("dataset"), found.table.index.tolist(), captions, "contradicted")
    link("review", "Review and mark the tasks of another class by this run", by="task", against=f"run:{choice.run}")
    table(found.table, "contradicted", name=choice.file(found), noun="task", rows=14)
