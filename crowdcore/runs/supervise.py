"""The Dask task behind a run: it starts a training process, watches it, and reports its end.

Dask cannot stop a running task, and a crash must not take the worker along: so training has its own process group,
forked from a server that has loaded the packages that a run needs.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from crowdcore.core.forkserver import ForkServer
from crowdcore.core.processes import give_way, kill_group
from crowdcore.runs.faults import retry
from crowdcore.runs.locks import Ending, Lease, Note, leased, read_note
from crowdcore.runs.workspace import Workspace

DEVICE = "CROWDCORE_DEVICE"
"""Environment variable with the device of this worker's runs, such as ``cuda:1``."""
SAVING = "Cancelled. Saving the last checkpoint as the result."
_TICK = 0.1  # seconds
_LOST = 2  # times that a run is started again after its process, or its worker, was lost without progress
_TAIL = 8  # log lines in a message

server = ForkServer(  # no training code of ours, as a run uses the code of its start; nothing that touches a GPU
    (
        "crowdcore.core.garbage",
        "crowdcore.runs",
        "mlflow",
        "mlflow.artifacts",
        "mlflow.store.tracking.sqlalchemy_store",
        "numba",
        "optuna",
        "pyarrow.parquet",
        "scipy.sparse",
        "safetensors.torch",
        "torch._dynamo",  # which PyTorch's optimisers load
        "torch.func",
    )
)
_stopping = threading.Event()
_reasons: list[str] = []
_active: set[int] = set()


def stop_all(reason: str) -> None:
    """End the training processes of this worker; their runs go on elsewhere or later."""
    _reasons.append(reason)
    _stopping.set()


def is_idle() -> bool:
    """Return True if this worker supervises no run."""
    return not _active


def supervise(folder: str, tracking_uri: str, run_id: str, device: str) -> Ending:
    """Train a run in its own process and wait for it; return its end, which is also noted in the run's folder.

    `Ending.LOST` if another process supervises it.
    """
    workspace = Workspace(Path(folder), tracking_uri)
    _active.add(threading.get_ident())
    try:
        with leased(workspace.run_folder(run_id), wait=15) as lease:
            note = _Supervisor(lease, workspace, run_id, device).run()
            retry(lambda: lease.write(note), _stopping.is_set)
            return note.outcome
    except BlockingIOError:
        return Ending.LOST
    finally:
        _active.discard(threading.get_ident())


@dataclass(frozen=True)
class _Supervisor:
    """Starts the training process of a run and watches it."""

    lease: Lease
    workspace: Workspace
    run_id: str
    device: str

    def run(self) -> Note:
        """Wait until the process has ended; return the note to leave."""
        why, _, tail = read_note(self.lease.folder).message.partition("\n")
        note = retry(self.lease.begin, _stopping.is_set)
        concludes = self._is_cancelled()  # the process only turns the last checkpoint into the result
        if concludes and not self._has_checkpoint():
            return replace(note, outcome=Ending.CANCELLED, message="Cancelled before it started.")
        if note.lost > _LOST and not concludes:
            often = f"This happened {note.lost} times without progress."
            return self._failed(note, f"{why or 'Its worker was lost.'} {often}", tail)
        start = self._log.stat().st_size if self._log.exists() else 0
        note, code = self._run_child(note, concludes)
        ending = Ending.of(code)
        if ending is Ending.LOST and _stopping.is_set():
            return replace(note, outcome=Ending.STOPPED, message=_reasons[0])
        if code is None or ending in {Ending.FINISHED, Ending.CANCELLED}:
            return replace(note, outcome=ending, message="Cancelled." if ending is Ending.CANCELLED else "")
        if ending is Ending.FAILED:
            return self._failed(note, _explain(code), _tail(self._log, start))
        if not self._is_cancelled():
            return replace(note, message=f"{_explain(code)}\n{_tail(self._log, start)}")
        if self._has_checkpoint() and not concludes:
            return replace(note, outcome=Ending.STOPPED, message=SAVING)
        message = "Cancelled before its first epoch had ended, so there is nothing to keep."
        if self._has_checkpoint():
            message = "Cancelled. Its last checkpoint could not be turned into a result; Resume continues from there."
        return replace(note, outcome=Ending.CANCELLED, message=message)

    def _run_child(self, note: Note, concludes: bool) -> tuple[Note, int | None]:
        """Start a process and wait for it; its checkpoint is whole at any time.

        A cancelled process is killed only if the request is not to wait for the end of its epoch.
        """
        environment = {**self.workspace.environment, **_visible(self.device)}
        child = server.fork(_train, self.run_id, environment, str(self._log), handles=[self.lease.handle])
        note = replace(note, child=child.pid)
        retry(lambda: self.lease.write(note), lambda: _stopping.is_set() or child.wait(0))
        while not child.wait(_TICK):
            if _stopping.is_set() or (self.workspace.stop_requested(self.run_id) and not concludes):
                kill_group(child.pid)
        kill_group(child.pid)  # and its own children
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


def _train(run_id: str, environment: Mapping[str, str], log: str) -> None:
    """Train a run in this process, which was forked for it, and exit; it holds the run's lock until then."""
    os.setsid()
    give_way()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        from crowdcore.runs.train_process import main

        code = main(run_id)
    except BaseException:
        traceback.print_exc()
        code = Ending.FAILED.code
    raise SystemExit(code)


def _visible(device: str) -> dict[str, str]:
    """Environment in which a run on "auto" or "cuda" sees this worker's GPU alone."""
    own = os.environ.get(DEVICE, "")
    if device not in {"auto", "cuda"} or not own.startswith("cuda:"):
        return {}
    number = int(own.removeprefix("cuda:"))
    visible = [v for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v]
    return {"CUDA_VISIBLE_DEVICES": visible[number] if number < len(visible) else str(number)}


def _explain(code: int) -> str:
    if code == -signal.SIGKILL:
        return "Its process was killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"Its process crashed ({signal.Signals(-code).name})."
    return f"Its process ended with exit code {code}."


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - 8192))
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-_TAIL:])
