"""The Dask task behind a run: it starts the child, watches over it, and says what became of it.

Dask cannot stop a running task, and a crash must not take the worker along: so training is a process group of its own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from crowdcore.runs.forkserver import Forked
from crowdcore.runs.lease import Lease, Note, Outcome, leased
from crowdcore.runs.patience import insist
from crowdcore.runs.processes import kill_group
from crowdcore.runs.workspace import Workspace

__all__ = ["DEVICE", "idle", "stop_all", "supervise"]

DEVICE = "CROWDCORE_DEVICE"  # "cuda:1": the device that this worker gives to its runs
_TICK = 0.1  # seconds
_SILENT = 600.0  # seconds without a sign of life for which a cancelled child may still end by itself
_PAUSE = 1.0  # seconds before a child that a signal has ended is started again
_LOST = 2  # times that a run is started again after its process, or its worker, was lost and it had not got on
_TAIL = 8  # log lines in a message
_FINISHED, _CANCELLED, _ORPHANED, _TAKEN = 0, 3, 4, 5  # exit codes of a child

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
        what: "train_process" or "search_process".
        device: what the run asks for.

    Returns:
        What became of it, also noted in the run's folder; "" when somebody else supervises it.
    """
    workspace = Workspace(Path(folder), tracking_uri)
    _active.add(threading.get_ident())
    try:
        with leased(workspace.run_folder(run_id), wait=15) as lease:
            ended = _Supervisor(lease, workspace, run_id, what, device).run()
            insist(lambda: lease.write(ended), _stopping.is_set)
            return ended.outcome
    except BlockingIOError:
        return ""
    finally:
        _active.discard(threading.get_ident())


@dataclass(frozen=True)
class _Supervisor:
    """Starts the child of a run, and starts it again when a signal has ended it."""

    lease: Lease
    workspace: Workspace
    run_id: str
    what: str
    device: str

    def run(self) -> Note:
        """Until the run has ended or is to go on elsewhere; returns the note to leave."""
        why = tail = ""
        while True:
            message = f"{why} {self._goes_on('It went on')}" if why else ""
            note = insist(partial(self.lease.begin, message=message), _stopping.is_set)
            if note.lost > _LOST:
                often = f"That happened {note.lost} times before it got on. {self._goes_on('Resume goes on')}"
                message = f"{why or 'Its worker was lost.'} {often}\n{tail}".strip()
                return replace(note, outcome="failed", message=message)
            if self._is_cancelled() and not self._has_checkpoint():
                return replace(note, outcome="cancelled", message="Cancelled before it started.")
            start = self._log.stat().st_size if self._log.exists() else 0
            note, code = self._run_child(note, self._impatience())
            if _was_killed(code) and self._is_cancelled() and not _stopping.is_set():
                if self._has_checkpoint():  # which a child of a cancelled run turns into its result
                    note, code = self._run_child(note, partial(self._is_silent_since, time.monotonic()))
                if _was_killed(code):
                    return replace(note, outcome="cancelled", message=self._cut_short())
            if _stopping.is_set() and (code is None or code < 0):
                return replace(note, outcome="stopped", message=_reasons[0])
            if code is None or code in {_ORPHANED, _TAKEN}:
                return note  # without an outcome: it counts as lost
            if code in {_FINISHED, _CANCELLED}:
                return replace(note, outcome="ended")
            why, tail = _why(code), _tail(self._log, start)
            if code > 0:
                message = f"{why} {self._goes_on('Resume goes on')}\n{tail}".strip()
                return replace(note, outcome="failed", message=message)
            _stopping.wait(_PAUSE)

    def _run_child(self, note: Note, is_over: Callable[[], bool]) -> tuple[Note, int | None]:
        """Start a child, wait for it, and kill it when ``is_over`` says so; its checkpoint is whole at any time."""
        environment = {**self.workspace.environment, **_visible(self.device)}
        child = Forked(f"crowdcore.runs.{self.what}", self.run_id, environment, self._log, self.lease.handle)
        note = replace(note, child=child.pid)
        insist(lambda: self.lease.write(note), lambda: _stopping.is_set() or child.wait(0))
        while not child.wait(_TICK):
            if _stopping.is_set() or is_over():
                kill_group(child.pid)
        kill_group(child.pid)  # and what it left behind
        return note, child.code

    def _impatience(self) -> Callable[[], bool]:
        """Whether a cancelled child is not to be waited for: somebody said so, or it has been silent for long."""
        asked: list[float] = []

        def is_over() -> bool:
            if not self._is_cancelled():
                return False
            asked.append(time.monotonic())
            del asked[1:]
            now = self.what == "train_process" and self.workspace.stop_requested(self.run_id)
            return now or self._is_silent_since(asked[0])

        return is_over

    def _is_silent_since(self, begun: float) -> bool:
        """Whether the child has given no sign of life for long; one that works on is waited for, however slow."""
        return min(time.monotonic() - begun, self.workspace.silence(self.run_id)) > _SILENT

    @property
    def _log(self) -> Path:
        return self.workspace.run_folder(self.run_id) / "log.txt"

    def _is_cancelled(self) -> bool:
        return self.workspace.cancel_requested(self.run_id)

    def _has_checkpoint(self) -> bool:
        return self.workspace.has_checkpoint(self.run_id)

    def _goes_on(self, how: str) -> str:
        if self._has_checkpoint() or self.what != "train_process":
            return f"{how} from {'its last checkpoint' if self.what == 'train_process' else 'where it was'}."
        return "It began again." if how == "It went on" else ""

    def _cut_short(self) -> str:
        if self.what != "train_process":
            return "Cancelled; its process did not end by itself."
        if self._has_checkpoint():
            return "Cancelled. Its last checkpoint could not be made a result; Resume goes on from there."
        return "Cancelled before its first epoch had ended, so there is nothing to keep."


def _was_killed(code: int | None) -> bool:
    return code is not None and code < 0


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
        return "Its process was killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"Its process crashed ({signal.Signals(-code).name})."
    return f"Its process ended with exit code {code}."


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as written:
        written.seek(max(start, log.stat().st_size - 8192))
        lines = written.read().decode(errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-_TAIL:])
