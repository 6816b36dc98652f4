"""`Workspace`: the folder that keeps what was trained, and the record of it."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdcore.core.errors import DataError
from crowdcore.runs.locks import is_locked, locked

__all__ = ["Workspace"]

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_WAIT = 30  # seconds that SQLite waits for another writer


@dataclass(frozen=True)
class Workspace:
    """Where uploads, runs and their record live.

    Args:
        folder: an absolute path; made when something is first written.
        tracking_uri: MLflow's, a database in the folder or a server.
    """

    folder: Path
    tracking_uri: str

    @classmethod
    def open(cls, folder: Path | str | None = None) -> Workspace:
        """The workspace of ``folder``, else of ``CROWDCORE_WORKSPACE``, else ``workspace`` in the current folder.

        ``MLFLOW_TRACKING_URI`` names another record than the workspace's own SQLite database.
        """
        chosen = Path(folder or os.environ.get("CROWDCORE_WORKSPACE") or "workspace").resolve()
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{chosen / 'mlflow.db'}"
        if uri.startswith("sqlite:") and "timeout=" not in uri:
            uri += f"{'&' if '?' in uri else '?'}timeout={_WAIT}"
        return cls(chosen, uri)

    @property
    def environment(self) -> dict[str, str]:
        """What a child process needs to open the same workspace."""
        return {"CROWDCORE_WORKSPACE": str(self.folder), "MLFLOW_TRACKING_URI": self.tracking_uri}

    @property
    def database(self) -> Path | None:
        """The file behind a SQLite record."""
        if not self.tracking_uri.startswith("sqlite:"):
            return None
        return Path(self.tracking_uri.removeprefix("sqlite:///").split("?")[0]).resolve()

    def run_folder(self, run_id: str) -> Path:
        """The folder of one run: ``log.txt``, ``checkpoint/``, ``cancel``, ``child.json``.

        Raises:
            DataError: that is no run's name; nothing else can become a path.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise DataError(f"There is no run {run_id!r}", "`crowdcore runs list` shows those there are.")
        return self.folder / "runs" / run_id

    def child(self, run_id: str) -> dict[str, Any]:
        """Process id, host and start of the last child of a run; empty when there was none."""
        try:
            found: dict[str, Any] = json.loads((self.run_folder(run_id) / "child.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def child_alive(self, run_id: str) -> bool:
        """Whether a process on this machine trains the run now; certain, whatever became of process numbers."""
        return is_locked(self.run_folder(run_id) / "lock")

    @contextmanager
    def as_child(self, run_id: str, started: str) -> Iterator[None]:
        """Within: this process is the run's only child here.

        Raises:
            BlockingIOError: another process is.
        """
        folder = self.run_folder(run_id)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock", wait=False):
            facts = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
            (folder / "child.json").write_text(json.dumps(facts), encoding="utf-8")
            yield

    def request_cancel(self, run_id: str) -> None:
        """Ask the child of a run to stop after its current epoch."""
        flag = self.run_folder(run_id) / "cancel"
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()

    def cancel_requested(self, run_id: str) -> bool:
        """Whether somebody asked."""
        return (self.run_folder(run_id) / "cancel").exists()

    def forget_cancel(self, run_id: str) -> None:
        """Take the request back."""
        (self.run_folder(run_id) / "cancel").unlink(missing_ok=True)
