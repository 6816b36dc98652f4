"""Access to a shared deployment: whatever is odd denies it, and no secret is ever shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from hypothesis import given, settings, strategies as some
from streamlit import config
from streamlit.runtime.secrets import Secrets

from crowdcore.core.listening import LET_ANYONE_IN, would_let_anyone_in
from dashboard import access
from dashboard.access import AccessError, SignIn, may_enter, read_sign_in, sign_in_settings
from tests.conftest import ROOT
from tests.dashboard.app_page import open_page, words

APP = str(ROOT / "dashboard" / "app.py")
ADA = {"email": "Ada@Lab.example", "email_verified": True}
SECRET = "nobody should ever read this text"
AUTH = {
    "redirect_uri": "https://crowd.example.org/oauth2callback",
    "cookie_secret": SECRET,
    "client_id": "crowd",
    "client_secret": SECRET,
    "server_metadata_url": "https://accounts.example.org/.well-known/openid-configuration",
}
LAB = {"domains": ["lab.example"]}
PLAIN = {**{k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("user", "listed", "enters"),
    [
        (ADA, None, True),
        (ADA, LAB, True),
        (ADA, {"domains": ["LAB.example"]}, True),
        (ADA, {"emails": ["ada@lab.example"]}, True),
        (ADA, {"emails": ["eve@lab.example"]}, False),
        (ADA, {"domains": ["evil-lab.example", "example"]}, False),
        *(
            ({**ADA, "email_verified": odd}, LAB, False)
            for odd in (False, "false", "False", "true", 1, None, "", [True])
        ),
        ({"email": "ada@lab.example"}, LAB, False),
        ({"email": "ada@lab.example"}, None, False),
        ({"name": "no address", "email_verified": True}, LAB, False),
        *(
            ({"email": odd, "email_verified": True}, LAB, False)
            for odd in (
                "",
                "@lab.example",
                "lab.example",
                "eve@evil.example@lab.example",
                "ada@lab.example.",
                ["a"],
                None,
            )
        ),
        ({"email": "ada@lab.exampl\u0435", "email_verified": True}, {"domains": ["lab.example"]}, False),
    ],
)
def test_may_enter(user: dict[str, object], listed: dict[str, list[str]] | None, enters: bool) -> None:
    sign_in = read_sign_in({"auth": AUTH, **({} if listed is None else {"access": listed})})
    assert may_enter(user, sign_in.access) is enters


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in AUTH.items() if name != key}


@pytest.mark.parametrize(
    ("secrets", "fault"),
    [
        ({}, "`auth` .* is missing"),
        ({"access": LAB}, "`auth` .* is missing"),
        ({"Auth": AUTH}, "`auth` .* is missing"),
        ({"auth": AUTH, "acess": LAB}, "`acess` .* is unknown"),
        ({"auth": AUTH, "access": {"domain": ["lab.example"]}}, "`access.domain` .* is unknown"),
        ({"auth": AUTH, "access": {}}, "neither `emails` nor `domains`"),
        ({"auth": AUTH, "access": {"emails": []}}, "neither `emails` nor `domains`"),
        ({"auth": AUTH, "access": ["lab.example"]}, "`access` .* must be a table"),
        ({"auth": AUTH, "access": {"domains": "lab.example"}}, r"`access.domains` .* must be a list such as \["),
        ({"auth": AUTH, "access": {"domains": ["@lab.example"]}}, r"`access.domains.0` .* must be a list such as \["),
        ({"auth": AUTH, "access": {"domains": ["*"]}}, r"`access.domains.0`"),
        ({"auth": AUTH, "access": {"domains": [""]}}, r"`access.domains.0`"),
        ({"auth": AUTH, "access": {"emails": ["lab.example"]}}, r"`access.emails.0`"),
        ({"auth": True}, "`auth` .* must be a table"),
        ({"auth": {**AUTH, "google": AUTH}}, "`auth.google` .* is unknown"),
        ({"auth": {**AUTH, "cookie_secret": "short"}}, "`auth.cookie_secret` .* at least 32 characters"),
        ({"auth": {**AUTH, "redirect_uri": "https://crowd.example.org/"}}, "ends with /oauth2callback"),
        ({"auth": {**AUTH, "server_metadata_url": "http://accounts.example.org/x"}}, "an https address"),
        ({"auth": {**AUTH, "client_id": 7}}, "`auth.client_id` .* must be a text"),
        *(({"auth": without(key)}, f"`auth.{key}` .* is missing") for key in AUTH),
    ],
)
def test_odd_secrets_deny(secrets: dict[str, Any], fault: str) -> None:
    with pytest.raises(AccessError, match=fault) as refused:
        read_sign_in(secrets)
    assert SECRET not in str(refused.value)


_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5) | some.just("lab.example"),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
_keys = some.sampled_from([*AUTH, "emails", "domains", "auth", "access", "Access"]) | some.text(max_size=5)
_tables = some.dictionaries(_keys, _values, max_size=3)


@settings(max_examples=100)
@given(auth=_tables, listed=_tables, claims=some.dictionaries(some.sampled_from([*ADA]), _values, max_size=2))
def test_only_a_whole_list_and_a_verified_address_let_in(
    auth: dict[str, Any], listed: dict[str, Any], claims: dict[str, Any]
) -> None:
    try:
        sign_in = read_sign_in({"auth": {**AUTH, **auth}, "access": listed})
    except AccessError:
        return
    assert set(auth) <= {*AUTH, "client_kwargs"}
    assert set(listed) <= {"emails", "domains"}
    assert listed.get("emails") or listed.get("domains")
    assert not may_enter({**ADA, **claims, "email_verified": claims.get("email_verified", 1)}, sign_in.access) or (
        claims["email_verified"] is True
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Path of the server's secrets file; the server listens to this machine."""
    file = tmp_path / "secrets.toml"
    set_options(monkeypatch, file, "localhost")
    monkeypatch.setattr(config, "is_manually_set", lambda name: False)
    monkeypatch.setattr(access, "_expected", False)
    return file


