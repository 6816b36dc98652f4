"""Parts of a page whose changes a screen reader speaks: results and the ends of runs; refusals are alerts anyway."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_marker = None


def live(key: str) -> DeltaGenerator:
    """A container that is spoken whenever it changes; some words have to be in it before, or nobody listens to it."""
    return st.container(key=f"live-{key}", gap=None)


def make_live() -> None:
    """Have the browser mark such containers; to be called once on every page."""
    global _marker
    if _marker is None:
        _marker = st.components.v2.component("crowdcore_live", js=Path(__file__).with_suffix(".js").read_text())
    with st.container(key="marker"):  # never seen
        _marker(key="live")
