"""The engine as apps see it: a process of the workspace that is started when needed and found again.

Everything here only looks at files and locks: it costs well under a millisecond and may be called from any thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from crowdcore.core.errors import CrowdError, missing_extra
from crowdcore.core.json_files import read_json
from crowdcore.runs.cluster import JOIN, check_scheduler
from crowdcore.runs.files import EngineFiles
from crowdcore.runs.locks import is_locked
from crowdcore.runs.patience import disk_problem, one_sentence
from crowdcore.runs.processes import is_alive, kill_group, start_detached
from crowdcore.runs.workspace import Workspace

_PATIENCE = 25.0  # seconds that it has to end everything

_started: dict[Path, subprocess.Popen[bytes]] = {}  # workspace -> the engine that this process started last
_one = threading.Lock()


@dataclass(frozen=True)
class WorkerState:
    """A worker and how many of its slots are taken."""

    name: str
    device: str
    slots: int
    busy: int


@dataclass(frozen=True)
class EngineState:
    """What the engine said last.

    Args:
        address: the scheduler's; None while the engine is down or still starting.
        workers: those that take runs.
        problem: what stands in the way, in one sentence; "" when nothing does.
    """

    address: str | None
    workers: tuple[WorkerState, ...] = ()
    problem: str = ""


def ensure_engine(*, workspace: Workspace | None = None) -> None:
    """Ask the engine to look at the record; start it in the background where there is none.

    Raises:
        CrowdError: the workspace's disk is full or read-only.
        MissingExtraError: Dask or MLflow is not installed.
        SettingError: the cluster that it is to join has no TLS.
    """
    if missing := missing_extra("Training in the background", "distributed", "mlflow"):
        raise missing
    check_scheduler(os.environ.get(JOIN, ""))
    workspace = workspace or Workspace.open()
    files = EngineFiles(workspace.folder)
    with one_sentence(workspace):
        files.ask()
    with _one:
        started = _started.get(workspace.folder)
        if is_locked(files.lock) or (started and started.poll() is None):
            return
        _started[workspace.folder] = start_detached(
            "crowdcore.runs.engine_process", log=files.folder / "engine.log", environment=workspace.environment
        )


def engine_state(*, workspace: Workspace | None = None) -> EngineState:
    """What the engine is doing; when it was killed while runs waited or went on, it is started again."""
    workspace = workspace or Workspace.open()
    if problem := disk_problem(workspace.folder):
        return EngineState(None, problem=problem)
    if not os.access(workspace.folder / "engine", os.X_OK):  # there is none, or it is somebody else's
        return EngineState(None)
    files = EngineFiles(workspace.folder)
    if not is_locked(files.lock):
        if files.wanted.exists() and not workspace.read_only:
            ensure_engine(workspace=workspace)
        return EngineState(None)
    said = read_json(files.note)
    return EngineState(
        said.get("address"),
        tuple(WorkerState(**w) for w in said.get("workers", [])),
        str(said.get("problem", "")),
    )


def stop_engine(*, workspace: Workspace | None = None) -> None:
    """End scheduler, workers and training processes; runs that had not ended are queued until the engine is back.

    Runs on the workers of a joined cluster go on.

    Raises:
        CrowdError: the engine runs on another machine.
    """
    workspace = workspace or Workspace.open()
    if not (workspace.folder / "engine").is_dir():
        return
    files = EngineFiles(workspace.folder)
    files.wanted.unlink(missing_ok=True)
    deadline = time.monotonic() + _PATIENCE
    while is_locked(files.lock) and not read_json(files.note) and time.monotonic() < deadline:
        time.sleep(0.05)  # it is just starting
    if is_locked(files.lock):
        engine = read_json(files.note)
        if engine.get("host") != socket.gethostname():
            raise CrowdError(f"The engine of this workspace runs on {engine.get('host')}: stop it there.")
        with contextlib.suppress(ProcessLookupError):
            os.kill(engine["pid"], signal.SIGTERM)
        while is_alive(engine["pid"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        kill_group(engine["pid"])
    started = _started.pop(workspace.folder, None)
    if started is not None:
        kill_group(started.pid)  # it may be about to take the lock
        started.wait()
