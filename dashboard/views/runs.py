"""Runs: everything that was trained, on whatever dataset, as one table."""

from __future__ import annotations

import streamlit as st

from dashboard.components.frame import page
from dashboard.components.guard import fragment
from dashboard.components.run_table import board


def draw() -> None:
    """The page."""
    st.title("Runs")
    fragment(board)()


page("runs", draw, draw, ratings=draw)
