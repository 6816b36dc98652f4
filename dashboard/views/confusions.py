"""Confusions: what runs recovered of the workers, and what all of them share."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.recovered import choose, contradicted, epochs, matrices, ranking, sentences

TABS = {"Matrices": matrices, "Workers": ranking, "Contradicted tasks": contradicted}


def draw() -> None:
    """The page."""
    st.title("Confusions")
    board()


@fragment
def board() -> None:
    """The pickers, what was recovered in words, then the open tab only."""
    choice = choose()
    if choice is None:
        return
    epochs(choice)
    sentences(choice)
    names = list(TABS)
    shown = state.one_of("view", names) or names[0]
    for tab, name in zip(st.tabs(names, **state.bind("view", shown)), names, strict=True):
        if tab.open:
            with tab:
                TABS[name](choice)


page("confusions", draw)
