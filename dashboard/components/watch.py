"""A part of a page that looks, every so often, whether something has changed: then the whole page is drawn anew."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard import state
from dashboard.components.collector import spare
from dashboard.components.guard import refusals


def watch(drawn: object, now: Callable[[], object], every: float, draw: Callable[[], None] = lambda: None) -> None:
    """Draw a part anew every so often, and the whole page once ``now`` returns something else.

    Args:
        drawn: what ``now`` returned as the page was drawn.
        now: asked at every look.
        every: seconds between looks.
        draw: the part that is drawn at every look.
    """

    def look() -> None:
        spare()
        with refusals():
            if now() != drawn:
                state.put()  # nothing, but the session now wins over an address bar that may lag behind it
                st.rerun()
            draw()

    st.fragment(look, run_every=every)()
