"""Train."""

import streamlit as st

from dashboard.components.frame import page


def draw() -> None:
    """The page."""
    st.title("Train")


page("train", draw)
