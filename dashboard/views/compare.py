"""Compare: what several training runs came to, side by side."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.components import compared
from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.run_choice import pick_runs
from dashboard.services import compare, opening

TABS = {
    "Accuracy": compared.accuracy,
    "Significance": compared.significance,
    "Selection": compared.selection,
    "Curves": compared.curves,
    "Calibration": compared.calibration,
    "Differences": compared.disagreement,
    "Sweeps": compared.sweeps,
    "Recovery": compared.recovery,
}
RATING_TABS = {
    "Errors": compared.errors,
    "Curves": compared.curves,
    "Sweeps": compared.sweeps,
    "Biases": compared.biases,
}


def draw() -> None:
    """The page."""
    st.title("Compare")
    board()


@fragment
def board() -> None:
    """The runs, and the open tab only.

    What was recovered can be judged on simulated crowds alone; where all that was trained are searches, sweeps are all
    there is to see.
    """
    dataset = state.get("dataset")
    searched = bool(compare.searches(dataset))
    runs = tuple(run.id for run in pick_runs("runs", optional=searched))
    if not runs and not searched:
        return
    known = RATING_TABS
    if opening.kind(dataset) == "classes":
        judged = opening.dataset(dataset).truth is not None
        known = {name: tab for name, tab in TABS.items() if judged or name != "Recovery"}
    names = list(known) if runs else ["Sweeps"]
    shown = state.one_of("view", names) or names[0]
    for tab, name in zip(st.tabs(names, **state.bind("view", shown)), names, strict=True):
        if tab.open:
            with tab:
                known[name](runs)


page("compare", draw, ratings=draw)
