"""Reproductions by id, and their execution: existing runs are used again, missing ones are submitted."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from crowdcore import runs
from crowdcore.core.errors import CrowdError, DataError, SettingError, did_you_mean
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.data.settings import need_classes
from crowdcore.data.writers import write_folder
from crowdcore.learning.embedding import embed, has_efficientnet
from crowdcore.learning.recovery.plan import RecoveryPlan, plant
from crowdcore.learning.results.result import TrainingResult
from crowdcore.reproduce import ccc, conal, crowd_layer, trace
from crowdcore.reproduce.entry import Entry, Found, Part, Scale
from crowdcore.runs import Run, RunSpec, Workspace
from crowdcore.runs.faults import disk_problem

ENTRIES: Mapping[str, Entry] = {
    entry.id: entry for paper in (conal, crowd_layer, trace, ccc) for entry in paper.ENTRIES
}
"""Id -> entry."""
_COMPONENTS = 128
_EVERY = 2.0  # seconds between queries of the record
_STATE = ("finished", "running", "queued", "cancelled", "failed")  # preference among runs with the same specification


def get(id: str) -> Entry:
    """Return the entry with an id.

    Raises:
        SettingError: there is no such entry; the nearest one is suggested.
    """
    if id not in ENTRIES:
        remedy = f"{did_you_mean(id, ENTRIES)}Known: {', '.join(ENTRIES)}."
        raise SettingError("reproduction", "be one that there is", id, remedy)
    return ENTRIES[id]


def start(entry: Entry, scale: Scale, *, device: str = "auto", workspace: Workspace | None = None) -> list[str]:
    """Plant the crowds, submit missing runs, resume failed and cancelled ones; return all ids.

    Parts that cannot run are left out; `look` gives the reason.

    Raises:
        CrowdError: the workspace is read-only, or its disk is full.
    """
    workspace = workspace or Workspace.open()
    if problem := workspace.read_only or disk_problem(workspace.folder):
        raise CrowdError(problem)
    ids: list[str] = []
    for part in entry.parts(scale):
        if part.absent or not part.method:
            continue
        try:
            _plant(part, workspace)
            spec = _spec(part, need_classes(open_labels(_name(part), accept=True, home=workspace.folder)), device)
        except CrowdError:  # `look` gives the reason
            continue
        run = _matching_run(spec, runs.list_runs(dataset=spec.dataset, workspace=workspace))
        if run is None:
            run = runs.submit(spec, workspace=workspace)
        elif run.state in ("failed", "cancelled"):
            run = runs.resume(run.id, workspace=workspace)
        ids.append(run.id)
    return list(dict.fromkeys(ids))


def wait(ids: Sequence[str], on_progress: Callable[[float, str], None], *, workspace: Workspace | None = None) -> None:
    """Wait until all of these runs have ended; they do not need the waiting process.

    Args:
        ids: ids of the runs.
        on_progress: called with the share done, 0…1, and the current run.
        workspace: workspace of the runs.

    Raises:
        DataError: the engine reports a problem.
    """
    while ids:
        if problem := runs.engine_state(workspace=workspace).problem:
            raise DataError("The runs cannot continue", problem)
        known = {run.id: run for run in runs.list_runs(workspace=workspace)}
        mine = [known[i] for i in ids if i in known]
        ended = sum(run.has_ended for run in mine)
        going = [f"{run.title} on {run.spec.dataset}, {run.at}" for run in mine if run.state == "running"]
        on_progress(ended / len(ids), f"{ended} of {len(ids)} runs · {going[0] if going else 'waiting'}")
        if ended >= len(mine):
            return
        time.sleep(_EVERY)


def look(
    entry: Entry,
    scale: Scale,
    *,
    workspace: Workspace | None = None,
    open_: Callable[[str], CrowdDataset] | None = None,
    result: Callable[[str], TrainingResult] | None = None,
) -> list[Found]:
    """Return the results of every part so far; start nothing.

    Args:
        entry: the entry.
        scale: the scale.
        workspace: workspace of the runs.
        open_: opens a dataset by name; default: each once.
        result: reads the result of a run by id; default: each once.
    """
    space = workspace or Workspace.open()
    listed = runs.list_runs(workspace=space)
    opened = open_ or functools.cache(lambda name: need_classes(open_labels(name, accept=True, home=space.folder)))
    read = result or functools.cache(lambda run_id: runs.result(run_id, workspace=space))
    return [_look(part, listed, opened, read, space) for part in entry.parts(scale)]


def _look(
    part: Part,
    listed: Sequence[Run],
    opened: Callable[[str], CrowdDataset],
    read: Callable[[str], TrainingResult],
    workspace: Workspace,
) -> Found:
    if part.absent:
        return Found(part, f"not run: {part.absent}")
    if part.features and not has_efficientnet():
        return Found(part, "not run: it needs pip install 'crowdcore[images]'")
    name, run = _name(part), None
    if not isinstance(part.data, str) and not (workspace.folder / "datasets" / name).exists():
        return Found(part, "not run yet")
    try:
        dataset = opened(name)
        if part.method:
            run = _matching_run(_spec(part, dataset), listed)
            if run is None:
                return Found(part, "not run yet", dataset=dataset)
            if run.state != "finished":
                return Found(part, f"failed: {run.message}" if run.state == "failed" else run.state, run, dataset)
        result = read(run.id) if run else None
        ours = {measure: np.atleast_1d(measure.of(result, dataset)).astype(np.float64) for measure in part.paper}
        return Found(part, "", run, dataset, result, ours)
    except CrowdError as refusal:
        return Found(part, f"not run: {refusal}")


def _name(part: Part) -> str:
    """Name of the dataset of a part; for a crowd to plant, a name that its plan determines."""
    if isinstance(part.data, str):
        return part.data
    digest = hashlib.blake2b(part.data.model_dump_json().encode(), digest_size=5).hexdigest()
    return f"{part.data.dataset or 'made'}-{part.data.simulation}-{digest}".replace("_", "-")


def _plant(part: Part, workspace: Workspace) -> None:
    """Write the crowd of a part as a dataset of the workspace, unless it exists."""
    folder = workspace.folder / "datasets" / _name(part)
    if isinstance(part.data, RecoveryPlan) and not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        crowd = need_classes(plant(part.data, part.data.points()[0]))
        write_folder(_with_features(crowd, part) if part.features else crowd, folder)


def _with_features(crowd: CrowdDataset, part: Part) -> CrowdDataset:
    """Add principal components of pretrained features to a crowd, computed once for all crowds on the same images."""
    assert isinstance(part.data, RecoveryPlan)
    features = embed(replace(crowd, name=part.data.dataset), part.features).dataset.features
    assert features is not None
    x = np.asarray(features[np.arange(crowd.n_tasks)], np.float64)
    x -= x.mean(0)
    _, directions = np.linalg.eigh(x.T @ x)
    rows = Rows.from_array((x @ directions[:, : -_COMPONENTS - 1 : -1]).astype(np.float32))
    return replace(crowd, features=rows, media=None)


def _spec(part: Part, dataset: CrowdDataset, device: str = "auto") -> RunSpec:
    """Specification of the run of a part, with settings as in the record."""
    from crowdcore.learning import methods, split_settings

    split_settings(methods.get(part.method), dict(part.settings))
    spec = RunSpec(
        dataset=_name(part),
        fingerprint=dataset.fingerprint,
        method=part.method,
        settings=dict(part.settings),
        seeds=tuple(range(part.seeds)),
        device=device,
        group="reproduce",
    )
    return RunSpec.model_validate_json(spec.model_dump_json())


def _matching_run(spec: RunSpec, listed: Sequence[Run]) -> Run | None:
    """Find a run with the same specification, on any device: a finished one, else the newest of the likeliest."""
    same = [
        run
        for run in listed
        if run.spec.search is None
        and run.spec.fingerprint in {"", spec.fingerprint}
        and all(getattr(run.spec, name) == getattr(spec, name) for name in ("dataset", "method", "settings", "seeds"))
    ]
    return min(same, key=lambda run: _STATE.index(run.state), default=None)
