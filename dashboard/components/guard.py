"""Parts of a page that run alone: refusals in place, fragments, spoken changes, and looks at what has changed."""

from __future__ import annotations

import functools
import gc
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crowdcore.core.errors import CrowdError
from crowdcore.core.files import workspace
from crowdcore.data.catalogue import search_path
from dashboard import state
from dashboard.components.text import as_text

_log = logging.getLogger("dashboard")


@contextmanager
def refusals() -> Iterator[None]:
    """Show a refusal raised inside as an error box, and log anything else."""
    try:
        yield
    except CrowdError as refusal:
        st.error(as_text(without_server_paths(str(refusal))), icon=":material/block:")
    except Exception:
        _log.exception("A page could not be drawn")
        st.error(
            "This part of the page could not be drawn. What went wrong is in the app's log. "
            "Reload the page, or choose another dataset or reference.",
            icon=":material/error:",
        )


def without_server_paths(text: str) -> str:
    """Text for visitors, whose paths begin below folders of datasets, the workspace or the user's home."""
    for folder in sorted({workspace(), *search_path(), Path.home()}, key=lambda folder: -len(str(folder))):
        if len(folder.parts) > 1:
            text = text.replace(f"{folder}/", "").replace(str(folder), "…")
    return text


def attempt(act: Callable[..., object], *arguments: object) -> None:
    """Run a button's action; a refusal waits for `refused_before`, as a callback runs before the page is drawn."""
    try:
        act(*arguments)
    except CrowdError as refusal:
        st.session_state["refused"] = str(refusal)


def refused_before() -> None:
    """Show the refusal that `attempt` kept."""
    if refusal := st.session_state.pop("refused", ""):
        st.error(as_text(refusal), icon=":material/block:")


def fragment(function: Callable[[], None]) -> Callable[[], None]:
    """A part of a page that reruns alone, guarded by `refusals`, and keeps the address bar up to date."""

    @st.fragment
    @functools.wraps(function)
    def run() -> None:
        with refusals():
            function()
        state.publish()

    return run


def live(key: str) -> DeltaGenerator:
    """Container whose changes a screen reader reads; it must hold some words before the first change."""
    return st.container(key=f"live-{key}", gap=None)


def make_live() -> None:
    """Have the browser mark such containers; call it once on every page."""
    with st.container(key="marker"):  # never seen
        _marker()(key="live")


@functools.cache
def _marker() -> Callable[..., object]:
    return st.components.v2.component("crowdcore_live", js=Path(__file__).with_name("live.js").read_text())


_MANY = 20  # modules
_known = 0


def spare() -> None:
    """Freeze the objects of modules imported since the last call, so that the garbage collector skips them.

    To be called as a rerun begins: the one before has just been cleaned up, so that hardly any garbage is kept.
    """
    global _known
    if len(sys.modules) >= _known + _MANY:
        gc.freeze()
        _known = len(sys.modules)


def watch(drawn: object, now: Callable[[], object], every: float, draw: Callable[[], object] = lambda: None) -> None:
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
                state.put()  # nothing, but the session overrides an address bar that may lag behind
                st.rerun()
            draw()

    st.fragment(look, run_every=every)()
