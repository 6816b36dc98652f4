"""`crowdcore app | compute-worker | scheduler | workspace`: servers for people and runs, and their folder."""

from __future__ import annotations

import dataclasses
import errno
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import crowdcore
from crowdcore.cli._command import DatasetName, Device, Json
from crowdcore.cli._output import print_json, say
from crowdcore.core.errors import CrowdError, SettingError, missing_extra
from crowdcore.core.listening import LET_ANYONE_IN, is_this_machine, would_let_anyone_in
from crowdcore.data.tour import DEMO, TOUR

if TYPE_CHECKING:
    from crowdcore.runs.workspace import Workspace

workspace_app = typer.Typer(
    help="The folder of runs and uploads (CROWDCORE_WORKSPACE, else ./workspace).", no_args_is_help=True
)
_PACKAGE = Path(crowdcore.__file__).parent
_PATIENCE = 60.0  # seconds
_ADDRESS = "Address to listen on."
Port = Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)]


def app(
    dataset: DatasetName = DEMO,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on.", min=0, max=65535, show_default="8501, or the next that is free"),
    ] = None,
    address: Annotated[str, typer.Option(help=_ADDRESS)] = "localhost",
    let_anyone_in: Annotated[
        bool, typer.Option("--let-anyone-in", envvar=LET_ANYONE_IN, help="Serve other machines without sign-in.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
) -> None:
    """Open the dashboard in a browser; other machines are served only if people sign in (docs/sharing.md)."""
    if let_anyone_in:
        os.environ[LET_ANYONE_IN] = "yes"
    elif not is_this_machine(address) and not _may_have_sign_in():
        raise CrowdError(would_let_anyone_in(address))
    port = _free_port(address, 8501) if port is None else port
    if dataset == DEMO and is_this_machine(address):
        print(_welcome(f"http://{address}:{port}"), flush=True)
    places = (_PACKAGE / "_app" / "dashboard", _PACKAGE.parent / "dashboard")  # of a wheel, and of a checkout
    script = next(folder / "app.py" for folder in places if folder.is_dir())
    options = [f"--server.port={port}", f"--server.address={address}", *["--server.headless=true"] * no_browser]
    # -P keeps the modules of the user's folder out. Streamlit takes over this process, so signals reach it.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "streamlit", "run", str(script), *options, "--", dataset])


def _free_port(address: str, port: int) -> int:
    """Return the first port from ``port`` on at which nothing listens."""
    try:
        socket.create_server((address, port)).close()
    except OSError as fault:
        return _free_port(address, port + 1) if fault.errno == errno.EADDRINUSE else port
    return port


def _may_have_sign_in() -> bool:
    """Return whether Streamlit is set in any way; then the server itself checks, and refuses if it lets anyone in."""
    folders = (Path.cwd() / ".streamlit", Path.home() / ".streamlit")
    files = (folder / name for folder in folders for name in ("secrets.toml", "config.toml"))
    return "STREAMLIT_SECRETS_FILES" in os.environ or any(map(os.path.lexists, files))


def _welcome(address: str) -> str:
    """List what to explore first, with addresses."""
    tabs = [f"&view={step.tab}" if step.tab else "" for step in TOUR]
    lines = [
        f"  {step.question:<44}{address}/{step.path}?dataset={DEMO}{tab}" for step, tab in zip(TOUR, tabs, strict=True)
    ]
    return "\n".join(["The demo: handwritten digits, labelled by 40 simulated workers. What to explore next:", *lines])


def worker(
    slots: Annotated[int, typer.Option(help="Runs at once.", min=1)] = 1,
    device: Device = "auto",
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
    from crowdcore.runs.engine import UNGUARDED
    from crowdcore.runs.worker_process import devices, run_worker
    from crowdcore.runs.workspace import Workspace

    chosen = {"auto": devices()[0], "cuda": "cuda:0"}.get(device, device)
    if chosen not in {"cpu", *devices()}:
        raise SettingError("--device", f"be auto, cpu or one of {', '.join(devices())}", device)
    workspace = Workspace.open()
    if unguarded:
        os.environ[UNGUARDED] = "1"
    if scheduler is None:
        _wait_for_engine(workspace)
    run_worker(scheduler, workspace, slots, chosen, say=lambda text: say(text, err=True))


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
        str | None, typer.Option("--address", "--host", help=_ADDRESS, show_default="this machine's on its network")
    ] = None,
    port: Port = 8786,
) -> None:
    """Let several machines train for one workspace, which is a folder that they share.

    Connecting takes the cluster's key: CROWDCORE_CLUSTER_KEY, or a file that is made in the workspace.
    """
    if missing := missing_extra("Training in the background", "distributed"):
        raise missing
    from crowdcore.runs.worker_process import run_scheduler
    from crowdcore.runs.workspace import Workspace

    run_scheduler(Workspace.open(), host, port, say=lambda text: say(text, err=True))


@workspace_app.command()
def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild the record from the results; nothing is deleted.")
    ] = False,
    json: Json = False,
) -> None:
    """List where record and files of the workspace disagree; exit code 1 if something is left to repair."""
    from crowdcore.runs import check_workspace

    findings = check_workspace(repair=repair)
    if json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        say("\n".join(f"{one.what} {one.done}".strip() for one in findings) or "Record and files fit together.")
        if findings and not repair:
            say("`crowdcore workspace check --repair` puts this right.")
    if not all(finding.done for finding in findings):
        raise typer.Exit(1)


@workspace_app.command()
def backup(file: Annotated[Path, typer.Argument(help="The ZIP file to write.")], json: Json = False) -> None:
    """Write record, results, checkpoints and uploads to one file; runs may continue meanwhile."""
    from crowdcore.runs import backup_workspace

    n = backup_workspace(file)
    print_json({"file": file.resolve(), "files": n}) if json else say(f"{n} files are kept in {file}.")


@workspace_app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `crowdcore workspace backup` wrote.")],
    folder: Annotated[
        Path | None, typer.Argument(help="Where, empty or not there; default: CROWDCORE_WORKSPACE, else ./workspace.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a workspace out of a backup; nothing is overwritten."""
    from crowdcore.runs import restore_workspace

    place = restore_workspace(file, folder).folder
    print_json({"folder": place}) if json else say(f"The workspace is {place}: set CROWDCORE_WORKSPACE to use it.")
