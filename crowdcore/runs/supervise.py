"""The Dask task behind a run: it starts the child, watches over it, and says what became of it.

Dask cannot stop a running task, and a crash must not take the worker along: so training is a process group of its own.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from crowdcore.runs.forkserver import Forked
from crowdcore.runs.lease import Ending, Lease, Note, leased, read_note
from crowdcore.runs.patience import insist
from crowdcore.runs.processes import kill_group
from crowdcore.runs.workspace import Workspace

DEVICE = "CROWDCORE_DEVICE"  # "cuda:1": the device that this worker gives to its runs
KEEPING = "Cancelled; what was learnt is being kept."
_TICK = 0.1  # seconds
_LOST = 2  # times that a run goes on after its process, or its worker, was lost and it had not got on
_TAIL = 8  # log lines in a message

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


def supervise(folder: str, tracking_uri: str, run_id: str, device: str) -> Ending:
    """Train a run in a process of its own, until that ends.

    Args:
        folder: the workspace's.
        tracking_uri: the workspace's.
        device: what the run asks for.

    Returns:
        What became of it, also noted in the run's folder; lost, too, when somebody else supervises it.
    """
    workspace = Workspace(Path(folder), tracking_uri)
    _active.add(threading.get_ident())
    try:
        with leased(workspace.run_folder(run_id), wait=15) as lease:
            ended = _Supervisor(lease, workspace, run_id, device).run()
            insist(lambda: lease.write(ended), _stopping.is_set)
            return ended.outcome
    except BlockingIOError:
        return Ending.LOST
    finally:
        _active.discard(threading.get_ident())


@dataclass(frozen=True)
class _Supervisor:
    """Starts the child of a run and watches over it."""

    lease: Lease
    workspace: Workspace
    run_id: str
    device: str

    def run(self) -> Note:
        """Until the child has ended; returns the note to leave."""
        why, _, tail = read_note(self.lease.folder).message.partition("\n")
        note = insist(self.lease.begin, _stopping.is_set)
        concludes = self._is_cancelled()  # the child turns the last checkpoint into the result
        if concludes and not self._has_checkpoint():
            return replace(note, outcome=Ending.CANCELLED, message="Cancelled before it started.")
        if note.lost > _LOST and not concludes:
            often = f"That happened {note.lost} times before it got on."
            return self._failed(note, f"{why or 'Its worker was lost.'} {often}", tail)
        start = self._log.stat().st_size if self._log.exists() else 0
        note, code = self._run_child(note, concludes)
        ending = Ending.of(code)
        if ending is Ending.LOST and _stopping.is_set():
            return replace(note, outcome=Ending.STOPPED, message=_reasons[0])
        if code is None or ending in {Ending.FINISHED, Ending.CANCELLED}:
            return replace(note, outcome=ending, message="Cancelled." if ending is Ending.CANCELLED else "")
        if ending is Ending.FAILED:
            return self._failed(note, _why(code), _tail(self._log, start))
        if not self._is_cancelled():
            return replace(note, message=f"{_why(code)}\n{_tail(self._log, start)}")
        if self._has_checkpoint() and not concludes:
            return replace(note, outcome=Ending.STOPPED, message=KEEPING)
        return replace(note, outcome=Ending.CANCELLED, message=self._cut_short())

    def _run_child(self, note: Note, concludes: bool) -> tuple[Note, int | None]:
        """Start a child and wait for it; its checkpoint is whole at any time.

        A cancelled one is killed only when somebody asked not to wait for the end of its epoch.
        """
        environment = {**self.workspace.environment, **_visible(self.device)}
        child = Forked(self.run_id, environment, self._log, self.lease.handle)
        note = replace(note, child=child.pid)
        insist(lambda: self.lease.write(note), lambda: _stopping.is_set() or child.wait(0))
        while not child.wait(_TICK):
            if _stopping.is_set() or (self.workspace.stop_requested(self.run_id) and not concludes):
                kill_group(child.pid)
        kill_group(child.pid)  # and what it left behind
        return note, child.code

    def _failed(self, note: Note, why: str, tail: str) -> Note:
        resume = " Resume continues from its last checkpoint." if self._has_checkpoint() else ""
        return replace(note, outcome=Ending.FAILED, message=f"{why}{resume}\n{tail}".strip())

    @property
    def _log(self) -> Path:
        return self.workspace.run_folder(self.run_id) / "log.txt"

    def _is_cancelled(self) -> bool:
        return self.workspace.cancel_requested(self.run_id)

    def _has_checkpoint(self) -> bool:
        return self.workspace.has_checkpoint(self.run_id)

    def _cut_short(self) -> str:
        if self._has_checkpoint():
            return "Cancelled. Its last checkpoint could not be turned into a result; Resume continues from there."
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
        return "Its process was killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"Its process crashed ({signal.Signals(-code).name})."
    return f"Its process ended with exit code {code}."


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as written:
        written.seek(max(start, log.stat().st_size - 8192))
        lines = written.read().decode(errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-_TAIL:])
