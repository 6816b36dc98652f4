"""Compare: what several training runs came to, side by side."""

from __future__ import annotations

import streamlit as st

from dashboard import services, state
from dashboard.components import compared
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.run_picker import pick_runs

TABS = {
    "Accuracy": compared.accuracy,
    "Curves": compared.curves,
    "Calibration": compared.calibration,
    "Differences": compared.disagreement,
    "Sweeps": compared.sweeps,
    "Recovery": compared.recovery,
}


def draw() -> None:
    """The page."""
    st.title("Compare")
    board()


@fragment
def board() -> None:
    """The runs, and the open tab only; what was recovered can be judged on simulated crowds alone."""
    runs = tuple(run.id for run in pick_runs("runs"))
    if not runs:
        return
    known = services.dataset(state.get("dataset")).truth is not None
    names = [name for name in TABS if known or name != "Recovery"]
    shown = state.one_of("view", names) or names[0]
    for tab, name in zip(st.tabs(names, **state.bind("view", shown)), names, strict=True):
        if tab.open:
            with tab:
                TABS[name](runs)


page("compare", draw)
