"""How ω spreads within each class, and within each worker's labels."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from dashboard import services, state
from dashboard.components.figure import figure
from dashboard.components.frame import hidden_names
from dashboard.components.recovered import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text

__all__ = ["classes", "workers"]


def classes(choice: Choice) -> None:
    """ω per true class, beside the entropy of its labels; a row leads to the class's tasks."""
    names = services.dataset(state.get("dataset")).classes
    _spread(choice, "class", list(names), "true")


def workers(choice: Choice) -> None:
    """ω per worker; a row leads to the worker's tasks."""
    _spread(choice, "worker", services.workers(state.get("dataset"), hidden_names()), "worker")


def _spread(choice: Choice, by: Literal["class", "worker"], names: list[str], key: str) -> None:
    dataset, reference, hidden = state.get("dataset"), state.get("reference"), hidden_names()
    chosen = state.index_of(key, names)
    name = f"{dataset}-omega-by-{by}-{choice.view.run[:8]}"

    def data() -> object:
        return services.omega.omega_spread_table(dataset, reference, choice.view, by, hidden)

    figure(
        services.omega.omega_spread_figure(dataset, reference, choice.view, by, chosen, hidden),
        f"by-{by}",
        name=name,
        alt=f"Distribution of ω for each {by}",
        data=data,  # type: ignore[arg-type]
    )
    if chosen is not None:
        label = as_text(f"Tasks {'of class' if by == 'class' else 'labelled by'} {names[chosen]}")
        view = state.address("tasks", **{key: names[chosen]})
        st.page_link("views/tasks.py", label=label, query_params=view, icon=":material/list_alt:")
    else:
        st.caption(f"Click a row to mark its {by} and to go to its tasks.")
    table(
        services.omega.omega_spread_table(dataset, reference, choice.view, by, hidden),
        f"omega-{by}",
        name=name,
        noun=by,
        rows=14,
        on_row=lambda row: state.put(**{key: names[row]}),
    )
