"""The record of runs, kept by MLflow: one experiment per dataset, one MLflow run per run; names, notes and tags."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError, missing_extra
from crowdcore.core.files import write_json
from crowdcore.data.catalogue import full_name
from crowdcore.runs.faults import RecordError, redact
from crowdcore.runs.locks import is_leased, leased
from crowdcore.runs.record import ask, client_of, connect, experiment_name, experiment_of, is_new, local_folder
from crowdcore.runs.run import (
    ENDED,
    NAME,
    NOTE,
    STATES,
    STATUS,
    TAG,
    Run,
    RunSpec,
    State,
    default_name,
    is_spread,
    read_run,
)
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from mlflow.entities import Run as Entry

BEGUN, COPY = "new-", "record.json"
"""Prefix of the folder of a run that is being created (followed by its tag ``crowdcore.key``), and the file in a run's
folder with a copy of its record."""
_LEAVING = 10.0  # seconds that the process of an ended run may take to exit
_MESSAGE = 4000  # characters; MLflow takes 8,000 in a tag
_MOST = 50_000  # runs read at once
_NAME, _NOTE, _TAG = 120, 4000, 40  # characters at most


def create(spec: RunSpec, *, workspace: Workspace | None = None) -> Run:
    """Record a run as queued; nothing starts it yet.

    Its folder is created first, under a temporary name and with its lease held, so that the engine finds the beginnings
    of a process that died.
    """
    workspace = workspace or Workspace.open()
    client = client_of(workspace)
    if workspace.read_only:
        raise RecordError(workspace.read_only)
    key = uuid.uuid4().hex
    begun = workspace.folder / "runs" / f"{BEGUN}{key}"
    spec = spec.model_copy(update={"dataset": full_name(spec.dataset)})
    tags = {
        f"{TAG}spec": spec.model_dump_json(),
        f"{TAG}key": key,
        "mlflow.source.name": "crowdcore",
        NAME: default_name(spec),
        **({"mlflow.parentRunId": spec.parent} if spec.parent else {}),
    }
    begun.mkdir(mode=0o700, parents=True)
    with leased(begun):
        try:
            run_id = client.create_run(experiment_of(workspace, spec.dataset), tags=tags).info.run_id
        except Exception:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        put_in_place(begun, run_id, spec, workspace)
    return get_run(run_id, workspace=workspace)


def put_in_place(begun: Path, run_id: str, spec: RunSpec, workspace: Workspace) -> None:
    """Finish `create`: record parameters and state, and give the run's folder its final name."""
    from mlflow.entities import Param

    client = client_of(workspace)
    facts = {"dataset": spec.dataset, "method": spec.method, "seeds": ", ".join(map(str, spec.seeds))}
    client.log_batch(run_id, params=[Param(name, value) for name, value in facts.items()])
    client.update_run(run_id, STATUS["queued"])
    begun.rename(workspace.run_folder(run_id))
    keep_copy(run_id, workspace)


def get_run(run_id: str, *, workspace: Workspace | None = None) -> Run:
    """Read one run as it stands now.

    Raises:
        DataError: there is no run with that id.
    """
    run = read_run(entry_of(run_id, workspace or Workspace.open()))
    if run is None:
        raise DataError(f"Run {run_id} was not made by crowdcore, or its tags were changed")
    return run


def entry_of(run_id: str, workspace: Workspace) -> Entry:
    """Return MLflow's own record of a run."""
    client = client_of(workspace)
    workspace.run_folder(run_id)  # refuses a string that is no id
    try:
        entry = client.get_run(run_id)
    except RecordError as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        entry = None
    if entry is None or entry.info.lifecycle_stage == "deleted":
        raise DataError(f"There is no run {run_id}", "`crowdcore runs list` lists the runs.")
    return entry


