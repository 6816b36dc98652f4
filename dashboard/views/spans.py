"""Spans: who finds the entities of a crowd that tags tokens, and how workers err on them."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import mistakes
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading, page


def draw() -> None:
    """The page."""
    heading()
    view = looked_at()
    show(mistakes.span_scores(view), "span-scores")
    show(mistakes.span_errors(view), "span-errors")
    grid = st.grid(2, min_column_width=420, gap="small")
    with grid.cell():
        show(mistakes.span_types(view), "span-types")
    with grid.cell():
        st.subheader("Boundary errors")
        show(mistakes.span_boundaries(view), "span-boundaries", noun="type")


page("spans", draw)
