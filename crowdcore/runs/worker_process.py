"""Workers: Dask's own, with the slots of one device, whose runs are processes that end with them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Nanny, Security, SpecCluster, Status, Worker

from crowdcore.core.errors import CrowdError
from crowdcore.core.json_files import read_json
from crowdcore.core.parallel import cores
from crowdcore.runs import forkserver, supervise
from crowdcore.runs.cluster import CONCLUDING, SLOT, cluster_security, make_key, tls
from crowdcore.runs.files import EngineFiles
from crowdcore.runs.scheduler import QuietScheduler
from crowdcore.runs.workspace import Workspace

_N_CONCLUDING = 8  # at once on a worker
_STOPPED, _LOST = "The engine was stopped.", "Its worker lost the scheduler."
_TICK, _PATIENCE = 0.2, 4.0  # seconds between looks, and that training processes have to be gone


def devices() -> tuple[str, ...]:
    """One per GPU that may be used, else the CPU; asked of the driver, which costs no memory on the device."""
    count = ctypes.c_int(0)
    with contextlib.suppress(OSError, AttributeError):
        cuda = ctypes.CDLL("libcuda.so.1")
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
            count.value = 0
    return tuple(f"cuda:{k}" for k in range(count.value)) or ("cpu",)


class RunWorker(Worker):
    """Dask's worker without its web server; before it closes, it ends its training processes.

    Args:
        device: "cpu" or "cuda:N", which it gives to its runs.
        slots: runs at once.
        options: of Dask's worker.
    """

    def __init__(self, *arguments: Any, device: str, slots: int, **options: Any) -> None:
        os.environ[supervise.DEVICE] = device
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve others
        if slots > 1:
            os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // slots)))
        options["name"] = f"{socket.gethostname()}, {device}, {os.getpid()}"  # unique in a cluster
        super().__init__(*arguments, **options)
        forkserver.preload(Path(options["local_directory"]).with_name("forkserver.log"))

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Runs are seen on the dashboard and in MLflow."""

    async def close(self, *, reason: str = "worker-close", **options: Any) -> Any:  # type: ignore[override]
        """End the training processes first, and say why in their notes."""
        if self.status == Status.running:
            supervise.stop_all(_LOST if "connection" in reason else _STOPPED)
            for _ in range(int(_PATIENCE / _TICK)):
                await asyncio.sleep(_TICK)
                if supervise.idle():
                    break
        return await super().close(reason=reason, **options)


def _worker_options(workspace: Workspace, slots: int, device: str) -> dict[str, Any]:
    """What `RunWorker` takes: ``slots`` runs at once on one device of this machine."""
    on_gpu = {"cuda": slots, device: slots} if device.startswith("cuda") else {}
    return {
        "device": device,
        "slots": slots,
        "nthreads": slots + _N_CONCLUDING,
        "resources": {SLOT: slots, CONCLUDING: _N_CONCLUDING, **on_gpu},
        "memory_limit": 0,  # runs are processes of their own
        "local_directory": str(EngineFiles(workspace.folder).scratch),
        "death_timeout": 60,
        "dashboard": False,
    }


def local_cluster(workspace: Workspace, slots: int) -> SpecCluster:
    """A scheduler in this process, and one worker process per device, which Dask's nanny starts again when it dies."""
    files = EngineFiles(workspace.folder)
    make_key(files.key)
    security = tls(files.key)
    shared = {"host": "127.0.0.1", "protocol": "tls", "security": security}
    scheduler = {"port": 0, "dashboard": False, **shared}
    return SpecCluster(
        scheduler={"cls": QuietScheduler, "options": scheduler},
        workers={
            device: {
                "cls": Nanny,
                "options": {"worker_class": RunWorker, **_worker_options(workspace, slots, device), **shared},
            }
            for device in devices()
        },
        security=security,
        silence_logs=False,
    )


def run_worker(
    address: str | None, workspace: Workspace, slots: int, device: str, say: Callable[[str], None] = print
) -> None:
    """Work off runs in this process until told to stop or the scheduler is gone.

    Args:
        address: the scheduler's; None: the engine of the workspace.
        workspace: a folder that this machine shares with the engine.
        slots: runs at once.
        device: "cpu" or "cuda:N".
        say: told when it is connected, and why it ends.

    Raises:
        SettingError: the scheduler has no TLS, which has not been allowed.
        CrowdError: there is no scheduler, or no key of its cluster.
    """
    files = EngineFiles(workspace.folder)
    security = cluster_security(workspace, address) if address else tls(files.key)
    address = address or str(read_json(files.note).get("address") or "")
    if not address:
        raise CrowdError(f"The engine of {workspace.folder} has ended: ask again.")
    asyncio.run(_work(address, security, workspace, slots, device, say))


async def _work(
    address: str,
    security: Security | None,
    workspace: Workspace,
    slots: int,
    device: str,
    say: Callable[[str], None],
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    worker = RunWorker(
        address,
        host="127.0.0.1" if urlsplit(address).hostname in {"127.0.0.1", "localhost"} else None,
        security=security,
        **_worker_options(workspace, slots, device),
    )
    try:
        await worker
    except (TimeoutError, OSError) as error:
        raise CrowdError(f"There is no scheduler at {address}: {error}") from error
    say(f"Connected to {worker.scheduler.address}: {slots} run{'s' if slots > 1 else ''} at once on {device}.")
    while worker.status == Status.running and not stop.is_set():
        await asyncio.sleep(_TICK)
    say(_STOPPED if stop.is_set() else _LOST)
    await worker.close(timeout=2, executor_wait=False, reason="crowdcore-stop")