def list_runs(
    dataset: str | None = None,
    states: Collection[State] | None = None,
    parent: str | None = None,
    *,
    workspace: Workspace | None = None,
) -> list[Run]:
    """List runs, newest first.

    Args:
        dataset: only runs on this dataset (its name, or the path that was given).
        states: only runs in these states.
        parent: only the trials of this search.
        workspace: workspace of the runs; None: ``Workspace.open()``.

    Raises:
        MissingExtraError: MLflow is not installed.
    """
    workspace = workspace or Workspace.open()
    if is_new(workspace):  # MLflow would take seconds to make an empty record
        if missing := missing_extra("Keeping runs", "mlflow"):
            raise missing
        return []
    client = client_of(workspace)
    dataset = dataset and full_name(dataset)
    if dataset is None:
        experiments = [e.experiment_id for e in client.search_experiments()]
    else:
        experiment = client.get_experiment_by_name(experiment_name(dataset))
        experiments = [experiment.experiment_id] if experiment else []
    if not experiments:
        return []
    others = [state for state in STATES if states is not None and state not in states]
    filters = [f"attributes.status != '{STATUS[state]}'" for state in others]  # MLflow knows "and", but not "or"
    filters += [f"tags.`mlflow.parentRunId` = '{parent}'"] if parent and parent.isalnum() else []
    newest = ["attributes.start_time DESC"]
    runs = map(read_run, client.search_runs(experiments, " and ".join(filters), max_results=_MOST, order_by=newest))
    return [run for run in runs if run and parent in {None, run.spec.parent} and dataset in {None, run.spec.dataset}]


def set_state(run_id: str, state: State, message: str | None = None, *, workspace: Workspace | None = None) -> None:
    """Set the state of a run, and the message on its page; None keeps the last one."""
    workspace = workspace or Workspace.open()
    client = client_of(workspace)
    if message is not None:
        set_message(run_id, message, workspace=workspace)
    if state == "running":
        client.set_tag(run_id, f"{TAG}started", datetime.now(UTC).isoformat(timespec="milliseconds"))
    if state in ENDED:
        client.set_terminated(run_id, STATUS[state], int(time.time() * 1000))
    else:
        client.update_run(run_id, STATUS[state])
    keep_copy(run_id, workspace)


def set_message(run_id: str, message: str, *, workspace: Workspace | None = None) -> None:
    """Set the message on the page of a run; secrets of the environment are removed."""
    client_of(workspace or Workspace.open()).set_tag(run_id, f"{TAG}message", redact(message)[:_MESSAGE])


def set_tag(run_id: str, name: str, value: str, workspace: Workspace) -> None:
    """Set one of MLflow's tags of a run."""
    client_of(workspace).set_tag(run_id, name, value)
    keep_copy(run_id, workspace)


def log_progress(
    run_id: str,
    progress: Mapping[str, Any],
    points: Iterable[tuple[str, float, int, int]],
    *,
    workspace: Workspace,
) -> None:
    """Record the progress of a run, and points of its curves: metric, value, milliseconds, epoch."""
    from mlflow.entities import Metric, RunTag

    tags = [RunTag(f"{TAG}progress", json.dumps(progress, separators=(",", ":")))] if progress else []
    client_of(workspace).log_batch(run_id, [Metric(*point) for point in points], tags=tags)


def keep_copy(run_id: str, workspace: Workspace) -> None:
    """Copy the record of a run, without its curves, into its folder, from which a lost record is rebuilt."""
    if workspace.owns_record:
        entry = client_of(workspace).get_run(run_id)
        facts = {name: getattr(entry.info, name) for name in ("user_id", "status", "start_time", "end_time")}
        known = {name: dict(getattr(entry.data, name)) for name in ("tags", "params", "metrics")}
        with contextlib.suppress(OSError):  # a full disk, a deleted folder
            write_json(workspace.run_folder(run_id) / COPY, facts | known)


