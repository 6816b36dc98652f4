"""Spans: who finds the entities of a crowd that tags tokens, and how workers err on them."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits import mistakes
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading, page
from dashboard.components.text import as_text


def draw() -> None:
    """The page."""
    heading()
    view = looked_at()
    if view.dataset.sentences is None:
        st.info(
            f"The labels of {as_text(view.dataset.name)} are classes of single tasks. This page is for crowds that "
            "tag the tokens of sentences; Mistakes and Workers show who errs how here.",
            icon=":material/format_ink_highlighter:",
        )
        return
    show(mistakes.span_scores(view), "span-scores")
    show(mistakes.span_errors(view), "span-errors")
    grid = st.grid(2, min_column_width=420, gap="small")
    with grid.cell():
        show(mistakes.span_types(view), "span-types")
    with grid.cell():
        st.subheader("Boundary errors")
        show(mistakes.span_boundaries(view), "span-boundaries", noun="type")


page("spans", draw)
