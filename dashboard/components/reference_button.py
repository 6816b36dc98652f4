"""Taking a result along: the button that makes it the reference of every page."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.services import datasets


def reference_button(name: str, what: str) -> None:
    """Offer the reference ``name``; ``what`` of it is then taken for the truth, in words for the help."""
    used = state.get("reference") == name
    if st.button(
        "Reference of every page" if used else "Use as reference",
        icon=":material/check:" if used else ":material/flag:",
        disabled=used,
        help=f"Use {what} as the truth on every page.",
    ):
        datasets.offer(state.get("dataset"), name)
        state.put(reference=name)
        st.rerun()
