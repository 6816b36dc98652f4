"""What can be done with a run: stop it, go on with it, take it along, delete it."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, ParamSpec

from crowdcore import runs
from crowdcore.core.printed import printed
from crowdcore.data.unpack import pack_zip
from dashboard.services.runs import forget, live_runs

P = ParamSpec("P")


def act(action: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> None:
    """Do something to runs; pages look at the record anew after it."""
    action(*arguments, **named)
    forget()


def is_stopping(run_id: str) -> bool:
    """Whether a run was asked to stop."""
    return runs.Workspace.open().cancel_requested(run_id)


def put(run_id: str, *, first: bool) -> None:
    """Let a queued run go before all others, or after them."""
    waiting = [found.spec.priority for found in live_runs() if found.state == "queued"]
    runs.set_priority(run_id, max(waiting, default=0) + 1 if first else min(waiting, default=0) - 1)


def model_kinds() -> dict[Literal["torch", "onnx"], str]:
    """How a trained network can leave, and in words."""
    onnx = all(importlib.util.find_spec(package) for package in ("onnx", "onnxscript"))
    return {"torch": "PyTorch", **({"onnx": "ONNX"} if onnx else {})}


def model_archive(run_id: str, kind: Literal["torch", "onnx"]) -> bytes:
    """The trained networks as a ZIP, with what is needed to use them; written by a process of its own.

    Raises:
        CrowdError: there is nothing to take along.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **runs.Workspace.open().environment}
        printed("crowdcore", "runs", "export", run_id, folder, "--kind", kind, environment=environment)
        return pack_zip(Path(folder))
