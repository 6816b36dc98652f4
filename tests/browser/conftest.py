"""The app in a real browser: one server, one engine, one Chromium and one tab for the session."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, expect

from crowdcore import load_dataset, runs
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.writers import write_folder
from crowdcore.learning.learners import FIRST
from crowdcore.learning.results.result import TrainingResult
from crowdcore.runs import Run, Workspace, estimation
from dashboard.services import train
from testkit.app_server import APP, start, wait_until_up
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import record
from testkit.steps import LISTEN, listening, main, stand_still
from tests.learning.made_up import made_up

SOON, LONG = 60.0, 240.0  # seconds that a busy machine may take to begin, and to train
METHODS = ("conal", "crowd-layer", "dl-mv")  # of the runs that `made` finds
WORDS, CONTROLS = 60, 8  # before the first figure of a page
# How many words stand above the first figure, table or picture of a page, and how many controls.
ABOVE = """() => {
  const place = document.querySelector('[data-testid=stMain]');
  const seen = e => e.checkVisibility() && e.getBoundingClientRect().height;
  const pictures = '[class*=st-key-figure-] .js-plotly-plot, [data-testid=stDataFrame], img';
  const first = [...place.querySelectorAll(pictures)].find(seen);
  if (!first) return null;
  const above = e => seen(e) && e.getBoundingClientRect().bottom <= first.getBoundingClientRect().top + 1;
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const {parentElement, data} = walker.currentNode;
    const apart = parentElement.closest('[class*=st-key-figure-], [data-testid=stIconMaterial], style, script');
    if (!apart && above(parentElement))
      words += data.split(/\\s+/).filter(Boolean).length;
  }
  const controls = 'button:not([data-testid=stTooltipHoverTarget] *), input:not([type=file]), textarea';
  const fields = new Set([...place.querySelectorAll(controls)].filter(above).map(e =>
    e.closest('[data-testid=stElementContainer], .stElementContainer') ?? e));
  return [words, fields.size];
}"""

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


@dataclass
class Lab:
    """The app that `running` started."""

    workspace: Workspace
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    address: str

    @classmethod
    @contextmanager
    def running(cls, workspace: Workspace, **environment: str) -> Iterator[Lab]:
        """Everything that it starts ends with it; no pretrained network is there."""
        environment = {"TORCH_HOME": str(workspace.folder / "torch"), **workspace.environment, **environment}
        made = cls(workspace, environment, *start(APP, **environment))
        try:
            wait_until_up(made.address, made.process)
            yield made
        finally:
            made.kill()
            runs.stop_engine(workspace=workspace)

    def kill(self) -> None:
        """End the app as an accident would; the engine is not told."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """Start the app anew at the same address."""
        port = int(self.address.rsplit(":", 1)[1])
        self.process, self.address = start(APP, port=port, **self.environment)
        wait_until_up(self.address, self.process)

    def runs(self, dataset: str | None = "labelme") -> dict[str, Run]:
        """Id -> run, as the record has them; of all datasets if None."""
        return {run.id: run for run in runs.list_runs(dataset, workspace=self.workspace)}


def until(holds: Callable[[], bool], most: float = SOON) -> None:
    """Wait up to ``most`` seconds until something holds; tabs that need not watch should be closed meanwhile."""
    end = time.monotonic() + most
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.5)


def hostile_crowd() -> CrowdDataset:
    """Markup and scripts for names of classes, workers and tasks."""
    crowd = simulate_crowd(40, n_workers=4)
    workers = pd.Index([f"{name} w{n}" for n, name in enumerate(HOSTILE)])
    tasks = pd.Index([f"{HOSTILE[n % 4]} t{n}" for n in range(40)])
    return replace(crowd, name="hostile", classes=HOSTILE, worker_ids=workers, task_ids=tasks)


# An aggregator that works until a file is there.
PATIENT = """
from pathlib import Path
from time import sleep
from crowdcore.aggregation.dawid_skene import OneCoin

