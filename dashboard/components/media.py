"""What a task looks, reads or sounds like."""

from __future__ import annotations

import streamlit as st

from dashboard import services

__all__ = ["media"]


def media(dataset: str, task: int, *, large: bool = False) -> bool:
    """Show a task's image, text or sound; False if it has none."""
    item = services.media(dataset, task, side=420 if large else 160)
    if item.image is not None:
        st.image(item.image, width=min(item.width, 420 if large else 160), alt=f"Item {task}")
    if item.text:
        with st.container(height=320 if large else 130, border=True):
            st.text(item.text if large else item.text[:600])
    if item.audio is not None:
        st.audio(item.audio)
    return item.image is not None or bool(item.text) or item.audio is not None
