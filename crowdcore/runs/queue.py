"""Submit, cancel, resume and repeat runs, and change their order."""

from __future__ import annotations

import os
from typing import Any

from crowdcore.core.errors import DataError
from crowdcore.runs import store
from crowdcore.runs.engine import JOIN, EngineFiles, check_scheduler, ensure_engine
from crowdcore.runs.faults import check_disk
from crowdcore.runs.locks import forget_note, leased
from crowdcore.runs.record import client_of
from crowdcore.runs.run import TAG, Run, RunSpec
from crowdcore.runs.workspace import Workspace


def submit(spec: RunSpec, *, workspace: Workspace | None = None) -> Run:
    """Queue a run; the engine, started where there is none, takes it as soon as it can.

    Raises:
        SettingError: the engine is to join a cluster without TLS.
    """
    workspace = workspace or Workspace.open()
    check_scheduler(os.environ.get(JOIN, ""))
    client_of(workspace)  # says what is wrong with it before anything is written
    with check_disk(workspace):
        EngineFiles(workspace.folder).want()  # whoever looks starts an engine, should we die on the way
        run = store.create(spec, workspace=workspace)
    ensure_engine(workspace=workspace)
    return run


def cancel(run_id: str, *, now: bool = False, workspace: Workspace | None = None) -> None:
    """End a run; what it has learnt by then becomes its result.

    Its process ends by itself after its current epoch, however long that takes. A run that waits to go on from a
    checkpoint has the engine make that its result. A run that has ended stays as it is; a search ends with its trials.

    Args:
        now: do not wait for the end of the epoch: what was learnt since the last checkpoint is lost.
    """
    workspace = workspace or Workspace.open()
    run = store.get_run(run_id, workspace=workspace)
    if run.has_ended:
        return
    with check_disk(workspace):
        workspace.request_cancel(run_id, now=now)
    try:
        with leased(workspace.run_folder(run_id), wait=0.2):  # nobody has begun, and nobody will
            run = store.get_run(run_id, workspace=workspace)
            begun = run.spec.search and run.state == "running"  # which the engine ends
            if not run.has_ended and not begun and not workspace.has_checkpoint(run_id):
                store.set_state(run_id, "cancelled", "Cancelled before it started.", workspace=workspace)
    except BlockingIOError:  # its supervisor sees the flag
        pass
    if run.spec.search:
        for trial in store.list_runs(states=["queued", "running"], parent=run_id, workspace=workspace):
            cancel(trial.id, now=now, workspace=workspace)
    ensure_engine(workspace=workspace)


def resume(run_id: str, *, workspace: Workspace | None = None) -> Run:
    """Let a failed or cancelled run go on from its last checkpoint.

    Raises:
        DataError: it is finished, or has not ended.
    """
    workspace = workspace or Workspace.open()
    store.get_run(run_id, workspace=workspace)
    folder = workspace.run_folder(run_id)
    try:
        with check_disk(workspace), leased(folder, wait=5):
            run = store.get_run(run_id, workspace=workspace)
            if run.state not in {"failed", "cancelled"}:
                raise DataError(f"Run {run_id} is {run.state}", "Only failed and cancelled runs can be resumed.")
            workspace.forget_cancel(run_id)
            forget_note(folder)
            message = f"Resumed after epoch {run.epoch}." if run.epoch else "Started again."
            store.set_state(run_id, "queued", message, workspace=workspace)
    except BlockingIOError:
        raise DataError(f"The process of run {run_id} is still ending", "Try again in some seconds.") from None
    ensure_engine(workspace=workspace)
    return store.get_run(run_id, workspace=workspace)


def run_again(run_id: str, *, workspace: Workspace | None = None, **changes: Any) -> Run:
    """Start a new run like an old one.

    Args:
        run_id: the old one.
        workspace: of both.
        changes: fields of `RunSpec`, or single settings of the trainer or the method.
    """
    workspace = workspace or Workspace.open()
    spec = store.get_run(run_id, workspace=workspace).spec
    fields = {k: v for k, v in changes.items() if k in RunSpec.model_fields}
    settings = {k: v for k, v in changes.items() if k not in RunSpec.model_fields}
    new = spec.model_dump() | {"parent": "", "group": "", "fingerprint": ""} | fields
    new["settings"] = new["settings"] | settings
    return submit(RunSpec(**new), workspace=workspace)


def set_priority(run_id: str, priority: int, *, workspace: Workspace | None = None) -> None:
    """Let a queued run go before (higher) or after others."""
    workspace = workspace or Workspace.open()
    spec = store.get_run(run_id, workspace=workspace).spec.model_copy(update={"priority": priority})
    store.set_tag(run_id, f"{TAG}spec", spec.model_dump_json(), workspace)
    ensure_engine(workspace=workspace)