class Patient(OneCoin):
    name, title, paper = "patient", "Patient one-coin", "works until a file is there"

    def m_step(self, *sums):
        while not Path({done!r}).exists():
            sleep(0.1)
        return super().m_step(*sums)
"""


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app's workspace, where tests can put finished runs."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of further crowds for app and tests: a large and a hostile one, and a plug-in, `PATIENT`."""
    folder = tmp_path_factory.mktemp("crowds")
    write_folder(hostile_crowd(), folder / "hostile")
    write_folder(replace(simulate_crowd(2000, n_workers=400, per_task=6), name="many"), folder / "many")
    info = folder / "plugin" / "patient-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: patient\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[crowdcore.aggregators]\npatient = patient:Patient\n")
    (info.parent / "patient.py").write_text(PATIENT.format(done=str(folder / "done")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROWDCORE_DATA", str(folder), prepend=os.pathsep)
        yield folder


@pytest.fixture(scope="session")
def lab(crowds: Path, workspace: Path) -> Iterator[Lab]:
    """The app with its engine."""
    keep_estimates(workspace)
    path = os.pathsep.join(filter(None, [str(crowds / "plugin"), os.environ.get("PYTHONPATH")]))
    data = os.environ["CROWDCORE_DATA"]
    with Lab.running(Workspace.open(workspace), CROWDCORE_DATA=data, PYTHONPATH=path) as made:
        yield made


@pytest.fixture(scope="session")
def app(lab: Lab) -> str:
    """Address of the app."""
    return lab.address


@pytest.fixture(scope="session")
def made(app: str, workspace: Path) -> dict[str, tuple[str, TrainingResult]]:
    """Method -> id and result of a run on the demo dataset; many: one on its crowd of 400 workers."""
    demo, many = load_dataset("demo"), load_dataset("many")
    found = {m: (made_up(demo, m, sure=2 + k / 2), demo) for k, m in enumerate(METHODS)}
    found["many"] = made_up(many, "conal"), many
    return {name: (record(workspace, result, crowd), result) for name, (result, crowd) in found.items()}


@pytest.fixture(scope="session")
def two(made: dict[str, tuple[str, TrainingResult]]) -> str:
    """Address parameters of two runs on the demo dataset."""
    return "dataset=demo" + "".join(f"&runs={made[m][0]}" for m in METHODS[:2])


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
def page(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab whose console must stay free of errors; the next test has it again, with the app that it has opened."""
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
    failed = request.session.testsfailed
    with listening(page, listeners):
        yield page
    try:
        if errors or request.session.testsfailed > failed:
            page.goto("about:blank")
        if page.viewport_size != SCREEN["viewport"]:
            page.set_viewport_size(SCREEN["viewport"])
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
    except Error:  # it has crashed
        page.close()
    assert not errors


def harmless(page: Page) -> None:
    """No name of `hostile_crowd` has become more than text."""
    assert page.title() != "owned"
    shown = main(page)
    assert (
        shown.locator("script, [onerror], img[src=x], a[href^='javascript'], a[href^='http://example.com']").count()
        == 0
    )
    assert shown.locator("strong:text-is('bold'), .katex, .stMarkdownColoredText").count() == 0


def soon(page: Page) -> None:
    """Few words and controls stand before the first figure."""
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    words, controls = page.evaluate(ABOVE) or (0, 0)
    assert words <= WORDS, f"{words} words before the first figure of {page.url}"
    assert controls <= CONTROLS, f"{controls} controls before the first figure of {page.url}"


def row(page: Page, number: int = 0) -> None:
    """Click a row of the page's first table, as long as no other is chosen."""
    canvas = main(page).locator("canvas").first
    stand_still(canvas)
    canvas.click(position={"x": 12, "y": 52 + 33 * number}, force=True)  # a scroll area lies above it


def taken(page: Page, button: Locator) -> tuple[str, bytes]:
    """Name and content of the file that a button downloads."""
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()
