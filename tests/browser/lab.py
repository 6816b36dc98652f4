"""The app of all browser tests, with a workspace and an engine of its own; it can be killed and started anew."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crowdcore import runs
from crowdcore.runs import Run, Workspace
from testkit.app_server import APP, start, wait_until_up

SOON, LONG = 60.0, 240.0  # seconds that a busy machine may take to begin, and to train


@dataclass
class Lab:
    """What `running` started."""

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
