"""The app in a real browser: one server and one Chromium for the session, one page per test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.browser.app_server import chromium_path, launch, serving

# Streamlit probes a page's own path before its root when a page is opened by its address; that is no fault.
_PROBE = re.compile(r"/_stcore/(health|host-config)$")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def app() -> Iterator[str]:
    """Address of the app, open on the demo dataset."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium_path() is None:
        pytest.skip("there is no Chromium: run `make browser`")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def page(app: str, browser: Browser) -> Iterator[Page]:
    """A fresh tab whose console must stay free of errors."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=app, accept_downloads=True)
    context.set_default_timeout(20_000)
    page = context.new_page()
    errors: list[str] = []

    def noted(message: ConsoleMessage) -> None:
        if message.type == "error" and not _PROBE.search(message.location.get("url", "")):
            errors.append(message.text)

    page.on("console", noted)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors
