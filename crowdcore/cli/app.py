"""`crowdcore app`: start the dashboard."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Annotated

import typer

from crowdcore.core.errors import CrowdError


def app(
    dataset: Annotated[str, typer.Argument(help="Dataset to open first.")] = "demo",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to listen on; only this machine unless told otherwise.")
    ] = "localhost",
) -> None:
    """Open the dashboard in a browser."""
    spec = importlib.util.find_spec("dashboard.app")
    if spec is None or spec.origin is None:
        raise CrowdError("The dashboard is not installed beside crowdcore. Install the whole package again.")
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        spec.origin,
        f"--server.port={port}",
        f"--server.address={address}",
    ]
    raise typer.Exit(subprocess.call([*command, "--", dataset]))