def set_options(monkeypatch: pytest.MonkeyPatch, file: Path, address: str) -> None:
    ours: dict[str, Any] = {"secrets.files": [str(file)], "server.address": address}
    known = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: ours[name] if name in ours else known(name))
    fresh = Secrets()
    fresh._file_watchers_installed = True
    monkeypatch.setattr(st, "secrets", fresh)


def write(file: Path, **tables: dict[str, Any]) -> None:
    lines = [f"{name}.{key} = {json.dumps(value)}" for name, table in tables.items() for key, value in table.items()]
    file.write_text("\n".join(lines))


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "", "192.168.1.7", "lab.example", "localhost.evil.example"])
def test_without_secrets_only_this_machine_is_served(
    server: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    assert sign_in_settings() is None
    set_options(monkeypatch, server, address)
    with pytest.raises(AccessError, match="--let-anyone-in"):
        sign_in_settings()
    monkeypatch.setenv(LET_ANYONE_IN, "yes")
    assert sign_in_settings() is None
    write(server, access=LAB)  # sign-in was meant: the flag does not undo it
    with pytest.raises(AccessError, match=r"`auth` .* is missing"):
        sign_in_settings()


@pytest.mark.parametrize("content", [f"[auth]\ncookie_secret = {SECRET}", "", "\udcff", "[auth", f'"{SECRET}', None])
def test_a_secrets_file_that_cannot_be_read_denies(server: Path, content: str | None) -> None:
    if content is None:
        server.mkdir()
    else:
        server.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(AccessError, match="secrets file") as refused:
        sign_in_settings()
    assert SECRET not in str(refused.value)


def test_the_page_shows_nothing_while_nobody_may_enter(server: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(server, access=LAB)
    shown = words(open_page("overview", dataset="demo"))
    assert "Access denied" in shown
    assert "annotations" not in shown
    assert "`auth`" in caplog.text
    assert "`auth`" not in shown


def test_secrets_that_were_there_and_have_gone_deny(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(server, auth=AUTH, access=LAB)
    assert isinstance(sign_in_settings(), SignIn)
    server.unlink()
    set_options(monkeypatch, server, "localhost")
    with pytest.raises(AccessError, match="cannot be read"):
        sign_in_settings()


def test_secrets_that_were_named_and_are_not_there_deny(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "is_manually_set", lambda name: name == "secrets.files")
    with pytest.raises(AccessError, match="cannot be read"):
        sign_in_settings()


@pytest.mark.parametrize("start", [["crowdcore", "app", "--address", "0.0.0.0"], ["streamlit", "run", APP]])
def test_the_server_is_not_started_for_anyone(start: list[str], tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", *start],
        cwd=tmp_path,
        env=PLAIN | {"HOME": str(tmp_path), "STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_SERVER_PORT": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2, process
    assert process.stderr.splitlines()[-1] == f"crowdcore: {would_let_anyone_in('0.0.0.0')}"
    assert start[0] == "streamlit" or len(process.stderr.splitlines()) == 1
