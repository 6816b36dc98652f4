"""Choosing classes and workers; each choice is tied to the address bar under its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import streamlit as st

from dashboard import state

K = TypeVar("K", bound=str)


def picker(label: str, key: str, names: Sequence[str], chosen: int) -> None:
    """One of ``names``; ``chosen`` is shown."""
    st.selectbox(label, names, **state.bind(key, names[chosen]))


def optional(label: str, key: str, names: Sequence[str], anything: str) -> int | None:
    """The number of one of ``names``, or None while nothing is chosen."""
    chosen = state.one_of(key, names)
    st.selectbox(label, names, index=None, placeholder=anything, **state.bind(key, chosen))
    return None if chosen is None else list(names).index(chosen)


def named(label: str, key: str, names: Mapping[K, str], width: int | Literal["stretch"] = "stretch") -> K:
    """One of the keys of ``names``, shown by what they stand for; the first by default."""
    options = list(names)
    chosen = options[state.index_of(key, options) or 0]
    st.selectbox(label, options, format_func=names.__getitem__, width=width, **state.bind(key, chosen))
    return chosen
