"""Training runs as every page sees them: their list, progress and results, and the actions on them."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec

import streamlit as st

from crowdcore import runs
from crowdcore.core.errors import SystemNotSupportedError, missing_extra, need_posix
from crowdcore.core.processes import run_module
from crowdcore.data.catalogue import upload_folder
from crowdcore.data.unpack import pack_zip
from crowdcore.exhibits.view import cached
from dashboard.services.opening import labelled, version

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from crowdcore.learning.api import Learnt
    from crowdcore.learning.results.result import TrainingResult
    from crowdcore.runs import Run

_FRESH = 1.0  # seconds for which what was read is good enough; what is older is shown once more while it is read anew


def training_fault() -> str:
    """Reason why nothing can be trained or opened here, with the remedy; empty if there is none."""
    try:
        need_posix("Training")
    except SystemNotSupportedError as fault:
        return str(fault)
    return str(missing_extra("Training", "torch", "mlflow", "distributed", "optuna") or "")


def spelled(name: str) -> str:
    """Dataset as a run names it: its name, or the folder of an uploaded one."""
    return str(upload_folder(name) or name)


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False, max_entries=32)
def _list_runs(which: str | None) -> tuple[Run, ...]:
    return tuple(runs.list_runs(dataset=which))


def runs_of(name: str) -> list[Run]:
    """All runs of a dataset, finished and live, newest first, without the trials of searches; about a second old."""
    return [] if training_fault() else own(_list_runs(spelled(name)), name)


def own(listed: Iterable[Run], name: str) -> list[Run]:
    """Runs of a dataset, without the trials of searches."""
    which = spelled(name)
    return [run for run in listed if run.spec.dataset == which and not run.spec.parent]


def all_runs() -> list[Run]:
    """All runs of the workspace, on any dataset, with the trials of searches; newest first, about a second old."""
    return [] if training_fault() else list(_list_runs(None))


def trials(name: str, search: str) -> list[Run]:
    """The runs of a search, newest first."""
    return [run for run in _list_runs(spelled(name)) if run.spec.parent == search]


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False)
def live_runs() -> tuple[Run, ...]:
    """Running and queued runs of this workspace, on any dataset; about a second old."""
    return tuple(runs.list_runs(states=("queued", "running")))


def forget() -> None:
    """Drop what was read of the record, after a change."""
    _list_runs.clear()
    live_runs.clear()


def readable(run: Run, name: str) -> bool:
    """Return whether a run has a result on the dataset as it is now; a cancelled one may have one, too."""
    return run.has_ended and run.has_result and run.spec.fingerprint in {"", labelled(name).fingerprint}


def result(run_id: str) -> TrainingResult:
    """Result of a finished run on classes or tags; shared and never copied, so it must not be changed.

    Raises:
        DataError: it has no result (yet), or learnt from ratings.
    """
    from crowdcore.learning.results.result import TrainingResult

    trained = learnt(run_id)
    return trained if isinstance(trained, TrainingResult) else runs.result(run_id)  # which refuses, and says why


def learnt(run_id: str) -> Learnt:
    """Result of a finished run on labels of any kind.

    Raises:
        DataError: it has no result (yet).
    """
    return _learnt(run_id, version(run_id))


@cached
def _learnt(run_id: str, version: int) -> Learnt:
    return runs.learnt(run_id)


def curves(run_id: str, ended: datetime | None = None, metric: str = "") -> pd.DataFrame:
    """Metrics after every epoch, about a second old.

    Args:
        ended: when it ended, if it has: then nothing more will come.
        metric: the only one to read; empty for all.

    Returns:
        epoch, metric, mean and std over seeds.
    """
    return _growing(run_id, metric) if ended is None else _grown(run_id, metric, ended)


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False, max_entries=64)
def _growing(run_id: str, metric: str) -> pd.DataFrame:
    return runs.curves(run_id, [metric] if metric else None)


@st.cache_resource(show_spinner=False, max_entries=64)
def _grown(run_id: str, metric: str, ended: datetime) -> pd.DataFrame:
    return runs.curves(run_id, [metric] if metric else None)


P = ParamSpec("P")


def act(action: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> None:
    """Call an action on runs, and have pages read the record anew."""
    action(*arguments, **named)
    forget()


def is_stopping(run_id: str) -> bool:
    """Return whether a run was asked to stop."""
    return runs.Workspace.open().cancel_requested(run_id)


def put(run_id: str, *, first: bool) -> None:
    """Move a queued run before all others, or after them."""
    waiting = [run.spec.priority for run in live_runs() if run.state == "queued"]
    runs.set_priority(run_id, max(waiting, default=0) + 1 if first else min(waiting, default=0) - 1)


def model_kinds() -> dict[Literal["torch", "onnx"], str]:
    """Formats in which trained networks can be downloaded -> words."""
    onnx = all(importlib.util.find_spec(package) for package in ("onnx", "onnxscript"))
    return {"torch": "PyTorch", **({"onnx": "ONNX"} if onnx else {})}


def model_archive(run_id: str, kind: Literal["torch", "onnx"]) -> bytes:
    """The trained networks as a ZIP, with what is needed to use them; written by a process of its own.

    Raises:
        CrowdError: there is nothing to take along.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = runs.Workspace.open().environment
        run_module("crowdcore", "runs", "export", run_id, folder, "--kind", kind, environment=environment)
        return pack_zip(Path(folder))
