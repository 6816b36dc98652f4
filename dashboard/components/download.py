"""A button that makes its file when it is clicked, and keeps it long enough to be fetched."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit import runtime

from dashboard.clicks import keep_clicks

_LAST = 32  # files, of all sessions, that are kept
_count = itertools.count()
keep_clicks()


def download(label: str, make: Callable[[], bytes | str], file: str, mime: str, **options: Any) -> None:
    """Draw the button.

    Streamlit drops a file made on demand after the second run of any session's script, be it a fragment that polls:
    often before the browser has come to fetch it. So each is held under a name of its own until others follow.

    Args:
        label: what stands on it.
        make: makes the content.
        file: its name.
        mime: its kind.
        options: of `st.download_button`.
    """

    def held() -> bytes:
        made = make()
        content = made.encode() if isinstance(made, str) else made
        if runtime.exists():
            place = f"download-{next(_count) % _LAST}"
            runtime.get_instance().media_file_mgr.add(content, mime, place, file, is_for_static_download=True)
        return content

    st.download_button(label, held, file, mime, **{"on_click": "ignore", **options})
