"""The workers by what a run made of them: learnt skills on observed ones, and the table."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.pickers import named
from dashboard.components.recovered.choice import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text


def ranking(choice: Choice) -> None:
    """Skills, what they say together, and the sortable table; a row leads to the worker's matrix."""
    view, beside = choice.view, choice.beside
    runs = [*view.one_by_one(), *([] if beside is None else [beside])]
    skills = exhibits.worker_skills.skills(runs, state.index_of("worker", view.workers))
    show(skills, "skills", file=choice.file(skills))
    sort = named("Order", "sort", exhibits.confusions.sorts(view), width=220)
    found = exhibits.worker_skills.recovered_workers(view, sort, beside)

    def opened(worker: int) -> None:
        state.put(worker=view.workers[worker], view="Matrices")

    table(found.table, "workers", name=choice.file(found), noun="worker", rows=14, on_row=opened)
    st.caption(as_text(f"{found.notes[0]} Click a row to see the worker's matrix."))
