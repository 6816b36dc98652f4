"""The door: a visitor signs in, is shown out, or learns that nobody may enter."""

from __future__ import annotations

import logging

import streamlit as st

from dashboard.access import AccessError, may_enter, sign_in_settings
from dashboard.components.text import as_text

_log = logging.getLogger("dashboard")


def admitted() -> bool:
    """Whether the page may be drawn; otherwise draws what the visitor can do about it."""
    try:
        settings = sign_in_settings()
    except AccessError as fault:
        _log.error("%s", fault)
        st.error(
            "Access denied: the sign-in settings are invalid. The app's log tells its operator what to correct.",
            icon=":material/block:",
        )
        return False
    if settings is None:
        return True
    if not st.user.is_logged_in:
        st.title("crowdcore")
        st.write("Sign in to use this app.")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
        return False
    if not may_enter(st.user.to_dict(), settings.access):
        who = as_text(str(st.user.get("email") or "This account"))
        st.error(f"{who} has no access. Ask the operator of this app to be added.", icon=":material/block:")
        st.button("Sign out", icon=":material/logout:", on_click=st.logout)
        return False
    with st.sidebar:
        st.caption(as_text(str(st.user.get("email"))))
        st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=st.logout)
    return True
