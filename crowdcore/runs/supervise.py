"""The Dask task behind a run: it starts the child, watches over it, and says what became of it.

Dask cannot stop a running task, and a crash must not take the worker along: so training is a process group of its own.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from crowdcore.runs.forkserver import Forked
from crowdcore.runs.lease import Lease, Note, Outcome, leased
from crowdcore.runs.processes import kill_group
from crowdcore.runs.workspace import Workspace

__all__ = ["DEVICE", "idle", "stop_all", "supervise"]

DEVICE = "CROWDCORE_DEVICE"  # "cuda:1": the device that this worker gives to its runs
_TICK = 0.1  # seconds
_SILENT = 600.0  # seconds without a sign of life for which a cancelled child may still end by itself
_CONCLUDE = 300.0  # seconds to turn a checkpoint into a result
_LOST = 3  # workers that a run may lose
_TAIL = 8  # log lines in a message
_FINISHED, _FAILED, _CANCELLED, _ORPHANED, _TAKEN = 0, 1, 3, 4, 5  # exit codes of a child

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
        what: "train_process" or "search_process".
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
            elif _never_began(workspace, run_id):
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
    environment = {**workspace.environment, **_visible(device)}

    def run_child(is_over: Callable[[], bool]) -> tuple[Note, int | None]:
        child = Forked(f"crowdcore.runs.{what}", run_id, environment, log, lease.handle)
        watched = replace(note, child=child.pid)
        lease.write(watched)
        return watched, _wait(child, is_over)

    note, code = run_child(_impatience(workspace, run_id, what))
    if _was_killed(code) and workspace.cancel_requested(run_id) and not _stopping.is_set():
        if workspace.has_checkpoint(run_id):  # which a child of a cancelled run turns into its result
            end = time.monotonic() + _CONCLUDE
            note, code = run_child(lambda: time.monotonic() > end)
        if _was_killed(code):
            return replace(note, outcome="cancelled", message=_cut_short(workspace, run_id, what))
    if _stopping.is_set() and (code is None or code < 0):
        return replace(note, outcome="stopped", message=_reasons[0])
    if code is None or code in {_ORPHANED, _TAKEN}:
        return note  # without an outcome: it counts as lost
    if code in {_FINISHED, _CANCELLED}:
        return replace(note, outcome="ended")
    message = f"{_why(code)} {_going_on(workspace, run_id)}\n{_tail(log, start)}".strip()
    return replace(note, outcome="failed", message=message)


def _wait(child: Forked, is_over: Callable[[], bool]) -> int | None:
    """Wait for the child, and kill it when ``is_over`` says so; its checkpoint is whole at any time."""
    while not child.wait(_TICK):
        if _stopping.is_set() or is_over():
            kill_group(child.pid)
    kill_group(child.pid)  # and what it left behind
    return child.code


def _was_killed(code: int | None) -> bool:
    return code is not None and code < 0


def _impatience(workspace: Workspace, run_id: str, what: str) -> Callable[[], bool]:
    """Whether a cancelled child is not to be waited for: somebody said so, or it has been silent for long."""
    asked = math.inf

    def is_over() -> bool:
        nonlocal asked
        if not workspace.cancel_requested(run_id):
            return False
        asked = min(asked, time.monotonic())
        silent = min(time.monotonic() - asked, workspace.silence(run_id))
        return (what == "train_process" and workspace.stop_requested(run_id)) or silent > _SILENT

    return is_over


def _never_began(workspace: Workspace, run_id: str) -> bool:
    return workspace.cancel_requested(run_id) and not workspace.has_checkpoint(run_id)


def _cut_short(workspace: Workspace, run_id: str, what: str) -> str:
    if what != "train_process":
        return "Cancelled; its process did not end by itself."
    if workspace.has_checkpoint(run_id):
        return "Cancelled. Its last checkpoint could not be made a result; Resume goes on from there."
    return "Cancelled before its first epoch had ended, so there is nothing to keep."


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
    return "Resume goes on from its last checkpoint." if workspace.has_checkpoint(run_id) else ""


def _lost(note: Note, workspace: Workspace, run_id: str) -> str:
    return f"Its worker was lost {note.lost} times in a row. {_going_on(workspace, run_id)}".strip()


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as written:
        written.seek(max(start, log.stat().st_size - 8192))
        lines = written.read().decode(errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-_TAIL:])
