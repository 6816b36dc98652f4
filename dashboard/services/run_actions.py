"""What can be done with a run: stop it, go on with it, take it along, delete it."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from crowdcore.core.errors import CrowdError
from dashboard.services.runs import forget, live_runs
from dashboard.services.tables import csv

if TYPE_CHECKING:
    from crowdcore.runs import Run

__all__ = [
    "cancel",
    "change_tags",
    "command_line",
    "delete",
    "is_stopping",
    "model_archive",
    "model_kinds",
    "predictions_csv",
    "put_first",
    "put_last",
    "rename",
    "resume",
    "set_note",
    "stop_now",
]


def cancel(run_id: str) -> None:
    """Ask a run to stop after its epoch; what it has learnt by then is kept."""
    from crowdcore import runs

    runs.cancel(run_id)
    forget()


def stop_now(run_id: str) -> None:
    """Stop a run within its epoch; what it had learnt at its last checkpoint is kept."""
    from crowdcore import runs

    runs.cancel(run_id, now=True)
    forget()


def is_stopping(run_id: str) -> bool:
    """Whether a run was asked to stop."""
    from crowdcore import runs

    return runs.Workspace.open().cancel_requested(run_id)


def resume(run_id: str) -> None:
    """Go on with a failed or cancelled run from its last checkpoint."""
    from crowdcore import runs

    runs.resume(run_id)
    forget()


def delete(run_ids: Sequence[str]) -> None:
    """Delete runs with everything they wrote.

    Raises:
        DataError: one of them is queued or running.
    """
    from crowdcore import runs

    runs.delete(run_ids)
    forget()


def rename(run_id: str, name: str) -> None:
    """Call a run something; an empty name gives back the one it came with."""
    from crowdcore import runs

    runs.rename(run_id, name)
    forget()


def set_note(run_id: str, note: str) -> None:
    """Write something about a run."""
    from crowdcore import runs

    runs.set_note(run_id, note)
    forget()


def change_tags(run_ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
    """Put tags on runs and take others away."""
    from crowdcore import runs

    runs.change_tags(run_ids, add, remove)
    forget()


def put_first(run_id: str) -> None:
    """Let a queued run go before all others."""
    _set_priority(run_id, max(_priorities(), default=0) + 1)


def put_last(run_id: str) -> None:
    """Let all others go before a queued run."""
    _set_priority(run_id, min(_priorities(), default=0) - 1)


def _priorities() -> list[int]:
    return [found.spec.priority for found in live_runs() if found.state == "queued"]


def _set_priority(run_id: str, priority: int) -> None:
    from crowdcore import runs

    runs.set_priority(run_id, priority)
    forget()


def command_line(found: Run) -> str:
    """The command that trains the same."""
    from crowdcore import runs

    return runs.command_line(found.spec)


def predictions_csv(run_id: str) -> bytes:
    """Every task with its most probable class and the probabilities, mean over seeds."""
    from crowdcore import runs

    return csv(runs.predictions(run_id))


def model_kinds() -> dict[Literal["torch", "onnx"], str]:
    """How a trained network can leave, and in words."""
    onnx = all(importlib.util.find_spec(package) for package in ("onnx", "onnxscript"))
    return {"torch": "PyTorch", **({"onnx": "ONNX"} if onnx else {})}


def model_archive(run_id: str, kind: Literal["torch", "onnx"]) -> bytes:
    """The trained networks as a ZIP, with what is needed to use them; written by a process of its own.

    Raises:
        CrowdError: there is nothing to take along.
    """
    from crowdcore.runs import Workspace

    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "crowdcore", "runs", "export", run_id, folder, "--kind", kind]
        environment = {**os.environ, **Workspace.open().environment}
        told = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if told.returncode:
            raise CrowdError((told.stderr.strip().splitlines() or ["The model could not be written."])[-1])
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(folder).rglob("*")):
                archive.write(file, file.relative_to(folder))
    return out.getvalue()
