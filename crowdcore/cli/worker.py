"""`crowdcore worker`: work off runs on this machine."""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from crowdcore.core.errors import CrowdError, SettingError, need_extra

if TYPE_CHECKING:
    from crowdcore.runs.workspace import Workspace

_PATIENCE = 60.0  # seconds


def worker(
    slots: Annotated[int, typer.Option(help="Runs at once.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="auto (the first GPU, else the CPU), cpu or cuda:N.")] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            envvar="CROWDCORE_SCHEDULER",
            help="Scheduler of a Dask cluster; default: the engine of this workspace, which is started if need be.",
        ),
    ] = None,
) -> None:
    """Take runs from a scheduler until stopped; the workspace must be a folder that both machines share.

    The app starts workers by itself: this adds one, on another machine or with other slots.
    """
    if importlib.util.find_spec("distributed") is None:
        raise need_extra("Training in the background", "distributed")
    from crowdcore.runs.worker_process import devices, run_worker
    from crowdcore.runs.workspace import Workspace

    chosen = devices()[0] if device == "auto" else device
    if chosen not in {"cpu", *devices()}:
        raise SettingError("--device", f"be auto, cpu or one of {', '.join(devices())}", device)
    workspace = Workspace.open()
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
