"""Sandbox: plant a crowd whose mistakes are known, and see which methods find them again."""

from __future__ import annotations

import streamlit as st

from dashboard.components.frame import heading, page
from dashboard.components.sandbox import planting, results, training


def draw() -> None:
    """The page."""
    heading()
    planting()
    st.caption(
        "Plant a crowd whose mistakes are known, and see which aggregators and trained methods find them again: on "
        "classes, tags of tokens and ratings."
    )
    st.header("Train")
    training()
    results()


page("sandbox", draw, ratings=draw)
