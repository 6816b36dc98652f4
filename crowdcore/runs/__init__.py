"""Runs: training in the background, and the record of what was trained.

MLflow keeps the record, in the workspace's own database or on a server; every run is a process of its own.
MLflow, Dask and Optuna are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdcore.runs.artefacts import export_model, log_lines, predictions, result
    from crowdcore.runs.commands import command_line
    from crowdcore.runs.engine import EngineState, WorkerState, engine_state, ensure_engine, stop_engine
    from crowdcore.runs.estimation import Estimate, estimate
    from crowdcore.runs.listing import (
        best_runs,
        dataset_names,
        differing,
        matching,
        run_table,
        settings_table,
        short_names,
    )
    from crowdcore.runs.marks import change_tags, rename, set_note
    from crowdcore.runs.queue import cancel, resume, run_again, set_priority, submit
    from crowdcore.runs.references import reference
    from crowdcore.runs.run import ENDED, STATES, Run, State
    from crowdcore.runs.run_config import RunSpec
    from crowdcore.runs.searching import search, search_importances, search_trials
    from crowdcore.runs.space import Choice, Range, SearchPlan
    from crowdcore.runs.store import curves, delete, get_run, list_runs
    from crowdcore.runs.workspace import Workspace

_HOMES = {
    "artefacts": ("export_model", "log_lines", "predictions", "result"),
    "commands": ("command_line",),
    "engine": ("EngineState", "WorkerState", "engine_state", "ensure_engine", "stop_engine"),
    "estimation": ("Estimate", "estimate"),
    "listing": (
        "best_runs",
        "dataset_names",
        "differing",
        "matching",
        "run_table",
        "settings_table",
        "short_names",
    ),
    "marks": ("change_tags", "rename", "set_note"),
    "queue": ("cancel", "resume", "run_again", "set_priority", "submit"),
    "references": ("reference",),
    "run": ("ENDED", "STATES", "Run", "State"),
    "run_config": ("RunSpec",),
    "searching": ("search", "search_importances", "search_trials"),
    "space": ("Choice", "Range", "SearchPlan"),
    "store": ("curves", "delete", "get_run", "list_runs"),
    "workspace": ("Workspace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ENDED",
    "STATES",
    "Choice",
    "EngineState",
    "Estimate",
    "Range",
    "Run",
    "RunSpec",
    "SearchPlan",
    "State",
    "WorkerState",
    "Workspace",
    "best_runs",
    "cancel",
    "change_tags",
    "command_line",
    "curves",
    "dataset_names",
    "delete",
    "differing",
    "engine_state",
    "ensure_engine",
    "estimate",
    "export_model",
    "get_run",
    "list_runs",
    "log_lines",
    "matching",
    "predictions",
    "reference",
    "rename",
    "result",
    "resume",
    "run_again",
    "run_table",
    "search",
    "search_importances",
    "search_trials",
    "set_note",
    "set_priority",
    "settings_table",
    "short_names",
    "stop_engine",
    "submit",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"crowdcore.runs.{_HOME[name]}"), name)
    raise AttributeError(f"module 'crowdcore.runs' has no attribute {name!r}")