def curves(run_id: str, metrics: Collection[str] | None = None, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """Return the metrics after every epoch, also while the run goes on: epoch (from 1), metric, mean, std over seeds.

    Args:
        metrics: names of metrics; None for all.
    """
    workspace = workspace or Workspace.open()
    known = entry_of(run_id, workspace).data.metrics
    names = [n for n in known if not is_spread(n, known) and (metrics is None or n in metrics)]
    points = pd.DataFrame(
        _points(run_id, [n for name in names for n in (name, f"{name}_std")], workspace),
        columns=["name", "epoch", "at", "value"],
    )
    points = points[points["epoch"] > 0].sort_values(["epoch", "at"], kind="stable")
    points = points.drop_duplicates(["name", "epoch"], keep="last")  # an epoch is measured again after a resume
    is_mean = points["name"].isin(names)
    points["metric"] = points["name"].where(is_mean, points["name"].str.removesuffix("_std"))
    points["part"] = np.where(is_mean, "mean", "std")
    table = points.pivot(index=["metric", "epoch"], columns="part", values="value").reindex(columns=["mean", "std"])
    return (
        table.rename_axis(columns=None)
        .reset_index()[["epoch", "metric", "mean", "std"]]
        .astype({"epoch": int, "mean": float, "std": float})
    )


def _points(run_id: str, names: Sequence[str], workspace: Workspace) -> list[tuple[str, int, int, float]]:
    """Metric, epoch, milliseconds, value; the workspace's own database is read in one query, several times faster."""
    if workspace.database is None:
        client = client_of(workspace)
        return [(n, m.step, m.timestamp, m.value) for n in names for m in client.get_metric_history(run_id, n)]
    marks = ", ".join("?" * len(names))
    query = f"SELECT key, step, timestamp, value FROM metrics WHERE run_uuid = ? AND key IN ({marks}) AND NOT is_nan"

    def read() -> list[tuple[str, int, int, float]]:
        with connect(workspace) as connection:
            return connection.execute(query, [run_id, *names]).fetchall()

    return ask(workspace, read)


def delete(run_ids: Iterable[str], *, workspace: Workspace | None = None) -> None:
    """Delete runs and all their files.

    Raises:
        DataError: one of them is queued or running, or does not exist; nothing is deleted then.
    """
    workspace = workspace or Workspace.open()
    runs = [get_run(run_id, workspace=workspace) for run_id in dict.fromkeys(run_ids)]
    for run in runs:
        if run.state not in ENDED or not _has_exited(workspace, run.id):
            raise DataError(f"Run {run.id} is {run.state}", "Cancel it before deleting it.")
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    client = client_of(workspace)
    for run in runs:
        uri = client.get_run(run.id).info.artifact_uri
        client.delete_run(run.id)
        local = workspace.artefact_folder(run.id) if workspace.owns_record else local_folder(uri)
        if local is None:
            repository = get_artifact_repository(uri, tracking_uri=workspace.tracking_uri)
            repository.delete_artifacts()
        else:
            shutil.rmtree(local.parent if local.parent.name == run.id else local, ignore_errors=True)
        shutil.rmtree(workspace.run_folder(run.id), ignore_errors=True)


def _has_exited(workspace: Workspace, run_id: str) -> bool:
    """Return True if the process of an ended run is gone; give one that has just ended time to exit."""
    end = time.monotonic() + _LEAVING
    while is_leased(workspace.run_folder(run_id)):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def rename(run_id: str, name: str, *, workspace: Workspace | None = None) -> None:
    """Name a run; an empty name restores its default.

    Raises:
        DataError: there is no run with that id.
        SettingError: the name is too long, or more than one line.
    """
    workspace = workspace or Workspace.open()
    run = get_run(run_id, workspace=workspace)
    set_tag(run.id, NAME, _line("name", name, _NAME) or default_name(run.spec), workspace)


def set_note(run_id: str, note: str, *, workspace: Workspace | None = None) -> None:
    """Replace the note on a run; an empty note removes it.

    Raises:
        DataError: there is no run with that id.
        SettingError: the note is too long.
    """
    workspace = workspace or Workspace.open()
    if len(note.strip()) > _NOTE:
        raise SettingError("note", f"have at most {_NOTE:,} characters", f"{len(note):,}")
    set_tag(get_run(run_id, workspace=workspace).id, NOTE, note.strip(), workspace)


def change_tags(
    run_ids: Iterable[str],
    add: Collection[str] = (),
    remove: Collection[str] = (),
    *,
    workspace: Workspace | None = None,
) -> None:
    """Add tags to runs that lack them, and remove others from runs that have them.

    Raises:
        DataError: there is no run with one of these ids; nothing is changed then.
        SettingError: a tag is too long, or holds a comma.
    """
    workspace = workspace or Workspace.open()
    added = [_tag(word) for word in add]
    removed = {word.strip() for word in remove}
    for run in [get_run(run_id, workspace=workspace) for run_id in dict.fromkeys(run_ids)]:
        words = [word for word in dict.fromkeys([*run.tags, *added]) if word not in removed]
        if tuple(words) != run.tags:
            set_tag(run.id, f"{TAG}tags", ", ".join(words), workspace)


def _tag(word: str) -> str:
    if "," in word or not word.strip():
        raise SettingError("tag", "be a word or some, without a comma", word)
    return _line("tag", word, _TAG)


def _line(setting: str, text: str, most: int) -> str:
    text = text.strip()
    if len(text) > most or not text.isprintable():
        raise SettingError(setting, f"be one line of at most {most} characters", text[: most + 1])
    return text
