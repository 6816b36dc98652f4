"""A shared deployment: sign in at a provider, a list of those who may enter, nothing shown before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from testkit.app_server import free_port, serving

oidc = pytest.importorskip("tests.browser.oidc_provider", reason="the extra 'sharing' is not installed")


def secrets(folder: Path, port: int, provider: str, domains: list[str]) -> str:
    file = folder / "secrets.toml"
    file.write_text(
        f"""[auth]
redirect_uri = "http://localhost:{port}/oauth2callback"
cookie_secret = "a long random text, only for this test"
client_id = "{oidc.CLIENT}"
client_secret = "{oidc.SECRET}"
server_metadata_url = "{provider}/.well-known/openid-configuration"

[access]
domains = {json.dumps(domains)}
"""
    )
    return str(file)


def enter(page: Page) -> None:
    """Sign in; no data is shown before."""
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.get_by_text("demo").count() == 0
    page.get_by_role("button", name="Sign in").click()


def source(page: Page) -> str:
    """The HTML, once the page is there: signing out leads through the provider."""
    for _ in range(50):
        try:
            return page.content()
        except Error:
            page.wait_for_timeout(200)
    return page.content()


def test_sign_in_and_the_list(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    with oidc.provider("ada@lab.example", "eve@other.example") as provider:
        files = secrets(tmp_path, port, provider, ["lab.example"])
        with serving(port=port, environment={"STREAMLIT_SECRETS_FILES": files}) as address:
            page = browser.new_context(base_url=address, reduced_motion="reduce").new_page()
            page.goto("/")
            enter(page)
            expect(page.get_by_text(re.compile("ada.?@lab.example"))).to_be_visible()
            expect(page.get_by_text("annotations").first).to_be_visible()
            assert oidc.SECRET not in source(page)
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            assert oidc.SECRET not in source(page)
            enter(page)
            expect(page.get_by_text("has no access")).to_be_visible()
            assert page.get_by_text("annotations").count() == 0
            assert oidc.SECRET not in source(page)
            page.context.close()
