"""`crowdcore app`: start the dashboard."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import crowdcore
from crowdcore.core.errors import CrowdError
from crowdcore.core.listening import LET_ANYONE_IN, is_this_machine, would_let_anyone_in
from crowdcore.data.tour import DEMO, TOUR, Step

_PACKAGE = Path(crowdcore.__file__).parent


def app(
    dataset: Annotated[str, typer.Argument(help="Dataset to open first.")] = DEMO,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8501,
    address: Annotated[str, typer.Option(help="Address to listen on; default: this machine only.")] = "localhost",
    let_anyone_in: Annotated[
        bool, typer.Option("--let-anyone-in", help="Serve other machines without sign-in.")
    ] = False,
) -> None:
    """Open the dashboard in a browser; other machines are served only if people sign in (docs/sharing.md)."""
    if let_anyone_in:
        os.environ[LET_ANYONE_IN] = "yes"
    elif not is_this_machine(address) and not _may_have_sign_in():
        raise CrowdError(would_let_anyone_in(address))
    if dataset == DEMO and is_this_machine(address):
        print(_welcome(f"http://{address}:{port}"), flush=True)
    places = (_PACKAGE / "_app" / "dashboard", _PACKAGE.parent / "dashboard")  # of a wheel, and of a checkout
    script = next(folder / "server.py" for folder in places if folder.is_dir())
    options = [f"--server.port={port}", f"--server.address={address}"]
    # -P keeps the modules of the user's folder out. Streamlit takes over this process, so signals reach it.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "streamlit", "run", str(script), *options, "--", dataset])


def _may_have_sign_in() -> bool:
    """Whether Streamlit is set in any way; then the server itself finds out, and refuses what lets anyone in."""
    folders = (Path.cwd() / ".streamlit", Path.home() / ".streamlit")
    files = (folder / name for folder in folders for name in ("secrets.toml", "config.toml"))
    return "STREAMLIT_SECRETS_FILES" in os.environ or any(map(os.path.lexists, files))


def _query(step: Step) -> str:
    return f"{step.path}?dataset={DEMO}" + (f"&view={step.tab}" if step.tab else "")


def _welcome(address: str) -> str:
    """What to explore first, and where."""
    lines = [f"  {step.question:<44}{address}/{_query(step)}" for step in TOUR]
    return "\n".join(["The demo: handwritten digits, labelled by 40 simulated workers. What to explore next:", *lines])
