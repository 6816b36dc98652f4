"""The Dask task behind a run: it starts the child, watches over it, and says what became of it.

Dask cannot stop a running task, and a crash must not take the worker along: so training is a process group of its own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

from crowdcore.runs.lease import Lease, Note, Outcome, leased
from crowdcore.runs.nursery import Child, Nursery
from crowdcore.runs.processes import kill_group
from crowdcore.runs.workspace import Workspace

__all__ = ["DEVICE", "idle", "nursery", "stop_all", "supervise"]

DEVICE = "CROWDCORE_DEVICE"  # "cuda:1": the device that this worker gives to its runs
_TICK = 0.1  # seconds
_TERMINATE, _KILL = 2.0, 3.5  # seconds after a request to cancel
_LOST = 3  # workers that a run may lose
_TAIL = 8  # log lines in a message
_FINISHED, _FAILED, _CANCELLED, _ORPHANED, _TAKEN = 0, 1, 3, 4, 5  # exit codes of a child

nursery = Nursery()
"""Of this worker."""

_stopping = threading.Event()
_reasons: list[str] = []
_active: set[int] = set()


def stop_all(reason: str) -> None:
    """End the children of this worker; their runs go on elsewhere or later."""
    _reasons.append(reason)
    _stopping.set()


def idle() -> bool:
    """Whether this worker supervises nothing."""
    return not _active


def supervise(folder: str, tracking_uri: str, run_id: str, what: str, device: str) -> Outcome:
    """Run a child to its end.

    Args:
        folder: the workspace's.
        tracking_uri: the workspace's.
        run_id: of the run.
        what: "child", which trains, or "coordinator", of a search.
        device: what the run asks for.

    Returns:
        What became of it, also noted in the run's folder; "" when somebody else supervises it.
    """
    workspace = Workspace(Path(folder), tracking_uri)
    _active.add(threading.get_ident())
    try:
        with leased(workspace.run_folder(run_id), wait=15) as lease:
            note = lease.begin()
            if note.lost > _LOST:
                ended = replace(note, outcome="failed", message=_lost(note, workspace, run_id))
            elif workspace.cancel_requested(run_id):
                ended = replace(note, outcome="cancelled", message="Cancelled before it started.")
            else:
                ended = _watch(lease, note, workspace, run_id, what, device)
            lease.write(ended)
            return ended.outcome
    except BlockingIOError:
        return ""
    finally:
        _active.discard(threading.get_ident())


def _watch(lease: Lease, note: Note, workspace: Workspace, run_id: str, what: str, device: str) -> Note:
    log = workspace.run_folder(run_id) / "log.txt"
    start = log.stat().st_size if log.exists() else 0
    environment = {**os.environ, **workspace.environment, **_visible(device)}
    nursery.warm_up(log)
    while not nursery.is_ready(_TICK):
        if _stopping.is_set():
            return replace(note, outcome="stopped", message=_reasons[0])
        if workspace.cancel_requested(run_id):
            return replace(note, outcome="cancelled", message="Cancelled before it started.")
    child = nursery.start(what, run_id, environment, log, lease.handle)
    note = replace(note, child=child.pid)
    lease.write(note)
    asked, code = _wait(child, workspace, run_id), child.code
    if asked and code not in {_FINISHED, _CANCELLED, _FAILED}:
        return replace(note, outcome="cancelled", message="Cancelled; its process did not stop by itself.")
    if _stopping.is_set() and (code is None or code < 0):
        return replace(note, outcome="stopped", message=_reasons[0])
    if code is None or code in {_ORPHANED, _TAKEN}:
        return note  # without an outcome: it counts as lost
    if code in {_FINISHED, _CANCELLED}:
        return replace(note, outcome="ended")
    message = f"{_why(code)} {_going_on(workspace, run_id)}\n{_tail(log, start)}".strip()
    return replace(note, outcome="failed", message=message)


def _wait(child: Child, workspace: Workspace, run_id: str) -> bool:
    """Wait for the child; True when it was asked to cancel."""
    asked: float | None = None
    sent = False
    while not child.wait(_TICK):
        if _stopping.is_set():
            kill_group(child.pid)  # its checkpoint is whole at any time
        if asked is None and workspace.cancel_requested(run_id):
            asked = time.monotonic()
        elif asked is not None:
            waited = time.monotonic() - asked
            if waited > _KILL:
                kill_group(child.pid)
            elif waited > _TERMINATE and not sent:
                kill_group(child.pid, signal.SIGTERM)
                sent = True
    return asked is not None


def _visible(device: str) -> dict[str, str]:
    """The environment in which a run that leaves the choice open sees this worker's GPU alone."""
    mine = os.environ.get(DEVICE, "")
    if device not in {"auto", "cuda"} or not mine.startswith("cuda:"):
        return {}
    number = int(mine.removeprefix("cuda:"))
    visible = [v for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v]
    return {"CUDA_VISIBLE_DEVICES": visible[number] if number < len(visible) else str(number)}


def _why(code: int) -> str:
    if code == -signal.SIGKILL:
        return "The training process was killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"The training process crashed ({signal.Signals(-code).name})."
    return f"The training process ended with exit code {code}."


def _going_on(workspace: Workspace, run_id: str) -> str:
    checkpoint = workspace.run_folder(run_id) / "checkpoint"
    return "Resume goes on from its last checkpoint." if any(checkpoint.rglob("*.json")) else ""


def _lost(note: Note, workspace: Workspace, run_id: str) -> str:
    return f"Its worker was lost {note.lost} times in a row. {_going_on(workspace, run_id)}".strip()


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as written:
        written.seek(max(start, log.stat().st_size - 8192))
        lines = written.read().decode(errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-_TAIL:])
