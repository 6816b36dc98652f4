"""An app with a workspace and an engine of its own, in which runs train for real; it can be killed and started anew."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from crowdcore import runs
from crowdcore.runs import Run, Workspace
from testkit.app_server import APP, start, wait_until_up
from testkit.steps import LISTEN, listening

SOON, LONG = 60_000, 240_000  # milliseconds that a busy machine may take to begin, and to train


@dataclass
class Lab:
    """What `running` started."""

    workspace: Workspace
    process: subprocess.Popen[bytes]
    address: str
    profile: BrowserContext | None = None  # the browser's, once a tab was opened

    @staticmethod
    def environment(workspace: Workspace) -> dict[str, str]:
        """No pretrained network is there."""
        return {"TORCH_HOME": str(workspace.folder / "torch"), **workspace.environment}

    @classmethod
    @contextmanager
    def running(cls, workspace: Workspace) -> Iterator[Lab]:
        """Everything that it starts ends with it."""
        made = cls(workspace, *start(APP, **cls.environment(workspace)))
        try:
            wait_until_up(made.address, made.process)
            yield made
        finally:
            if made.profile:
                made.profile.close()
            made.kill()
            runs.stop_engine(workspace=workspace)

    def kill(self) -> None:
        """End the app as an accident would; the engine is not told."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """Start the app anew at the same address."""
        port = int(self.address.rsplit(":", 1)[1])
        self.process, self.address = start(APP, port=port, **self.environment(self.workspace))
        wait_until_up(self.address, self.process)

    def runs(self, dataset: str | None = "labelme") -> dict[str, Run]:
        """Id -> run, as the record has them; of all datasets if None."""
        return {run.id: run for run in runs.list_runs(dataset, workspace=self.workspace)}


def until(holds: Callable[[], bool], page: Page, most: int = SOON) -> None:
    """Wait up to ``most`` milliseconds until something holds."""
    end = time.monotonic() + most / 1000
    while not holds():
        assert time.monotonic() < end
        page.wait_for_timeout(200)


@contextmanager
def opened(browser: Browser, lab: Lab, *scripts: str) -> Iterator[Page]:
    """The tab of the lab, whose scripts must not fail; the next test has it again, with all that it has compiled."""
    if lab.profile is None:
        screen = {"width": 1440, "height": 1100}
        lab.profile = browser.new_context(viewport=screen, base_url=lab.address, reduced_motion="reduce")
        lab.profile.set_default_timeout(SOON)
        lab.profile.add_init_script(LISTEN)
    page = lab.profile.pages[0] if lab.profile.pages else lab.profile.new_page()
    for script in scripts:
        page.add_init_script(script)
    errors: list[str] = []
    listeners = {
        "pageerror": lambda error: errors.append(str(error)),
        "console": lambda message: errors.extend(_broken(message)),
    }
    with listening(page, listeners):
        yield page
    page.goto("about:blank")
    assert not errors


def _broken(message: ConsoleMessage) -> list[str]:
    """What the console says of React's own faults; lost connections are no fault of the page."""
    return [message.text] if message.type == "error" and "Minified React error" in message.text else []
