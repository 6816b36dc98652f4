"""Glossary: what each column of a table means."""

from __future__ import annotations

import streamlit as st

from crowdcore.exhibits.glossary import glossary
from dashboard.components.exhibit import show
from dashboard.components.frame import heading, page


def draw() -> None:
    """Draw the page."""
    heading()
    st.caption("Hover over a column's name to see the same sentence.")
    show(glossary(), "glossary", file="glossary", noun="column", rows=24)


page("glossary", draw, without=draw)
