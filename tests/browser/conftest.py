"""The app in a real browser: one server, one Chromium and one tab for the session."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page

from crowdcore import runs
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.writers import write_folder
from crowdcore.learning.learners import FIRST
from crowdcore.runs import Workspace, estimation
from dashboard.services import train
from testkit.app_server import serving
from testkit.crowds import simulate_crowd
from testkit.steps import LISTEN, listening

# Streamlit probes a page's own path before its root when a page is opened by its address; that is no fault.
_PROBE = re.compile(r"/_stcore/(health|host-config)$")

SCREEN: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
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
    keep_estimates(workspace)
    folder = tmp_path_factory.mktemp("crowds")
    write_folder(hostile_crowd(), folder / "hostile")
    write_folder(replace(simulate_crowd(2000, n_workers=400, per_task=6), name="many"), folder / "many")
    found = os.pathsep.join(filter(None, [os.environ.get("CROWDCORE_DATA", ""), str(folder)]))
    with serving(environment={"CROWDCORE_DATA": found, "CROWDCORE_WORKSPACE": str(workspace)}) as address:
        yield address


def keep_estimates(
    workspace: Path | Workspace, dataset: str = "demo", methods: Sequence[str] = FIRST, settings: str = ""
) -> None:
    """Estimates of runs that Train offers, kept as trials would have: each would train for seconds."""
    place = workspace if isinstance(workspace, Workspace) else Workspace.open(workspace)
    draft = {**train.read_draft(dataset, settings), "methods": list(methods)}
    trial = {"seconds_per_epoch": 0.1, "startup_seconds": 1.0, "bytes": 10**9, "epochs": 50, "share": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimation, "_try", lambda *_: trial)
        for spec in train.specs(dataset, draft):
            runs.estimate(spec, open_labels(dataset), workspace=place)


@pytest.fixture(scope="session")
def context(app: str, browser: Browser) -> Iterator[BrowserContext]:
    """One browser profile for all tests, so that Streamlit's own code is fetched and compiled once.

    Without moving placeholders: painting them takes a third of the processor time.
    """
    context = browser.new_context(**SCREEN, base_url=app, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    context.add_init_script(LISTEN)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab whose console must stay free of errors; the next test has it again, with all that it has compiled."""
    page = context.pages[0] if context.pages else context.new_page()
    errors: list[str] = []

    def noted(message: ConsoleMessage) -> None:
        if message.type == "error" and not _PROBE.search(message.location.get("url", "")):
            errors.append(message.text)

    listeners: dict[Any, Callable[[Any], None]] = {
        "console": noted,
        "pageerror": lambda error: errors.append(str(error)),
        "dialog": lambda dialog: errors.append(f"dialog: {dialog.message}"),
    }
    with listening(page, listeners):
        yield page
    try:
        page.goto("about:blank")
        page.set_viewport_size(SCREEN["viewport"])
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
    except Error:  # it has crashed
        page.close()
    assert not errors


def percentages(matrix: np.ndarray) -> set[str]:
    """The numbers that a heatmap of shared mistakes writes: off the diagonal, above 0."""
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    return {f"{value:.1f}" for value in off[off > 0]}
