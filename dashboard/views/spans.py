"""Spans of a crowd that tags tokens: F1 and kinds of errors of each worker."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crowdcore.exhibits import mistakes
from dashboard.components.exhibit import folded, looked_at, show
from dashboard.components.frame import heading, page


def draw() -> None:
    """Draw the page."""
    heading()
    view = looked_at()
    scores = mistakes.span_scores(view)
    show(scores, "span-scores", notes=False)
    st.caption(scores.notes[0])
    folded("As a table", lambda: show(replace(scores, figure=None), "scores", noun="worker", rows=12))
    show(mistakes.span_errors(view), "span-errors")
    grid = st.grid(2, min_column_width=420, gap="small")
    with grid.cell():
        show(mistakes.span_types(view), "span-types")
    with grid.cell():
        st.subheader("Boundary errors")
        show(mistakes.span_boundaries(view), "span-boundaries", noun="type")


page("spans", draw)
