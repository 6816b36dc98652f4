"""Dask's workers, each with the slots of one device and with runs as processes that end with it; and its scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Nanny, Scheduler, SpecCluster, Status, Worker

from crowdcore.core.compiled import cores
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import read_json
from crowdcore.runs import supervise
from crowdcore.runs.engine import CONCLUDING, JOIN, SLOT, EngineFiles, cluster_security, key_file, make_key, tls
from crowdcore.runs.workspace import Workspace

_N_CONCLUDING = 8  # at once on a worker
_STOPPED, _LOST = "The engine was stopped.", "Its worker lost the scheduler."
_TICK, _PATIENCE = 0.2, 4.0  # seconds between checks, and for training processes to end
_ENDING = timedelta(days=30)  # a key that is valid for less is replaced


def devices() -> tuple[str, ...]:
    """Usable GPUs, else the CPU; asked of the driver, which takes no memory on the device."""
    count = ctypes.c_int(0)
    with contextlib.suppress(OSError, AttributeError):
        cuda = ctypes.CDLL("libcuda.so.1")
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
            count.value = 0
    return tuple(f"cuda:{k}" for k in range(count.value)) or ("cpu",)


class QuietScheduler(Scheduler):
    """Dask's scheduler without its web server."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start no server: the dashboard and MLflow show the runs."""


class RunWorker(Worker):
    """Dask's worker without its web server; before it closes, it ends its training processes.

    Args:
        device: device of its runs, "cpu" or "cuda:N".
        slots: runs at once.
        options: options of Dask's worker.
    """

    def __init__(self, *arguments: Any, device: str, slots: int, **options: Any) -> None:
        os.environ[supervise.DEVICE] = device
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve others
        if slots > 1:
            os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // slots)))
        options["name"] = f"{socket.gethostname()}, {device}, {os.getpid()}"  # unique in a cluster
        super().__init__(*arguments, **options)
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # detecting a GPU must not touch it
        supervise.server.log = Path(options["local_directory"]).with_name("forkserver.log")
        supervise.server.start()

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start no server: the dashboard and MLflow show the runs."""

    async def close(self, *, reason: str = "worker-close", **options: Any) -> Any:  # type: ignore[override]
        """End the training processes first, with the reason in their notes."""
        if self.status == Status.running:
            supervise.stop_all(_LOST if "connection" in reason else _STOPPED)
            for _ in range(int(_PATIENCE / _TICK)):
                await asyncio.sleep(_TICK)
                if supervise.is_idle():
                    break
            supervise.server.stop()
        return await super().close(reason=reason, **options)


def _worker_options(workspace: Workspace, slots: int, device: str) -> dict[str, Any]:
    """Options of a `RunWorker` for ``slots`` runs at once on one device of this machine."""
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
    """Start a scheduler in this process, and one worker process per device, which Dask's nanny restarts if it dies."""
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
    """Train runs on this machine until a signal comes or the scheduler (None: the engine of the workspace) is gone.

    ``slots`` runs train at once, on "cpu" or "cuda:N"; ``say`` receives a sentence when the worker is connected and
    when it ends.
    """
    files = EngineFiles(workspace.folder)
    security = cluster_security(workspace, address) if address else tls(files.key)
    address = address or str(read_json(files.note).get("address") or "")
    if not address:
        raise CrowdError(f"The engine of {workspace.folder} has ended: ask again.")
    options = _worker_options(workspace, slots, device)
    if urlsplit(address).hostname in {"127.0.0.1", "localhost"}:
        options["host"] = "127.0.0.1"
    asyncio.run(_work(address, {"security": security, **options}, say))


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _work(address: str, options: dict[str, Any], say: Callable[[str], None]) -> None:
    stop, worker = _stop_on_signals(), RunWorker(address, **options)
    try:
        await worker
    except (TimeoutError, OSError) as error:
        raise CrowdError(f"There is no scheduler at {address}: {error}") from error
    slots, device = options["slots"], options["device"]
    say(f"Connected to {worker.scheduler.address}: {slots} run{'s' if slots > 1 else ''} at once on {device}.")
    while worker.status == Status.running and not stop.is_set():
        await asyncio.sleep(_TICK)
    say(_STOPPED if stop.is_set() else _LOST)
    await worker.close(timeout=2, executor_wait=False, reason="crowdcore-stop")


def run_scheduler(workspace: Workspace, host: str | None, port: int, say: Callable[[str], None] = print) -> None:
    """Serve a cluster's scheduler until a signal comes; make the cluster's key if there is none.

    ``host`` None is this machine's address on its network, ``port`` 0 any port; ``say`` receives the address, and how
    other machines connect.
    """
    from cryptography import x509

    pem = key_file(workspace)
    try:
        until = pem.is_file() and x509.load_pem_x509_certificate(pem.read_bytes()).not_valid_after_utc
        if not until or until - datetime.now(UTC) < _ENDING:
            make_key(pem)
    except ValueError as error:
        raise DataError("This is not a key with a certificate", "Delete it: a new one is made.", file=pem) from error
    asyncio.run(_schedule(pem, host, port, say))


async def _schedule(pem: Path, host: str | None, port: int, say: Callable[[str], None]) -> None:
    stop = _stop_on_signals()
    logging.getLogger("distributed").setLevel(logging.WARNING)
    scheduler = QuietScheduler(host=host, port=port, protocol="tls", security=tls(pem), dashboard=False)
    try:
        await scheduler
    except OSError as error:
        raise DataError(f"The scheduler cannot listen at port {port} ({error})", "Choose another --port.") from error
    say(f"The scheduler listens at {scheduler.address}; its key is {pem}.")
    say(f"On each machine that trains: crowdcore compute-worker --scheduler {scheduler.address}")
    say(f"Where the app runs: {JOIN}={scheduler.address} crowdcore app")
    await stop.wait()
    await scheduler.close()
