"""Runs: training in the background, and the record of what was trained.

MLflow keeps the record, in the workspace's own database or on a server; every run is a process of its own.
MLflow, Dask and Optuna are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdcore.runs.artefacts import log_lines, predictions, result
    from crowdcore.runs.engine import EngineState, WorkerState, engine_state, ensure_engine, stop_engine
    from crowdcore.runs.queue import cancel, resume, run_again, set_priority, submit
    from crowdcore.runs.run import ENDED, STATES, Run, State
    from crowdcore.runs.search import search, search_importances, search_trials
    from crowdcore.runs.space import Choice, Range, SearchPlan
    from crowdcore.runs.spec import RunSpec
    from crowdcore.runs.store import curves, delete, get_run, list_runs
    from crowdcore.runs.workspace import Workspace

_HOMES = {
    "artefacts": ("log_lines", "predictions", "result"),
    "engine": ("EngineState", "WorkerState", "engine_state", "ensure_engine", "stop_engine"),
    "queue": ("cancel", "resume", "run_again", "set_priority", "submit"),
    "run": ("ENDED", "STATES", "Run", "State"),
    "search": ("search", "search_importances", "search_trials"),
    "space": ("Choice", "Range", "SearchPlan"),
    "spec": ("RunSpec",),
    "store": ("curves", "delete", "get_run", "list_runs"),
    "workspace": ("Workspace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ENDED",
    "STATES",
    "Choice",
    "EngineState",
    "Range",
    "Run",
    "RunSpec",
    "SearchPlan",
    "State",
    "WorkerState",
    "Workspace",
    "cancel",
    "curves",
    "delete",
    "engine_state",
    "ensure_engine",
    "get_run",
    "list_runs",
    "log_lines",
    "predictions",
    "result",
    "resume",
    "run_again",
    "search",
    "search_importances",
    "search_trials",
    "set_priority",
    "stop_engine",
    "submit",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"crowdcore.runs.{_HOME[name]}"), name)
    raise AttributeError(f"module 'crowdcore.runs' has no attribute {name!r}")
