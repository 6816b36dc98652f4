"""Spans of a crowd that tags tokens: F1 and kinds of errors of each worker."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crowdcore.exhibits import mistakes
from dashboard.components.exhibit import folded, looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.text import as_text


def draw() -> None:
    """Draw the page."""
    heading()
    view = looked_at()
    scores = mistakes.span_scores(view)
    show(scores, "span-scores", notes=False)
    inferred = f"True spans are what {view.reference} infers: whatever most workers miss or mark alike counts as right."
    st.caption(as_text(scores.notes[0] if view.truth.checked else f"{scores.notes[0]} {inferred}"))
    folded("As a table", lambda: show(replace(scores, figure=None), "scores", noun="worker", rows=12))
    show(mistakes.span_errors(view), "span-errors")
    grid = st.grid(2, min_column_width=420, gap="small")
    with grid.cell():
        show(mistakes.span_types(view), "span-types")
    with grid.cell():
        st.subheader("Boundary errors")
        show(mistakes.span_boundaries(view), "span-boundaries", noun="type")


page("spans", draw)
