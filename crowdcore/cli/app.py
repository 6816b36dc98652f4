"""`crowdcore app`: start the dashboard."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import crowdcore
from crowdcore.core.listening import LET_ANYONE_IN, is_this_machine
from crowdcore.data.tour import DEMO, TOUR

_PACKAGE = Path(crowdcore.__file__).parent


def app(
    dataset: Annotated[str, typer.Argument(help="Dataset to open first.")] = DEMO,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to listen on; only this machine unless told otherwise.")
    ] = "localhost",
    let_anyone_in: Annotated[
        bool, typer.Option("--let-anyone-in", help="Serve other machines although nobody has to sign in.")
    ] = False,
) -> None:
    """Open the dashboard in a browser; other machines are served only if people sign in (docs/sharing.md)."""
    if let_anyone_in:
        os.environ[LET_ANYONE_IN] = "yes"
    if dataset == DEMO and is_this_machine(address):
        print(_welcome(f"http://{address}:{port}"), flush=True)
    places = (_PACKAGE / "_app" / "dashboard", _PACKAGE.parent / "dashboard")  # of a wheel, and of a checkout
    script = next(folder / "server.py" for folder in places if folder.is_dir())
    # -P keeps the modules of the user's folder out. Streamlit takes over this process, so signals reach it.
    os.execv(sys.executable, [sys.executable, "-P", str(script), dataset, str(port), address])


def _welcome(address: str) -> str:
    """What to explore first, and where."""
    lines = [f"  {step.question:<44}{address}/{step.path}?dataset={DEMO}" for step in TOUR]
    return "\n".join(["The demo: handwritten digits, labelled by 40 simulated workers. What to explore next:", *lines])
