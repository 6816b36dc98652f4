"""The engine's processes: ``python -m crowdcore.runs.nodes scheduler``; workers are also `crowdcore worker`.

They end when the process that started them is gone, when their scheduler is, or when told to; nothing stays behind.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError, need_extra
from crowdcore.core.parallel import cores
from crowdcore.runs import forkserver, supervise
from crowdcore.runs.files import EngineFiles
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from distributed import Scheduler, Worker

__all__ = ["COORDINATORS", "SLOT", "run_worker", "worker_name"]

SLOT, COORDINATORS = "slot", "coordinator"
"""Dask resources: training runs at once, and searches, which only wait."""
_QUIET = {  # runs are processes of their own: there is nothing here to measure or profile
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "30s",
    "distributed.worker.profile.enabled": False,
}
_SEARCHES = 8  # at once on a worker
_TICK = 0.2  # seconds
_PATIENCE = 5.0  # seconds that children have to be gone


def run_worker(
    address: str | None,
    workspace: Workspace,
    slots: int,
    device: str,
    orphaned: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Work off runs in this process until told to stop or the scheduler is gone.

    Args:
        address: the scheduler's; None: the engine of the workspace.
        workspace: a folder that this machine shares with the engine.
        slots: runs at once.
        device: "cpu" or "cuda:N".
        orphaned: whether the starter is gone.
        say: told when it is connected, and why it ends.
    """
    os.environ[supervise.DEVICE] = device
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve a shared machine
    if slots > 1:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // slots)))
    asyncio.run(_work(address, workspace, slots, device, orphaned, say))


async def _work(
    address: str | None,
    workspace: Workspace,
    slots: int,
    device: str,
    orphaned: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    from distributed import Status

    files = EngineFiles(workspace.folder)
    where: dict[str, Any] = {"scheduler_ip": address} if address else {"scheduler_file": str(files.scheduler)}
    stop = _on_signals()
    worker = _quiet_worker()(
        **where,
        host="127.0.0.1" if address is None or _is_here(address) else None,
        nthreads=slots + _SEARCHES,
        name=worker_name(device),
        resources=_resources(slots, device),
        security=None if address else files.security(),
        memory_limit=0,  # runs are processes of their own
        local_directory=str(files.scratch),
        death_timeout=60,
        dashboard=False,
    )
    forkserver.preload()
    try:
        await worker
    except (TimeoutError, OSError) as error:
        raise CrowdError(f"There is no scheduler at {address or files.scheduler}: {error}") from error
    say(f"Connected to {worker.scheduler.address}: {slots} run{'s' if slots > 1 else ''} at once on {device}.")
    while worker.status == Status.running and not stop.is_set() and not orphaned():
        await asyncio.sleep(_TICK)
    reason = "The engine was stopped." if stop.is_set() or orphaned() else "Its worker lost the scheduler."
    say(reason)
    supervise.stop_all(reason)
    for _ in range(int(_PATIENCE / _TICK)):
        if supervise.idle():
            break
        await asyncio.sleep(_TICK)
    await asyncio.sleep(_TICK)  # let results go out
    await worker.close(timeout=2, executor_wait=False, reason="crowdcore-stop")


async def _schedule(workspace: Workspace, orphaned: Callable[[], bool]) -> None:
    files = EngineFiles(workspace.folder)
    stop = _on_signals()
    async with _quiet_scheduler()(
        host="127.0.0.1",
        port=0,
        protocol="tls",
        security=files.security(),
        scheduler_file=str(files.scheduler),
        dashboard=False,
    ):
        while not stop.is_set() and not orphaned():
            await asyncio.sleep(_TICK)


def _resources(slots: int, device: str) -> dict[str, float]:
    on_gpu = {"cuda": slots, device: slots} if device.startswith("cuda") else {}
    return {SLOT: slots, COORDINATORS: _SEARCHES, **on_gpu}


def _is_here(address: str) -> bool:
    return address.partition("://")[2].rpartition(":")[0] in {"127.0.0.1", "localhost"}


def worker_name(device: str) -> str:
    """Unique in a cluster, and readable."""
    import socket

    return f"{socket.gethostname()}, {device}, {os.getpid()}"


def _on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _quiet_worker() -> type[Worker]:
    """Dask's worker without its web server."""
    try:
        from distributed import Worker
    except ModuleNotFoundError as error:
        raise need_extra("distributed", "runs", "Running in the background") from error

    class QuietWorker(Worker):
        def start_http_server(self, *arguments: object, **options: object) -> None:
            pass

    return QuietWorker


def _quiet_scheduler() -> type[Scheduler]:
    """Dask's scheduler without its web server."""
    from distributed import Scheduler

    class QuietScheduler(Scheduler):
        def start_http_server(self, *arguments: object, **options: object) -> None:
            pass

    return QuietScheduler


def main(role: str, device: str = "cpu", slots: str = "1") -> None:
    """Entry point of the processes that the engine starts; ends with its starter."""
    import dask

    starter = os.getppid()

    def orphaned() -> bool:
        return os.getppid() != starter

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    workspace = Workspace.open()
    dask.config.set({"temporary-directory": str(EngineFiles(workspace.folder).scratch), **_QUIET})
    if role == "scheduler":
        asyncio.run(_schedule(workspace, orphaned))
    else:
        run_worker(None, workspace, int(slots), device, orphaned, print)


if __name__ == "__main__":
    main(*sys.argv[1:])
