"""Who may come in: everyone on this machine, or, where a secrets file has `[auth]`, whoever an OIDC provider knows.

`docs/sharing.md` shows such a file. Without `[auth]` nothing of this is imported or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.components.text import as_text

__all__ = ["admitted", "may_enter"]


def admitted() -> bool:
    """Whether the page may be drawn; otherwise draws what the visitor can do about it."""
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return True
    if not st.user.is_logged_in:
        st.title("crowdcore")
        st.write("This deployment is for people who sign in.")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
        return False
    access = st.secrets.get("access", {})
    if not may_enter(st.user.to_dict(), access):
        who = as_text(str(st.user.get("email") or "This account"))
        st.error(f"{who} may not enter. Ask whoever runs this deployment to be added.", icon=":material/block:")
        st.button("Sign out", icon=":material/logout:", on_click=st.logout)
        return False
    with st.sidebar:
        st.caption(as_text(str(st.user.get("email") or st.user.get("name") or "Signed in")))
        st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=st.logout)
    return True


def may_enter(user: Mapping[str, Any], access: Mapping[str, Any]) -> bool:
    """Whether an identity is on the list: its verified address, or the domain of it.

    Args:
        user: claims of the identity token.
        access: ``emails`` and ``domains`` that are let in; without either, everyone whom the provider knows is.
    """
    emails, domains = ([str(v).casefold() for v in access.get(key, ())] for key in ("emails", "domains"))
    if not emails and not domains:
        return True
    email = str(user.get("email", "")).casefold()
    verified = user.get("email_verified", True) not in (False, "false")
    return verified and bool(email) and (email in emails or email.rpartition("@")[2] in domains)
