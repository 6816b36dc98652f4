"""The app in a real browser: one server and one Chromium for the session, one tab per test."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.writers import write_folder
from tests.browser.app_server import serving
from tests.conftest import simulate_crowd

# Streamlit probes a page's own path before its root when a page is opened by its address; that is no fault.
_PROBE = re.compile(r"/_stcore/(health|host-config)$")

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "**bold** [link](http://example.com) :red[red] $x^2$",
    '<a href="javascript:document.title=1">b</a> & :material_home:',
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def hostile_crowd() -> CrowdDataset:
    """Markup and scripts for names of classes, workers and tasks."""
    crowd = simulate_crowd(40, n_workers=4)
    workers = pd.Index([f"{name} w{n}" for n, name in enumerate(HOSTILE)])
    tasks = pd.Index([f"{HOSTILE[n % 4]} t{n}" for n in range(40)])
    return replace(crowd, name="hostile", classes=HOSTILE, worker_ids=workers, task_ids=tasks)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app's workspace, where tests can put finished runs."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> Iterator[str]:
    """Address of the app, open on the demo dataset; beside the real data it finds a large and a hostile crowd."""
    folder = tmp_path_factory.mktemp("crowds")
    write_folder(hostile_crowd(), folder / "hostile")
    write_folder(replace(simulate_crowd(2000, n_workers=400, per_task=6), name="many"), folder / "many")
    found = os.pathsep.join(filter(None, [os.environ.get("CROWDCORE_DATA", ""), str(folder)]))
    with serving(environment={"CROWDCORE_DATA": found, "CROWDCORE_WORKSPACE": str(workspace)}) as address:
        yield address


@pytest.fixture(scope="session")
def context(app: str, browser: Browser) -> Iterator[BrowserContext]:
    """One browser profile for all tests, so that Streamlit's own code is fetched and compiled once."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=app, accept_downloads=True)
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab whose console must stay free of errors."""
    page = context.new_page()
    errors: list[str] = []

    def noted(message: ConsoleMessage) -> None:
        if message.type == "error" and not _PROBE.search(message.location.get("url", "")):
            errors.append(message.text)

    page.on("console", noted)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
    yield page
    page.close()
    assert not errors


def percentages(matrix: np.ndarray) -> set[str]:
    """The numbers that a heatmap of shared mistakes writes: off the diagonal, above 0."""
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    return {f"{value:.1f}" for value in off[off > 0]}
