"""The way from a cell, a group, a pair or a verdict to the labels behind it, on the page Review."""

from __future__ import annotations

import streamlit as st

from dashboard import state

__all__ = ["review_link"]


def review_link(label: str = "Review and mark these labels", **address: str | list[str] | None) -> None:
    """A link to the page Review with its filters set: ``true``, ``given``, ``workers``, ``show``, ``by``, …"""
    there = state.address("review", **address)
    st.page_link("views/review.py", label=label, icon=":material/rate_review:", query_params=there)
