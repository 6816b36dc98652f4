"""Whether the labels of a file are classes or ratings; of ratings their range, or the order of their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import services, state

if TYPE_CHECKING:
    from crowdcore.data.validation.rating_values import RatingValues

__all__ = ["ask_kind", "ask_scale"]

KINDS = {"classes": "Classes, or tags of tokens", "ratings": "Ratings: numbers, or words in an order"}


def ask_kind(path: str, mapping: dict[str, Any]) -> None:
    """What the labels are; settings that mean nothing for the other kind are forgotten."""
    key = f"kind-{path}"

    def chosen() -> None:
        for name in set(mapping) - services.COMMON:
            del mapping[name]
        if st.session_state[key] == "ratings":
            mapping["kind"] = "ratings"

    state.show(key, mapping.get("kind", "classes"))
    st.radio("The labels are", list(KINDS), format_func=KINDS.__getitem__, key=key, on_change=chosen, horizontal=True)


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
    key = f"{name}-{path}"

    def chosen() -> None:
        mapping.pop(name, None)
        if st.session_state[key] is not None:
            mapping[name] = float(st.session_state[key])

    state.show(key, mapping.get(name))
    label = f"{word} rating that can be given"
    st.number_input(
        label, value=None, key=key, on_change=chosen, placeholder=f"{seen:g} in the file", format="%g", width=260
    )
    return mapping.get(name)


def _ask_words(path: str, mapping: dict[str, Any], words: tuple[str, ...]) -> None:
    key = f"levels-{path}"

    def chosen() -> None:
        mapping["levels"] = tuple(st.session_state[key])

    state.show(key, list(mapping.get("levels", ())))
    st.multiselect(
        "Words, from the lowest to the highest",
        words,
        key=key,
        on_change=chosen,
        placeholder="Choose the lowest first",
        help="They stand for 1, 2, 3 … in the order in which you choose them.",
    )
