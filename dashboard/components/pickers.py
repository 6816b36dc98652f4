"""Controls that are tied to the address bar under their key; each returns what it shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from dashboard import state

K = TypeVar("K", bound=str)
Names = Sequence[K] | Mapping[K, str]
"""Options of a picker; a mapping's keys are chosen and its values shown."""


def _option_arguments(names: Collection[Any]) -> dict[str, Any]:
    return {"options": list(names), "format_func": names.__getitem__ if isinstance(names, Mapping) else str}


def picker(label: str, key: str, names: Names[K], usual: K | None = None, **look: Any) -> K:
    """One of ``names``; by default ``usual``, else the first."""
    options = list(names)
    chosen = options[options.index(known)] if (known := state.one_of(key, options)) else usual or options[0]  # type: ignore[arg-type]
    st.selectbox(label, **_option_arguments(names), **look, **state.bind(key, chosen))
    return chosen


def optional(label: str, key: str, names: Names[K], anything: str, usual: K | None = None, **look: Any) -> K | None:
    """One of ``names``, else ``usual``, or None while nothing is chosen, which ``anything`` stands for."""
    chosen = state.one_of(key, list(names)) or usual
    st.selectbox(label, **_option_arguments(names), index=None, placeholder=anything, **look, **state.bind(key, chosen))
    return chosen  # type: ignore[return-value]


def several(
    label: str, key: str, names: Names[K], nothing: str, chosen: Sequence[K] | None = None, **look: Any
) -> list[K]:
    """Some of ``names``: ``chosen``, by default those that the address has; ``nothing`` stands for none."""
    shown: list[Any] = [name for name in state.get_many(key) if name in names] if chosen is None else list(chosen)
    st.multiselect(label, **_option_arguments(names), placeholder=nothing, wrap=True, **look, **state.bind(key, shown))
    return shown


def switch(label: str, key: str, *, usual: bool = False, on: str = "yes", **look: Any) -> bool:
    """Switch that is off by default; the address holds ``on``, or ``no`` where it is ``usual`` on."""
    shown = state.get(key) != "no" if usual else state.get(key) == on
    st.toggle(label, **look, **state.bind(key, shown, words=("", "no") if usual else (on, "")))
    return shown
