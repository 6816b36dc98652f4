"""`crowdcore app`: start the dashboard."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import crowdcore
from crowdcore.data.tour import DEMO, TOUR

_PACKAGE = Path(crowdcore.__file__).parent


def app(
    dataset: Annotated[str, typer.Argument(help="Dataset to open first.")] = DEMO,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to listen on; only this machine unless told otherwise.")
    ] = "localhost",
) -> None:
    """Open the dashboard in a browser."""
    if dataset == DEMO:
        print(_welcome(f"http://{address}:{port}"), flush=True)
    places = (_PACKAGE / "_app" / "dashboard", _PACKAGE.parent / "dashboard")  # of a wheel, and of a checkout
    script = next(folder / "app.py" for folder in places if folder.is_dir())
    options = [f"--server.port={port}", f"--server.address={address}"]
    # -P keeps the modules of the user's folder out. Streamlit takes over this process, so signals reach it.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "streamlit", "run", str(script), *options, "--", dataset])


def _welcome(address: str) -> str:
    """What to explore first, and where."""
    lines = [f"  {step.question:<44}{address}/{step.path}?dataset={DEMO}" for step in TOUR]
    return "\n".join(["The demo: handwritten digits, labelled by 40 simulated workers. What to explore next:", *lines])
