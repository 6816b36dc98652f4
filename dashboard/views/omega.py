"""Noise source ω."""

import streamlit as st

from dashboard.components.frame import page


def draw() -> None:
    """The page."""
    st.title("Noise source ω")


page("omega", draw)
