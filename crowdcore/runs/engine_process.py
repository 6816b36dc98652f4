"""The engine: ``python -m crowdcore.runs.engine_process``, one process per workspace, found by the lock it holds.

It holds Dask's scheduler and the nannies that keep its workers running (or joins a cluster), hands runs over as slots
become free, moves searches on, and ends with all of them when nothing has been asked for a while. Apps only write the
record and ask it to look.

Workers and their slots are Dask's, but the queue stays in the record: Dask gives a waiting task to a worker at once,
and keeps neither their order nor every slot busy (docs/design.md, `python -m benchmarks.engine`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import crowdcore.core.garbage  # noqa: F401
from crowdcore.core.errors import CrowdError
from crowdcore.core.json_files import write_json
from crowdcore.runs.cluster import CONCLUDING, JOIN, SLOT, cluster_security, tls
from crowdcore.runs.engine import EngineState, WorkerState
from crowdcore.runs.files import EngineFiles
from crowdcore.runs.locks import is_in_place, locked
from crowdcore.runs.patience import disk_problem, lock_problem
from crowdcore.runs.schema import client_of
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.runs.coordinator import Coordinator
    from crowdcore.runs.run import Run

IDLE, SLOTS = "CROWDCORE_ENGINE_IDLE", "CROWDCORE_SLOTS"
_BRIEFLY = 90.0  # seconds without work after which the engine ends: what it has loaded takes 800 MB
_LONG = 1800.0  # the same when somebody has added a worker, which would end, too
_TICK, _LOOK, _RARELY = 0.05, 1.0, 2.0  # seconds between looks at what is asked, at a busy and at an idle record
_JOINING = 0.2  # seconds between looks while the first worker is on its way
_ALONE = 15.0  # seconds without a worker that are worth a word
_QUIET = {  # runs are processes of their own: there is nothing here to measure or profile
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "30s",
    "distributed.comm.timeouts.connect": "5s",
    "distributed.worker.daemon": False,  # a daemon may not have children
    "distributed.worker.profile.enabled": False,
}
_log = logging.getLogger("crowdcore.engine")


@dataclass(frozen=True)
class _Handed:
    """A run that a worker was given."""

    future: Any
    worker: str
    resource: str


class Engine:
    """The loop that looks after the engine of one workspace."""

    def __init__(self, workspace: Workspace, lock: int, stop: threading.Event) -> None:
        import dask

        from crowdcore.runs.recovery import Reconciler
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
        """When what was answered last had been asked for."""

    def run(self) -> None:
        """Until told to stop, or idle for long."""
        busy = time.monotonic()
        try:
            while not self._is_over():
                self._wake.clear()
                asked = self._files.asked()
                problem = disk_problem(self._workspace.folder) or lock_problem(self._workspace) or self._step()
                if asked != self.answered or self._handed or self._reconciler.unfinished:
                    busy = time.monotonic()
                self.answered = asked
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
        """Whether somebody said so, or the workspace was deleted or moved: then another engine may hold its lock."""
        return self._stop.is_set() or not is_in_place(self._files.lock, self._lock)

    def _step(self) -> str:
        """One round; returns what stands in the way, "" if nothing does."""
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
            return "No worker has joined: start `crowdcore worker`." if alone else ""
        except CrowdError as error:
            return str(error)
        except Exception:  # the record may be locked, the scheduler on its way: both pass
            _log.exception("this round failed")
            return "The engine cannot supervise the runs at the moment and will try again; see engine/engine.log."

    def _find_workers(self) -> dict[str, dict[str, Any]]:
        """Address -> what the scheduler says of a worker that takes runs."""
        from distributed import Client

        if self._client and self._client.status != "running":
            self._disconnect()
        if self._client is None:
            security = cluster_security(self._workspace, self._join) if self._join else tls(self._files.key)
            self._client = Client(self._cluster or self._join, timeout=5, set_as_default=False, security=security)
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        return {at: w for at, w in found.items() if SLOT in w["resources"] and w.get("status") == "running"}

    def _collect(self, workers: dict[str, dict[str, Any]]) -> None:
        """Take back what ended, and what a vanished worker had."""
        for run_id, handed in list(self._handed.items()):
            if handed.future.done() or handed.worker not in workers:
                del self._handed[run_id]
                if not handed.future.done():
                    with contextlib.suppress(Exception):
                        handed.future.cancel(force=True)
                self._reconciler.settle(run_id)

    def _search(self, waiting: list[Run], slots: int) -> None:
        """Take up searches that wait, and move all on; one that meets trouble that may pass is taken up anew.

        One that has ended is let go at once: it may be resumed before the next round.
        """
        from crowdcore.runs.coordinator import Coordinator

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
                    free[at][kind] -= 1  # a run of another workspace, or from before we lost touch
        for run in waiting:
            concludes = self._workspace.cancel_requested(run.id)  # it makes its checkpoint a result, which is soon done
            resource = CONCLUDING if concludes else SLOT
            able = [at for at in free if free[at][resource] >= 1]
            if run.spec.device.startswith("cuda"):
                offering = [at for at in workers if run.spec.device in workers[at]["resources"]]
                able = [at for at in able if at in offering] if offering else able  # else it fails, and says why
            if able:
                at = max(able, key=lambda a: free[a][resource])
                free[at][resource] -= 1
                self._give(run, at, resource)

    def _give(self, run: Run, worker: str, resource: str) -> None:
        import distributed

        from crowdcore.runs.supervise import supervise

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
        """Write what `engine_state` says, and whether it is wanted."""
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
        with contextlib.suppress(OSError):  # of a full disk, `engine_state` knows by itself
            write_json(self._files.note, _me() | asdict(state))
            if self._reconciler.unfinished and not self.answered:
                self._files.ask()
            elif not self._reconciler.unfinished and self._files.asked() == self.answered:
                self._files.wanted.unlink(missing_ok=True)
                self.answered = 0

    def _wait(self, seconds: float) -> None:
        """Until somebody asks, a run ends, or time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._is_over():
            if self._files.asked() != self.answered or self._wake.wait(_TICK):
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
        if not self._stop.is_set() and self._is_over():  # what lies there now belongs to others
            _log.info("the workspace was deleted or moved: the engine has ended with all that it started")
            return
        with contextlib.suppress(Exception):
            self._reconciler.waiting(set())  # what ran is queued again
        with contextlib.suppress(OSError):
            self._files.note.unlink(missing_ok=True)


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def main() -> None:
    """Hold the workspace's engine until it idles out or is told to stop; do nothing where another one does."""
    os.umask(0o077)  # what runs write, and their processes, is their owner's alone
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    workspace = Workspace.open()
    files, stop = EngineFiles(workspace.folder), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    answered = -1
    while not stop.is_set() and answered != files.asked():  # asked for something while it was ending
        try:
            with locked(files.lock, wait=0) as lock:
                while disk_problem(workspace.folder) and not stop.wait(_LOOK):
                    pass
                engine = Engine(workspace, lock, stop)
                engine.run()
                answered = engine.answered if files.lock.exists() else files.asked()  # without a folder, nobody asks
        except (BlockingIOError, FileNotFoundError):  # there is another one, or no workspace any more
            return


if __name__ == "__main__":
    main()
