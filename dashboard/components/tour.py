"""What to look at next in the demo dataset."""

from __future__ import annotations

import streamlit as st

from crowdcore.data.tour import DEMO, TOUR
from dashboard import state
from dashboard.components.link import link


def tour() -> None:
    """Links to the pages that answer the first questions; nothing for other datasets."""
    if state.get("dataset") != DEMO:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tour"):
        st.caption("What to look at next:", width="content")
        for step in TOUR:
            link(step.view, step.question, icon="arrow_forward", view=step.tab)
