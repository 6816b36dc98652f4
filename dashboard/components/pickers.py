"""Choosing classes and workers; each choice is tied to the address bar under its key."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import state

__all__ = ["optional", "picker"]


def picker(label: str, key: str, names: Sequence[str], chosen: int) -> None:
    """One of ``names``; ``chosen`` is shown."""
    st.selectbox(label, names, **state.bind(key, names[chosen]))


def optional(label: str, key: str, names: Sequence[str], anything: str) -> int | None:
    """The number of one of ``names``, or None while nothing is chosen."""
    chosen = state.one_of(key, names)
    st.selectbox(label, names, index=None, placeholder=anything, **state.bind(key, chosen))
    return None if chosen is None else list(names).index(chosen)
