"""Runs: training in the background, and the record of what was trained.

MLflow keeps the record, in the workspace's own database or on a server; every run is a process of its own.
MLflow, Dask and Optuna are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdcore.runs.artefacts import log_lines, predictions, result
    from crowdcore.runs.run import ENDED, STATES, Run, State
    from crowdcore.runs.spec import RunSpec
    from crowdcore.runs.store import curves, delete, get_run, list_runs, set_priority
    from crowdcore.runs.workspace import Workspace

_HOMES = {
    "artefacts": ("log_lines", "predictions", "result"),
    "run": ("ENDED", "STATES", "Run", "State"),
    "spec": ("RunSpec",),
    "store": ("curves", "delete", "get_run", "list_runs", "set_priority"),
    "workspace": ("Workspace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ENDED",
    "STATES",
    "Run",
    "RunSpec",
    "State",
    "Workspace",
    "curves",
    "delete",
    "get_run",
    "list_runs",
    "log_lines",
    "predictions",
    "result",
    "set_priority",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"crowdcore.runs.{_HOME[name]}"), name)
    raise AttributeError(f"module 'crowdcore.runs' has no attribute {name!r}")
