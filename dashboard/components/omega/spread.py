"""How ω spreads within each class, and within each worker's labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.link import link
from dashboard.components.recovered import Choice
from dashboard.components.table import table
from dashboard.components.text import as_text


def classes(choice: Choice) -> None:
    """ω per true class, beside the entropy of its labels; a row leads to the class's tasks."""
    _spread(choice, "class", choice.view.classes, "true")


def workers(choice: Choice) -> None:
    """ω per worker; a row leads to the worker's tasks."""
    _spread(choice, "worker", choice.view.workers, "worker")


def _spread(choice: Choice, by: Literal["class", "worker"], names: Sequence[str], key: str) -> None:
    """A figure for each seed shown, and the table of the first."""
    chosen = state.index_of(key, names)
    for view in choice.view.one_by_one():
        which = f"-seed-{view.seed}" if choice.view.seed == "each" else ""
        found = exhibits.omega.omega_spread(view, by, chosen)
        show(found, f"by-{by}{which}", file=f"{choice.file(found)}{which}")
    found = exhibits.omega.omega_spread(choice.view, by, chosen)
    if chosen is not None:
        label = as_text(f"Tasks {'of class' if by == 'class' else 'labelled by'} {names[chosen]}")
        link("tasks", label, **{key: names[chosen]})
    else:
        st.caption(f"Click a row to mark its {by} and to go to its tasks.")
    if choice.view.seed == "each":
        st.caption(f"The table shows seed {choice.view.shown_seed}.")

    def marked(row: int) -> None:
        state.put(**{key: names[row]})

    table(found.table, f"omega-{by}", name=choice.file(found), noun=by, rows=14, on_row=marked)
