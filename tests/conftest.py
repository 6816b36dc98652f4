"""The real datasets, a small simulated crowd with known truth, and skips that cannot hide in CI."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from testkit.crowds import simulate_crowd

os.environ["OMP_NUM_THREADS"] = "1"  # also of what tests start: small arrays on few, busy cores make threads wait

import hypothesis
import pytest

import crowdcore.core.garbage  # noqa: F401
from crowdcore.data.dataset import CrowdDataset

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

hypothesis.settings.register_profile("crowdcore", deadline=None, max_examples=30)  # busy machines: time is no verdict
hypothesis.settings.load_profile("crowdcore")

ROOT = Path(__file__).resolve().parent.parent
BROWSER = "tests/browser/"
LONG = ("tests/docs/test_pages.py", "tests/packaging/", "tests/aggregation/test_conal_em.py")  # minutes each
SHARED = ROOT.parent / "shared" / "data"
if not os.environ.get("CROWDCORE_DATA") and SHARED.is_dir():
    os.environ["CROWDCORE_DATA"] = str(SHARED)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """In a fresh clone, let one process of a parallel run compile the imports, while the others wait for it."""
    folder = os.open(ROOT / "tests", os.O_RDONLY)
    is_fresh = not sys.dont_write_bytecode and not any(ROOT.glob("tests/*/__pycache__"))
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB if is_fresh else fcntl.LOCK_SH)
    except BlockingIOError:
        fcntl.flock(folder, fcntl.LOCK_SH)
    try:
        return (yield)
    finally:
        os.close(folder)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, so that processes of a parallel run, which take file after file, end together."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.nodeid.startswith(LONG)}
    items.sort(key=lambda item: (not item.nodeid.startswith(BROWSER), item.path not in slow))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """With ``--dist loadfile``, one process gets all of tests/browser: two browsers would wait for each other."""
    from xdist.scheduler import LoadFileScheduling

    class OneBrowser(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)

    return OneBrowser(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With CROWDCORE_REQUIRE_ALL set (CI), a skip is a failure, unless it says it needs a GPU."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CROWDCORE_REQUIRE_ALL"):
        reason = str(report.longrepr)
        if "GPU" not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where skipping is not allowed: {reason}"
    return report


def running_in(folder: Path) -> list[str]:
    """Command lines of the processes whose workspace lies in a folder; none where there is no ``/proc``."""
    mark = f"CROWDCORE_WORKSPACE={folder}{os.sep}".encode()
    processes = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if environment.parent.name != str(os.getpid()) and mark in environment.read_bytes():
                processes.append(environment.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode())
    return processes


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process may outlive the tests in a workspace of theirs."""
    yield
    end = time.monotonic() + 10
    while (left := running_in(tmp_path_factory.getbasetemp())) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left


@pytest.fixture(scope="session", autouse=True)
def copied_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """New workspaces get a copy of an empty record: MLflow takes a second to make one, in each process once."""
    from crowdcore.runs import record

    template, make = tmp_path_factory.mktemp("record") / "mlflow.db", record._make

    def copy(database: Path) -> None:
        if not template.exists():
            make(template)
        draft = database.with_name(f".{database.name}.{os.getpid()}")
        shutil.copy(template, draft)
        draft.replace(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "_make", copy)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a process."""
    from playwright.sync_api import sync_playwright

    from testkit.app_server import BRIEF, chromium_path, launch

    if chromium_path() is None:
        pytest.skip("there is no Chromium: run `make browser`")
    with sync_playwright() as playwright:
        chromium = launch(playwright, *BRIEF)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real datasets; skips where there is none."""
    for folder in os.environ.get("CROWDCORE_DATA", "").split(os.pathsep):
        if folder and (Path(folder) / "labelme").is_dir():
            return Path(folder)
    pytest.skip("the real datasets are not here: set CROWDCORE_DATA")


@pytest.fixture
def crowd() -> CrowdDataset:
    """300 tasks, 12 workers, 4 classes, 3 labels a task."""
    return simulate_crowd()
