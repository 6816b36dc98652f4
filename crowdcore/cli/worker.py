"""`crowdcore worker` and `crowdcore scheduler`: work off runs on this machine, or on several."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from crowdcore.core.errors import CrowdError, SettingError, missing_extra

if TYPE_CHECKING:
    from crowdcore.runs.workspace import Workspace

_PATIENCE = 60.0  # seconds


def worker(
    slots: Annotated[int, typer.Option(help="Runs at once.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="auto (the first GPU, else the CPU), cpu or cuda:N.")] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tls://HOST:PORT",
            envvar="CROWDCORE_SCHEDULER",
            help="Scheduler of a cluster; default: the engine of this workspace, which is started if need be.",
        ),
    ] = None,
    unguarded: Annotated[
        bool,
        typer.Option(
            "--anyone-may-run-code",
            envvar="CROWDCORE_ANYONE_MAY_RUN_CODE",
            help="Join a scheduler without TLS: whoever reaches it can run code on this machine.",
        ),
    ] = False,
) -> None:
    """Take runs from a scheduler until stopped; the workspace must be a folder that both machines share.

    The app starts workers by itself: this adds one, on another machine or with other slots.
    """
    if missing := missing_extra("Training in the background", "distributed"):
        raise missing
    from crowdcore.runs.cluster import UNGUARDED
    from crowdcore.runs.worker_process import devices, run_worker
    from crowdcore.runs.workspace import Workspace

    chosen = devices()[0] if device == "auto" else device
    if chosen not in {"cpu", *devices()}:
        raise SettingError("--device", f"be auto, cpu or one of {', '.join(devices())}", device)
    workspace = Workspace.open()
    if unguarded:
        os.environ[UNGUARDED] = "1"
    if scheduler is None:
        _wait_for_engine(workspace)
    run_worker(scheduler, workspace, slots, chosen, say=lambda text: print(text, file=sys.stderr))


def _wait_for_engine(workspace: Workspace) -> None:
    from crowdcore.runs.engine import engine_state, ensure_engine

    ensure_engine(workspace=workspace)
    deadline = time.monotonic() + _PATIENCE
    while engine_state(workspace=workspace).address is None:
        if time.monotonic() > deadline:
            raise CrowdError(f"The engine of {workspace.folder} did not start: see its engine/engine.log.")
        time.sleep(0.1)


def scheduler(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; default: this machine's on its network.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8786,
) -> None:
    """Let several machines train for one workspace, which is a folder that they share.

    Only who holds the cluster's key can connect: CROWDCORE_CLUSTER_KEY, or a file that is made in the workspace.
    """
    if missing := missing_extra("Training in the background", "distributed"):
        raise missing
    from crowdcore.runs.scheduler import run_scheduler
    from crowdcore.runs.workspace import Workspace

    run_scheduler(Workspace.open(), host, port, say=lambda text: print(text, file=sys.stderr))
