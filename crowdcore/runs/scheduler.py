"""The scheduler of a cluster of several machines, and of an engine."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from distributed import Scheduler

from crowdcore.core.errors import DataError
from crowdcore.runs.cluster import JOIN, key_file, make_key, tls
from crowdcore.runs.workspace import Workspace

_ENDING = timedelta(days=30)  # a key that is valid for less is replaced


class QuietScheduler(Scheduler):
    """Dask's scheduler without its web server."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Runs are seen on the dashboard and in MLflow."""


def _expires(pem: Path) -> datetime:
    from cryptography import x509

    return x509.load_pem_x509_certificate(pem.read_bytes()).not_valid_after_utc


def run_scheduler(workspace: Workspace, host: str | None, port: int, say: Callable[[str], None] = print) -> None:
    """Keep a cluster's scheduler until told to stop; make the cluster's key where there is none.

    Args:
        workspace: holds the key.
        host: address to listen on; None: the one by which this machine is known on its network.
        port: to listen on; 0: any.
        say: told the address, and how the others connect.

    Raises:
        DataError: the port is taken, or the key cannot be read.
    """
    pem = key_file(workspace)
    try:
        if not pem.is_file() or _expires(pem) - datetime.now(UTC) < _ENDING:
            make_key(pem)
    except ValueError as error:
        raise DataError("This is not a key with a certificate", "Delete it: a new one is made.", file=pem) from error
    asyncio.run(_schedule(pem, host, port, say))


async def _schedule(pem: Path, host: str | None, port: int, say: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    logging.getLogger("distributed").setLevel(logging.WARNING)
    scheduler = QuietScheduler(host=host, port=port, protocol="tls", security=tls(pem), dashboard=False)
    try:
        await scheduler
    except OSError as error:
        raise DataError(f"The scheduler cannot listen at port {port} ({error})", "Choose another --port.") from error
    say(f"The scheduler listens at {scheduler.address}; its key is {pem}.")
    say(f"On each machine that trains: crowdcore worker --scheduler {scheduler.address}")
    say(f"Where the app runs: {JOIN}={scheduler.address} crowdcore app")
    await stop.wait()
    await scheduler.close()
