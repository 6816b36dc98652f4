"""Noise source: which labels a run attributes to the confusion that all workers share, and which to their own."""

from __future__ import annotations

import streamlit as st

from crowdcore import exhibits
from dashboard import state
from dashboard.components import omega
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.recovered import choose_omega, epochs

TABS = {"Tasks": omega.tasks, "Classes": omega.classes, "Workers": omega.workers, "Truth": omega.truth}


def draw() -> None:
    """The page."""
    st.title("Noise source (ω)")
    board()


@fragment
def board() -> None:
    """The pickers, then the open tab only; the truth where a simulation tells it."""
    choice = choose_omega()
    if choice is None:
        return
    st.caption(exhibits.omega.MEANING)
    epochs(choice)
    names = [n for n in TABS if n != "Truth" or exhibits.omega.has_true_omega(choice.view)]
    shown = state.one_of("view", names) or names[0]
    for tab, name in zip(st.tabs(names, **state.bind("view", shown)), names, strict=True):
        if tab.open:
            with tab:
                TABS[name](choice)


page("omega", draw)
