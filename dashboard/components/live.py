"""Parts of a page whose changes a screen reader speaks: results, refusals, the ends of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

__all__ = ["live", "make_live"]

_SCRIPT = Path(__file__).with_suffix(".js")


def live(key: str) -> DeltaGenerator:
    """A container that is spoken whenever it changes; some words have to be in it before, or nobody listens to it."""
    return st.container(key=f"live-{key}", gap=None)


def make_live() -> None:
    """Have the browser mark such containers, and alerts as they appear; to be called once on every page."""
    with st.container(key="live-script"):
        st.html(f"<script>{_SCRIPT.read_text()}</script>", unsafe_allow_javascript=True)
