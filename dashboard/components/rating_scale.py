"""Whether the labels of a file are classes or ratings; of ratings their range, or the order of their words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import state
from dashboard.services import uploads

if TYPE_CHECKING:
    from crowdcore.data.reading.examine import RatingValues

KINDS = {"classes": "Classes, or tags of tokens", "ratings": "Ratings: numbers, or words in an order"}


def reading(
    path: str,
    mapping: dict[str, Any],
    setting: str,
    value: object,
    kept: Callable[[Any], object] = lambda value: value,
    forget: Collection[str] = (),
) -> dict[str, Any]:
    """Arguments that tie a widget to a setting of how a file is read; None forgets it.

    Args:
        path: of the file.
        mapping: how it is read.
        setting: a key of it.
        value: what the widget shows now.
        kept: what is kept of what the widget shows.
        forget: settings that mean nothing once this one changes.
    """
    key = f"{setting}-{path}"

    def chosen() -> None:
        for name in (setting, *forget):
            mapping.pop(name, None)
        if (held := kept(st.session_state[key])) is not None:
            mapping[setting] = held

    state.show(key, value)
    return {"key": key, "on_change": chosen}


def ask_kind(path: str, mapping: dict[str, Any], found: str | None) -> None:
    """What the labels are, if not what was found; settings that mean nothing for the other kind are forgotten."""
    key = f"kind-{path}"

    def chosen() -> None:
        for name in set(mapping) - uploads.COMMON:
            del mapping[name]
        mapping["kind"] = st.session_state[key]

    state.show(key, mapping.get("kind", found))
    said, label = KINDS.__getitem__, "The labels are"
    st.radio(label, list(KINDS), index=None, format_func=said, key=key, on_change=chosen, horizontal=True)


def ask_scale(path: str, mapping: dict[str, Any], found: RatingValues) -> bool:
    """Lowest and highest rating, or the words from low to high; whether they are known now."""
    if found.low is None:
        _ask_words(path, mapping, found.words)
        return len(mapping.get("levels", ())) > 1
    with st.container(horizontal=True):
        low = _ask_end(path, mapping, "low", "Lowest", found.low)
        high = _ask_end(path, mapping, "high", "Highest", found.high)
    st.caption(f"The ratings of the file go from {found.low:g} to {found.high:g}.")
    return low is not None and high is not None


def _ask_end(path: str, mapping: dict[str, Any], name: str, word: str, seen: float | None) -> float | None:
    bound = reading(path, mapping, name, mapping.get(name), lambda end: None if end is None else float(end))
    label = f"{word} rating that can be given"
    st.number_input(label, value=None, placeholder=f"{seen:g} in the file", format="%g", width=260, **bound)
    return mapping.get(name)


def _ask_words(path: str, mapping: dict[str, Any], words: tuple[str, ...]) -> None:
    st.multiselect(
        "Words, from the lowest to the highest",
        words,
        placeholder="Choose the lowest first",
        help="They stand for 1, 2, 3 … in the order in which you choose them.",
        **reading(path, mapping, "levels", list(mapping.get("levels", ())), tuple),
    )
