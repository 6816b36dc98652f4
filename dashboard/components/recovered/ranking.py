"""The workers by what a run made of them: learnt skills on observed ones, and the table."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.pickers import named
from dashboard.components.recovered.choice import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text, number

__all__ = ["ranking"]


def ranking(choice: Choice) -> None:
    """Skills, what they say together, and the sortable table; a row leads to the worker's matrix."""
    dataset, reference, hidden = state.get("dataset"), state.get("reference"), hidden_names()
    names = services.workers(dataset, hidden)
    chosen = state.index_of("worker", names)
    view = choice.view
    figure(
        services.worker_skills.skills_figure(dataset, reference, view, choice.beside, chosen, hidden),
        "skills",
        name=f"{dataset}-skills-{view.run[:8]}",
        alt="Learnt skill of each worker beside the observed one",
        data=lambda: services.worker_skills.skills_table(dataset, reference, view, hidden),
    )
    found = services.recovered.skill_comparison(dataset, reference, view)
    st.caption(
        as_text(
            f"Correlation of learnt with observed skill ({reference}; {found.combined}): "
            f"{number(found.correlation, 2)}, weighted by annotations {number(found.weighted, 2)}, "
            f"by ranks {number(found.rank_correlation, 2)}."
        )
    )
    sort = named("Order", "sort", services.panels.sorts(dataset, view), width=220)
    frame = services.worker_skills.recovered_workers(dataset, reference, view, choice.beside, sort, hidden)

    def opened(worker: int) -> None:
        state.put(worker=names[worker], view="Matrices")

    table(frame, "workers", name=f"{dataset}-workers-{view.run[:8]}", noun="worker", rows=14, on_row=opened)
    st.caption(
        f"The table shows {found.combined}. Skill: mean of the diagonal. Distance from common: mean squared "
        "difference, cell by cell. Common noise: mean ω of the worker's annotations. ±: standard deviation over seeds. "
        "Observed skill: over the classes that the worker labelled. Click a row to see the worker's matrix."
    )
