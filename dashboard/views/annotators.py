"""Annotators: how alike they are, how good, what each confuses, who is wrong with whom, and who acts together."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.components.annotators import alike, coordinated, pairs, ranking, worker
from dashboard.components.frame import page
from dashboard.components.guard import fragment

TABS = {"Distances": alike, "Ranking": ranking, "One worker": worker, "Pairs": pairs, "Coordinated": coordinated}


def draw() -> None:
    """The page."""
    st.title("Annotators")
    board()


@fragment
def board() -> None:
    """The open tab only."""
    names = list(TABS)
    shown = state.one_of("view", names) or names[0]
    for tab, name in zip(st.tabs(names, **state.bind("view", shown)), names, strict=True):
        if tab.open:
            with tab:
                TABS[name]()


page("annotators", draw)
