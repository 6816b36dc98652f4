"""Access to the app: everyone on this machine, or, where a secrets file has `[auth]`, the people it lets in.

Whatever is odd about the secrets or an identity denies. `docs/sharing.md` shows such a file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from streamlit import config

from crowdcore.core.errors import CrowdError
from crowdcore.core.listening import LET_ANYONE_IN, is_this_machine, would_let_anyone_in

_Email = Annotated[str, Field(pattern=r"^[!-?A-~]+@[0-9A-Za-z.-]+$")]
_Domain = Annotated[str, Field(pattern=r"^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*$")]
_Text = Annotated[str, Field(min_length=1)]
_RIGHT = {
    "redirect_uri": "an address that ends with /oauth2callback",
    "cookie_secret": "a text of at least 32 characters",
    "server_metadata_url": "an https address",
    "emails": 'a list such as ["ada@lab.example"]',
    "domains": 'a list such as ["lab.example"]',
    "client_kwargs": "a table",
    "auth": "a table",
    "access": "a table",
}
_expected = False  # whether this process has ever seen that people must sign in


class AccessError(CrowdError):
    """Nobody may enter before the operator has corrected something; the sentence is for the operator alone."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Auth(_Table):
    """Settings of Streamlit's `st.login`, for one provider."""

    redirect_uri: Annotated[str, Field(pattern=r"^https?://.+/oauth2callback$")]
    cookie_secret: Annotated[str, Field(min_length=32)]
    client_id: _Text
    client_secret: _Text
    server_metadata_url: Annotated[str, Field(pattern=r"^(https://.|http://(localhost|127\.0\.0\.1|\[::1\])[:/])")]
    client_kwargs: dict[str, Any] = {}


class _List(_Table):
    """Addresses and domains that are let in."""

    emails: list[_Email] = []
    domains: list[_Domain] = []


class SignIn(_Table):
    """A secrets file: how people sign in, and which of them are let in (None: all)."""

    auth: _Auth
    access: _List | None = None


def read_sign_in(secrets: Mapping[str, Any]) -> SignIn:
    """Read and check the content of a secrets file.

    Raises:
        AccessError: a table or key missing, unknown, or of an odd value; says which, and never a value.
    """
    try:
        sign_in = SignIn.model_validate(dict(secrets))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        table, *keys = map(str, first["loc"])
        place, known = ".".join((table, *keys)), _RIGHT.get(keys[0] if keys else table, "a text")
        fault = {"missing": "is missing", "extra_forbidden": "is unknown"}.get(first["type"], f"must be {known}")
        raise AccessError(
            f"Nobody may enter: `{place}` in the secrets file {fault}. "
            "It holds [auth] and [access] as docs/sharing.md shows them, and nothing else."
        ) from None
    if sign_in.access is not None and not sign_in.access.emails and not sign_in.access.domains:
        raise AccessError("Nobody may enter: [access] in the secrets file lists neither `emails` nor `domains`.")
    if find_spec("authlib") is None:
        raise AccessError("Nobody may enter: signing in needs `pip install 'crowdcore[sharing]'`.")
    return sign_in


def sign_in_settings() -> SignIn | None:
    """Read the secrets file of this server; None where there is none and only this machine is served.

    Raises:
        AccessError: the file is unreadable, odd or has gone, or others are served without one.
    """
    global _expected
    if _secrets_expected():
        _expected = True
        return read_sign_in(_secrets())
    address = config.get_option("server.address")  # None: no server, since our config.toml names localhost
    if address is not None and not is_this_machine(address) and os.environ.get(LET_ANYONE_IN) != "yes":
        raise AccessError(would_let_anyone_in(address))
    return None


def _secrets_expected() -> bool:
    """Return whether the operator has, had or named a secrets file, be it readable or not."""
    return (
        _expected or config.is_manually_set("secrets.files") or any(map(_is_there, config.get_option("secrets.files")))
    )


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # a folder that may not be looked into
        return True
    return True


def _secrets() -> dict[str, Any]:
    try:
        return st.secrets.to_dict()
    except Exception as error:
        cause = error.__cause__
        why = str(cause) if isinstance(cause, tomllib.TOMLDecodeError) else type(error).__name__
        if isinstance(error, OSError):
            why = error.strerror or why
        files = ", ".join(config.get_option("secrets.files"))
        raise AccessError(f"Nobody may enter: the secrets file cannot be read ({why}). Looked for: {files}.") from None


def may_enter(user: Mapping[str, Any], access: _List | None) -> bool:
    """Return whether an identity is let in: its address is verified, and it or its domain is on the list.

    Args:
        user: claims of the identity token.
        access: who is let in; None: everyone whom the provider has verified.
    """
    email = user.get("email")
    if user.get("email_verified") is not True or not isinstance(email, str):
        return False
    name, at, domain = email.lower().rpartition("@")
    if not (email.isascii() and name and at and domain) or "@" in name:
        return False
    if access is None:
        return True
    return email.lower() in map(str.lower, access.emails) or domain in map(str.lower, access.domains)
