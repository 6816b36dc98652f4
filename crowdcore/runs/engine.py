"""The engine as apps see it: a process of the workspace, started when needed and found again.

Its state is read from files and locks, in well under a millisecond and from any thread. Whoever can send to its
scheduler, or a cluster's, can run code on all of its machines, so TLS guards it."""

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
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError, DataError, SettingError, missing_extra
from crowdcore.core.files import create_private, read_json, replacing
from crowdcore.core.processes import is_alive, kill_group, start_detached
from crowdcore.runs import store
from crowdcore.runs.faults import check_disk, disk_problem
from crowdcore.runs.locks import forget_note, is_locked, leased
from crowdcore.runs.record import client_of
from crowdcore.runs.run import TAG, Run, RunSpec
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from distributed import Security

    from crowdcore.runs.workspace import Workspace


SLOT, CONCLUDING = "slot", "concluding"
"""Dask resources: runs that train at once, and cancelled ones that only turn their checkpoint into a result."""
JOIN = "CROWDCORE_SCHEDULER"
"""Address of the scheduler that the engine and workers join."""
KEY = "CROWDCORE_CLUSTER_KEY"
"""File with the cluster's private key and certificate; default: ``engine/cluster.pem`` in the workspace."""
UNGUARDED = "CROWDCORE_ANYONE_MAY_RUN_CODE"
"""Allows a scheduler without TLS when it is "1"."""
_PATIENCE = 25.0  # seconds that the engine has to end everything
_started: dict[Path, subprocess.Popen[bytes]] = {}  # workspace -> the engine that this process started last
_starting = threading.Lock()


class EngineFiles:
    """Paths below ``<workspace>/engine``, by which the engine is found again.

    Args:
        workspace: the workspace's folder.

    Attributes:
        folder: readable by its owner alone, as its key lets one run code.
        lock: held by the engine as long as it lives.
        note: process and host of the engine, and the state that `engine_state` returns.
        key: private key and certificate of the engine's own scheduler and workers.
        wanted: exists as long as runs wait or go on; touched when there is something to do.
        scratch: Dask's own.
    """

    def __init__(self, workspace: Path) -> None:
        self.folder = workspace / "engine"
        self.lock = self.folder / "engine.lock"
        self.note = self.folder / "engine.json"
        self.key = self.folder / "key.pem"
        self.wanted = self.folder / "wanted"
        self.scratch = self.folder / "scratch"

    def wanted_at(self) -> int:
        """Time of the last request for work, in nanoseconds; 0 = nothing is wanted."""
        try:
            return self.wanted.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def want(self) -> None:
        """Request that the engine reads the record, and that the next reader of its state starts one if it is down."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.wanted.touch()
        now = time.time_ns()
        os.utime(self.wanted, ns=(now, now))


@dataclass(frozen=True)
class WorkerState:
    """A worker and the number of its busy slots."""

    name: str
    device: str
    slots: int
    busy: int


@dataclass(frozen=True)
class EngineState:
    """Last report of the engine.

    Args:
        address: address of the scheduler; None while the engine is down or still starting.
        workers: workers that take runs.
        problem: a problem that keeps runs waiting, in one sentence; "" without.
    """

    address: str | None
    workers: tuple[WorkerState, ...] = ()
    problem: str = ""


def ensure_engine(*, workspace: Workspace | None = None) -> None:
    """Ask the engine to read the record; start it in the background if there is none.

    Raises:
        CrowdError: the workspace's disk is full or read-only.
        MissingExtraError: Dask or MLflow is not installed.
        SettingError: the cluster to join has no TLS.
    """
    if missing := missing_extra("Training in the background", "distributed", "mlflow"):
        raise missing
    check_scheduler(os.environ.get(JOIN, ""))
    workspace = workspace or Workspace.open()
    files = EngineFiles(workspace.folder)
    with check_disk(workspace):
        files.want()
    with _starting:
        started = _started.get(workspace.folder)
        if is_locked(files.lock) or (started and started.poll() is None):
            return
        _started[workspace.folder] = start_detached(
            "crowdcore.runs.engine_process", log=files.folder / "engine.log", environment=workspace.environment
        )


def engine_state(*, workspace: Workspace | None = None) -> EngineState:
    """Return the state of the engine; restart one that was killed while runs waited or went on."""
    workspace = workspace or Workspace.open()
    if problem := disk_problem(workspace.folder):
        return EngineState(None, problem=problem)
    if not os.access(workspace.folder / "engine", os.X_OK):  # there is none, or it belongs to another user
        return EngineState(None)
    files = EngineFiles(workspace.folder)
    if not is_locked(files.lock):
        if files.wanted.exists() and not workspace.read_only:
            ensure_engine(workspace=workspace)
        return EngineState(None)
    note = read_json(files.note)
    workers = tuple(WorkerState(**worker) for worker in note.get("workers", []))
    return EngineState(note.get("address"), workers, str(note.get("problem", "")))


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


def check_scheduler(address: str) -> None:
    """Refuse a scheduler without TLS; "" stands for the engine's own, which has it."""
    if address and not address.startswith("tls://") and os.environ.get(UNGUARDED) != "1":
        raise SettingError(
            JOIN,
            "be tls://HOST:PORT",
            address,
            "Without TLS, anyone who reaches the scheduler can run code on every machine of the cluster: start it with "
            f"`crowdcore scheduler`. Where nobody else reaches the network, {UNGUARDED}=1 allows it.",
        )


