"""Refusals are shown in place as one sentence; the unexpected is logged and never shown as a traceback."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.core.places import workspace
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
    """A sentence for visitors: paths begin where datasets, the workspace or the user's files do."""
    for folder in sorted({workspace(), *search_path(), Path.home()}, key=lambda folder: -len(str(folder))):
        if len(folder.parts) > 1:
            text = text.replace(f"{folder}/", "").replace(str(folder), "…")
    return text


def attempt(act: Callable[..., object], *arguments: object) -> None:
    """Do what a button asks for; a refusal waits for `refused_before`, as a callback runs before the page is drawn."""
    try:
        act(*arguments)
    except CrowdError as refusal:
        st.session_state["refused"] = str(refusal)


def refused_before() -> None:
    """Show what `attempt` was refused."""
    if said := st.session_state.pop("refused", ""):
        st.error(as_text(said), icon=":material/block:")


def fragment(function: Callable[[], None]) -> Callable[[], None]:
    """A part of a page that reruns alone, guarded by `refusals`, and keeps the address bar up to date."""

    @st.fragment
    @functools.wraps(function)
    def run() -> None:
        with refusals():
            function()
        state.publish()

    return run
