"""The engine: ``python -m crowdcore.runs.engine_process``, one process per workspace, identified by the lock it holds.

It runs Dask's scheduler and the nannies that keep its workers running (or joins a cluster), hands runs over as slots
become free, steps searches, and ends with all of them when idle for a while. Apps only write the record and ask it to
read that.

Workers and their slots are Dask's, but the queue stays in the record: Dask gives a waiting task to a worker at once,
and keeps neither their order nor every slot busy (docs/design.md, `python -m benchmarks.engine`).
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shutil
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import crowdcore.core.garbage  # noqa: F401
from crowdcore.core.errors import CrowdError
from crowdcore.core.files import write_json
from crowdcore.core.processes import is_alive, kill_group
from crowdcore.core.spelling import log_visibly
from crowdcore.runs import store
from crowdcore.runs.engine import CONCLUDING, JOIN, SLOT, EngineFiles, EngineState, WorkerState, cluster_security, tls
from crowdcore.runs.faults import disk_problem, lock_problem
from crowdcore.runs.locks import Ending, Note, is_in_place, is_leased, leased, locked, read_note
from crowdcore.runs.record import client_of
from crowdcore.runs.run import TAG, Run, State, read_run
from crowdcore.runs.supervise import SAVING, supervise
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.runs.searching import Coordinator

IDLE, SLOTS = "CROWDCORE_ENGINE_IDLE", "CROWDCORE_SLOTS"
_BRIEFLY = 90.0  # seconds without work after which the engine ends: its packages take 800 MB
_LONG = 1800.0  # the same when a user has added a worker, which would end, too
_TICK, _LOOK, _RARELY = 0.05, 1.0, 2.0  # seconds between checks for requests, of a busy and of an idle record
_JOINING = 0.2  # seconds between checks while the first worker starts
_ALONE = 15.0  # seconds without a worker that are reported
_QUIET = {  # runs are processes of their own: there is nothing here to measure or profile
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "30s",
    "distributed.comm.timeouts.connect": "5s",
    "distributed.worker.daemon": False,  # a daemon may not have children
    "distributed.worker.profile.enabled": False,
}
_FORGOTTEN = 60.0  # seconds after which a run that MLflow never recorded is forgotten
_GRACE = 5.0  # seconds that a child has to end after its supervisor
_log = logging.getLogger("crowdcore.engine")


@dataclass(frozen=True)
class _Handed:
    """A run handed to a worker."""

    future: Any
    worker: str
    resource: str


class Engine:
    """The engine of one workspace, as a loop."""

    def __init__(self, workspace: Workspace, lock: int, stop: threading.Event) -> None:
        import dask

        from crowdcore.runs.worker_process import local_cluster

        dask.config.set(_QUIET)
        self._workspace, self._files = workspace, EngineFiles(workspace.folder)
        write_json(self._files.note, _me())
        self._join = os.environ.get(JOIN, "")
        self._idle = float(os.environ.get(IDLE) or 0)
        self._reconciler = Reconciler(workspace)
        threading.Thread(target=client_of, args=(workspace,), daemon=True).start()  # loads MLflow in the meantime
        self._cluster = None if self._join else local_cluster(workspace, int(os.environ.get(SLOTS) or 1))
        self._client: Any = None  # Dask's client has no types
        self._handed: dict[str, _Handed] = {}
        self._searches: dict[str, Coordinator] = {}
        self._workers: dict[str, dict[str, Any]] = {}
        self._joined = time.monotonic()
        self._lock, self._wake, self._stop = lock, threading.Event(), stop
        self.answered = 0
        """Time of the last request that was answered."""

    def run(self) -> None:
        """Run until stopped, or idle for long."""
        busy = time.monotonic()
        try:
            while not self._is_over():
                self._wake.clear()
                wanted = self._files.wanted_at()
                problem = disk_problem(self._workspace.folder) or lock_problem(self._workspace) or self._step()
                if wanted != self.answered or self._handed or self._reconciler.unfinished:
                    busy = time.monotonic()
                self.answered = wanted
                self._report(problem)
                own, n_workers = len(self._cluster.workers) if self._cluster else 0, len(self._workers)
                idle = self._idle or (_LONG if n_workers > own else _BRIEFLY)
                if time.monotonic() - busy > idle:
                    _log.info("nothing to do for %.0f s", idle)
                    break
                unfinished = bool(self._handed or self._reconciler.unfinished)
                self._wait((_LOOK if n_workers else _JOINING) if unfinished else _RARELY)
        finally:
            self._close()

    def _is_over(self) -> bool:
        """Return True if it was stopped, or the workspace was deleted or moved (another engine may hold its lock)."""
        return self._stop.is_set() or not is_in_place(self._files.lock, self._lock)

    def _step(self) -> str:
        """Do one round; return the problem that keeps runs waiting, or ""."""
        self._workers = {}
        try:
            self._workers = workers = self._find_workers()
            self._collect(workers)
            waiting = self._reconciler.waiting({*self._handed, *self._searches})
            self._search(waiting, sum(int(w["resources"][SLOT]) for w in workers.values()))
            self._hand_over([run for run in waiting if run.spec.search is None], workers)
            if workers:
                self._joined = time.monotonic()
            alone = time.monotonic() - self._joined > _ALONE
            return "No worker has joined: start `crowdcore compute-worker`." if alone else ""
        except CrowdError as error:
            return str(error)
        except Exception:  # a locked record and a starting scheduler are transient
            _log.exception("this round failed")
            return "The engine cannot supervise the runs at the moment and will try again; see engine/engine.log."

    def _find_workers(self) -> dict[str, dict[str, Any]]:
        """Address -> the scheduler's facts about a worker that takes runs."""
        from distributed import Client

        if self._client and self._client.status != "running":
            self._disconnect()
        if self._client is None:
            security = cluster_security(self._workspace, self._join) if self._join else tls(self._files.key)
            self._client = Client(self._cluster or self._join, timeout=5, set_as_default=False, security=security)
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        return {at: w for at, w in known.items() if SLOT in w["resources"] and w.get("status") == "running"}

    def _collect(self, workers: dict[str, dict[str, Any]]) -> None:
        """Take back runs that ended, and those of vanished workers."""
        for run_id, handed in list(self._handed.items()):
            if handed.future.done() or handed.worker not in workers:
                del self._handed[run_id]
                if not handed.future.done():
                    with contextlib.suppress(Exception):
                        handed.future.cancel(force=True)
                self._reconciler.settle(run_id)

    def _search(self, waiting: list[Run], slots: int) -> None:
        """Take up waiting searches, and step all; one that meets a transient error is taken up anew.

        A search that has ended is dropped at once: it may be resumed before the next round.
        """
        from crowdcore.runs.searching import Coordinator

        for run in waiting:
            if run.spec.search is not None:
                self._searches[run.id] = Coordinator(run, run.spec.search, self._workspace)
        for run_id, search in list(self._searches.items()):
            del self._searches[run_id]
            if run_id in self._reconciler.unfinished and search.step(slots):
                self._searches[run_id] = search

    def _hand_over(self, waiting: list[Run], workers: dict[str, dict[str, Any]]) -> None:
        if not waiting or self._client is None:
            return
        free = {at: dict(w["resources"]) for at, w in workers.items()}
        for handed in self._handed.values():
            free[handed.worker][handed.resource] -= 1
        for at, keys in self._client.processing().items():
            for kind, run_id in (str(key).split("-")[:2] for key in keys if str(key).count("-") == 2):
                if at in free and kind in free[at] and run_id not in self._handed:
                    free[at][kind] -= 1  # a run of another workspace, or from before the connection was lost
        for run in waiting:
            concludes = self._workspace.cancel_requested(run.id)  # it only turns its checkpoint into a result
            resource = CONCLUDING if concludes else SLOT
            able = [at for at in free if free[at][resource] >= 1]
            if run.spec.device.startswith("cuda"):
                offering = [at for at in workers if run.spec.device in workers[at]["resources"]]
                able = [at for at in able if at in offering] if offering else able  # else the run fails with the reason
            if able:
                at = max(able, key=lambda a: free[a][resource])
                free[at][resource] -= 1
                self._give(run, at, resource)

    def _give(self, run: Run, worker: str, resource: str) -> None:
        import distributed

        future = self._client.submit(
            supervise,
            str(self._workspace.folder),
            self._workspace.tracking_uri,
            run.id,
            run.spec.device,
            key=f"{resource}-{run.id}-{uuid.uuid4().hex[:8]}",
            workers=[worker],
            resources={resource: 1},
        )
        distributed.fire_and_forget(future)
        future.add_done_callback(lambda _: self._wake.set())
        self._handed[run.id] = _Handed(future, worker, resource)
        _log.info("gave %s to %s", run.id, worker)

    def _report(self, problem: str) -> None:
        """Write the state for `engine_state`, and whether the engine is still wanted."""
        busy = [h.worker for h in self._handed.values() if h.resource == SLOT]
        workers = tuple(
            WorkerState(
                name=str(w["name"]),
                device=next((r for r in w["resources"] if r.startswith("cuda:")), "cpu"),
                slots=int(w["resources"][SLOT]),
                busy=busy.count(at),
            )
            for at, w in self._workers.items()
        )
        state = EngineState(self._client.scheduler.address if self._client else None, workers, problem)
        with contextlib.suppress(OSError):  # `engine_state` notices a full disk by itself
            write_json(self._files.note, _me() | asdict(state))
            if self._reconciler.unfinished and not self.answered:
                self._files.want()
            elif not self._reconciler.unfinished and self._files.wanted_at() == self.answered:
                self._files.wanted.unlink(missing_ok=True)
                self.answered = 0

    def _wait(self, seconds: float) -> None:
        """Wait until there is a request, a run ends, or time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._is_over():
            if self._files.wanted_at() != self.answered or self._wake.wait(_TICK):
                return

    def _disconnect(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
        self._client = None

    def _close(self) -> None:
        self._disconnect()
        if self._cluster:
            self._cluster.close()
        if not self._stop.is_set() and self._is_over():  # files at that path now belong to others
            _log.info("the workspace was deleted or moved: the engine has ended with all that it started")
            return
        with contextlib.suppress(Exception):
            self._reconciler.waiting(set())  # queues the running ones again
        with contextlib.suppress(OSError):
            self._files.note.unlink(missing_ok=True)


class Reconciler:
    """Brings record and leases of runs in line; it needs nothing else, so it may be stopped and started at any time.

    Args:
        workspace: workspace of the runs.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._orphaned_since: dict[str, float] = {}
        self.unfinished: set[str] = set()
        """Runs that wait or go on."""

    def waiting(self, handed: set[str]) -> list[Run]:
        """Correct the record, and return the runs to hand over, in order; those ``handed`` over are left alone."""
        self._finish_creating()
        live = [
            run
            for run in store.list_runs(states=["queued", "running"], workspace=self._workspace)
            if self._workspace.run_folder(run.id).is_dir()
        ]
        self.unfinished = {run.id for run in live}
        free = [run for run in live if run.id not in handed and self._is_free(run)]
        is_over = functools.cache(self._is_over)  # trials of one search wait together
        return sorted((run for run in free if self._is_queued(run, is_over)), key=self._turn)

    def _finish_creating(self) -> None:
        """Queue the runs whose creation was cut short after MLflow had recorded them; forget the others."""
        for begun in (self._workspace.folder / "runs").glob(f"{store.BEGUN}*"):
            if is_leased(begun):
                continue
            client, key = client_of(self._workspace), begun.name.removeprefix(store.BEGUN)
            experiments = [e.experiment_id for e in client.search_experiments()]
            recorded = client.search_runs(experiments, f"tags.`{TAG}key` = '{key}'")
            run = read_run(recorded[0]) if recorded else None
            if run and not self._workspace.run_folder(run.id).exists():
                store.put_in_place(begun, run.id, run.spec, self._workspace)
            elif begun.exists() and time.time() - begun.stat().st_mtime > _FORGOTTEN:  # its lease comes after it
                shutil.rmtree(begun, ignore_errors=True)

    def _turn(self, run: Run) -> tuple[bool, int, datetime]:
        """Sort key of a run in the queue; one that only turns its checkpoint into a result comes first."""
        concludes = self._workspace.cancel_requested(run.id)
        return not concludes, -run.spec.priority, run.created or datetime.min.replace(tzinfo=UTC)

    def settle(self, run_id: str) -> None:
        """Correct the record of one run after its supervisor returned."""
        with contextlib.suppress(CrowdError):
            run = store.get_run(run_id, workspace=self._workspace)
            if not run.has_ended and not is_leased(self._workspace.run_folder(run_id)):
                self._is_queued(run, self._is_over)

    def _is_free(self, run: Run) -> bool:
        """Return True if no process works on the run; end a child that outlives its supervisor."""
        folder = self._workspace.run_folder(run.id)
        if not is_leased(folder):
            self._orphaned_since.pop(run.id, None)
            return True
        note = read_note(folder)
        if note.host == socket.gethostname() and note.child and not is_alive(note.supervisor):
            since = self._orphaned_since.setdefault(run.id, time.monotonic())
            if time.monotonic() - since > _GRACE:
                kill_group(note.child)
        return False

    def _is_queued(self, run: Run, is_over: Callable[[str], bool]) -> bool:
        """Bring the record of a run without a process in line with its note; return True if the run is queued."""
        folder = self._workspace.run_folder(run.id)
        if run.state == "queued" and self._due_state(run, read_note(folder), is_over)[0] == "queued":
            return True
        try:
            with leased(folder, wait=0):
                run = store.get_run(run.id, workspace=self._workspace)
                if run.has_ended:
                    return False
                state, message = self._due_state(run, read_note(folder), self._is_over)
                if state != run.state:
                    store.set_state(run.id, state, message, workspace=self._workspace)
                return state == "queued"
        except BlockingIOError:  # a process has just begun
            return False

    def _due_state(self, run: Run, note: Note, is_over: Callable[[str], bool]) -> tuple[State, str]:
        """Return the state that a run without a process should have, and the reason."""
        cancelled, ending = self._workspace.cancel_requested(run.id), note.outcome
        if cancelled and ending.state == "queued" and self._workspace.has_checkpoint(run.id):
            return "queued", SAVING
        if ending is not Ending.CANCELLED and (cancelled or is_over(run.spec.parent)):
            return "cancelled", "Cancelled while it waited." if cancelled else "Its search was ended."
        if ending is Ending.FINISHED:
            return "failed", "It ended without recording its result. Resume continues from its checkpoint."
        if ending.state != "queued":
            return ending.state, note.message
        why = note.message.partition("\n")[0] or "Its worker was lost."
        return "queued", f"{why} {_goes_on(run)}" if note.supervisor else ""

    def _is_over(self, search: str) -> bool:
        """Return True if the search of a trial has ended, or is gone; a run that is no trial has ""."""
        try:
            return bool(search) and store.get_run(search, workspace=self._workspace).has_ended
        except CrowdError:
            return True


def _goes_on(run: Run) -> str:
    return f"It continues from its last checkpoint before epoch {run.epoch}." if run.epoch else "It begins again."


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def main() -> None:
    """Run the workspace's engine until it is idle for long or stopped; do nothing if there is another one."""
    os.umask(0o077)  # files of runs and their processes are readable by their owner alone
    log_visibly()
    workspace = Workspace.open()
    files, stop = EngineFiles(workspace.folder), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    answered = -1
    while not stop.is_set() and answered != files.wanted_at():  # a request arrived while it was ending
        try:
            with locked(files.lock, wait=0) as lock:
                while disk_problem(workspace.folder) and not stop.wait(_LOOK):
                    pass
                engine = Engine(workspace, lock, stop)
                engine.run()
                answered = engine.answered if files.lock.exists() else files.wanted_at()  # else there are no requests
        except (BlockingIOError, FileNotFoundError):  # there is another one, or no workspace any more
            return


if __name__ == "__main__":
    main()