def cluster_security(workspace: Workspace, address: str) -> Security | None:
    """Credentials for a scheduler: the cluster's key, or those of Dask's own configuration."""
    import distributed

    check_scheduler(address)
    if not address.startswith("tls://"):
        return None
    own = distributed.Security(require_encryption=True)
    if not os.environ.get(KEY) and own.tls_ca_file:  # type: ignore[attr-defined]
        return own
    pem = key_file(workspace)
    if not pem.is_file():
        raise DataError(
            f"There is no key of the cluster at {pem}",
            f"`crowdcore scheduler` makes it in a workspace that all machines share; else copy it and set {KEY}.",
        )
    return tls(pem)


def key_file(workspace: Workspace) -> Path:
    """Path of the cluster's key, which may not exist."""
    return Path(os.environ.get(KEY) or workspace.folder / "engine" / "cluster.pem")


def make_key(pem: Path) -> None:
    """Write a private key and its certificate, valid for a year, readable by their owner alone."""
    from distributed import Security

    key = Security.temporary()
    pem.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(pem) as draft, os.fdopen(create_private(draft), "w") as file:
        file.write(key.tls_scheduler_key + key.tls_scheduler_cert)


def tls(pem: Path) -> Security:
    """Return TLS settings in which both sides must hold the key."""
    import distributed

    ends = {f"tls_{role}_{part}": str(pem) for role in ("client", "scheduler", "worker") for part in ("cert", "key")}
    return distributed.Security(require_encryption=True, tls_ca_file=str(pem), **ends)


def submit(spec: RunSpec, *, workspace: Workspace | None = None) -> Run:
    """Queue a run; the engine, started if there is none, takes it as soon as it can.

    Raises:
        SettingError: the engine would join a cluster without TLS.
    """
    workspace = workspace or Workspace.open()
    check_scheduler(os.environ.get(JOIN, ""))
    client_of(workspace)  # raises for a broken record before anything is written
    with check_disk(workspace):
        EngineFiles(workspace.folder).want()  # should we die here, the next reader of the state starts an engine
        run = store.create(spec, workspace=workspace)
    ensure_engine(workspace=workspace)
    return run


def cancel(run_id: str, *, now: bool = False, workspace: Workspace | None = None) -> None:
    """End a run; the model so far becomes its result.

    Its process ends by itself after its current epoch, however long that takes. For a run that waits to go on from a
    checkpoint, the engine makes that its result. A run that has ended stays as it is; a search ends with its trials.

    Args:
        now: do not wait for the end of the epoch; progress since the last checkpoint is lost.
    """
    workspace = workspace or Workspace.open()
    run = store.get_run(run_id, workspace=workspace)
    if run.has_ended:
        return
    with check_disk(workspace):
        workspace.request_cancel(run_id, now=now)
    try:
        with leased(workspace.run_folder(run_id), wait=0.2):  # no process trains it, and none can begin
            run = store.get_run(run_id, workspace=workspace)
            begun = run.spec.search and run.state == "running"  # the engine ends it
            if not run.has_ended and not begun and not workspace.has_checkpoint(run_id):
                store.set_state(run_id, "cancelled", "Cancelled before it started.", workspace=workspace)
    except BlockingIOError:  # its supervisor sees the flag
        pass
    if run.spec.search:
        for trial in store.list_runs(states=["queued", "running"], parent=run_id, workspace=workspace):
            cancel(trial.id, now=now, workspace=workspace)
    ensure_engine(workspace=workspace)


def resume(run_id: str, *, workspace: Workspace | None = None) -> Run:
    """Queue a failed or cancelled run to go on from its last checkpoint.

    Raises:
        DataError: the run is finished, or has not ended.
    """
    workspace = workspace or Workspace.open()
    store.get_run(run_id, workspace=workspace)
    folder = workspace.run_folder(run_id)
    try:
        with check_disk(workspace), leased(folder, wait=5):
            run = store.get_run(run_id, workspace=workspace)
            if run.state not in {"failed", "cancelled"}:
                raise DataError(f"Run {run_id} is {run.state}", "Only failed and cancelled runs can be resumed.")
            workspace.forget_cancel(run_id)
            forget_note(folder)
            message = f"Resumed after epoch {run.epoch}." if run.epoch else "Started again."
            store.set_state(run_id, "queued", message, workspace=workspace)
    except BlockingIOError:
        raise DataError(f"The process of run {run_id} is still ending", "Try again in some seconds.") from None
    ensure_engine(workspace=workspace)
    return store.get_run(run_id, workspace=workspace)


def run_again(run_id: str, *, workspace: Workspace | None = None, **changes: Any) -> Run:
    """Start a new run with the specification of an old one.

    Args:
        run_id: id of the old run.
        workspace: workspace of both.
        changes: fields of `RunSpec`, or single settings of the trainer or the method.
    """
    workspace = workspace or Workspace.open()
    spec = store.get_run(run_id, workspace=workspace).spec
    fields = {k: v for k, v in changes.items() if k in RunSpec.model_fields}
    settings = {k: v for k, v in changes.items() if k not in RunSpec.model_fields}
    new = spec.model_dump() | {"parent": "", "group": "", "fingerprint": ""} | fields
    new["settings"] = new["settings"] | settings
    return submit(RunSpec(**new), workspace=workspace)


def set_priority(run_id: str, priority: int, *, workspace: Workspace | None = None) -> None:
    """Set the priority of a queued run; higher goes first."""
    workspace = workspace or Workspace.open()
    spec = store.get_run(run_id, workspace=workspace).spec.model_copy(update={"priority": priority})
    store.set_tag(run_id, f"{TAG}spec", spec.model_dump_json(), workspace)
    ensure_engine(workspace=workspace)
