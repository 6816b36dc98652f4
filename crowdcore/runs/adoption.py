"""Putting a run back into a record that has lost it, from what its folders hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError
from crowdcore.core.json_files import read_json
from crowdcore.runs import store
from crowdcore.runs.record import ask
from crowdcore.runs.recorder import checkpointed, spread
from crowdcore.runs.run import NAME, TAG, default_name
from crowdcore.runs.run_config import RunSpec
from crowdcore.runs.schema import connect, experiment_of
from crowdcore.runs.scores import result_scores
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt


@dataclass(frozen=True)
class Facts:
    """What a record says of a run, but its curves, as MLflow calls it."""

    spec: RunSpec
    user_id: str
    status: str
    start_time: int
    end_time: int | None
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, float]


def facts_of(workspace: Workspace, run_id: str) -> Facts | None:
    """What the copy of the record in a run's folder says, else what its result tells; None where there is neither."""
    kept = read_json(workspace.run_folder(run_id) / store.COPY)
    try:
        spec = RunSpec(**json.loads(kept["tags"][f"{TAG}spec"]))
        spec = spec.model_copy(update={"dataset": _here(spec.dataset, workspace)})
        tags = kept["tags"] | {f"{TAG}spec": spec.model_dump_json()}
        return Facts(**{**kept, "spec": spec, "tags": tags})
    except (KeyError, ValueError, TypeError):
        found = _result(workspace, run_id)
        return None if found is None else _told_by(found, _written(workspace, run_id))


def _here(dataset: str, workspace: Workspace) -> str:
    """A dataset that was uploaded to this workspace when it lay elsewhere is found here."""
    came_along = workspace.folder / "datasets" / Path(dataset).name
    is_moved = Path(dataset).is_absolute() and not Path(dataset).exists() and came_along.exists()
    return str(came_along) if is_moved else dataset


def _result(workspace: Workspace, run_id: str) -> Learnt | None:
    from crowdcore.learning.results.result_files import load_result

    try:
        return load_result(workspace.artefact_folder(run_id) / "result")
    except CrowdError:
        return None


def _written(workspace: Workspace, run_id: str) -> int:
    """When the result was written, in milliseconds."""
    return round(1000 * (workspace.artefact_folder(run_id) / "result" / "result.json").stat().st_mtime)


def _told_by(found: Learnt, at: int) -> Facts:
    used = {**found.training, **found.settings}
    spec = RunSpec(
        dataset=found.dataset, fingerprint=found.fingerprint, method=found.method, settings=used, seeds=found.seeds
    )
    tags = {
        f"{TAG}spec": spec.model_dump_json(),
        f"{TAG}result": "yes",
        f"{TAG}validated_on": found.validated_on,
        f"{TAG}device": found.device,
        f"{TAG}message": "Rebuilt from its result.",
        NAME: default_name(spec),
    }
    given = {"dataset": spec.dataset, "method": spec.method, "seeds": ", ".join(map(str, spec.seeds))}
    params = {name: str(value) for name, value in {**given, "fingerprint": spec.fingerprint, **used}.items()}
    scores = {"seconds": found.seconds, "annotations_per_second": found.annotations_per_second}
    return Facts(
        spec, "", "FINISHED", at - round(1000 * found.seconds), at, tags, params, scores | result_scores(found)
    )


def adopt(workspace: Workspace, run_id: str, facts: Facts) -> None:
    """Write a run into the record, with its curves, in one transaction."""
    at = facts.end_time or facts.start_time
    points = {(key, epoch): value for key, value, epoch in _curves(workspace, run_id)}
    in_curves = {key for key, _ in points}
    points |= {(key, 0): value for key, value in facts.metrics.items() if key not in in_curves}
    latest = {key: (value, epoch) for (key, epoch), value in sorted(points.items(), key=lambda point: point[0][1])}
    row = {
        "run_uuid": run_id,
        "name": facts.tags.get(NAME, ""),
        "source_type": "LOCAL",
        "source_name": "crowdcore",
        "user_id": facts.user_id,
        "status": facts.status,
        "start_time": facts.start_time,
        "end_time": facts.end_time,
        "lifecycle_stage": "active",
        "artifact_uri": workspace.artefact_folder(run_id).as_uri(),
        "experiment_id": int(experiment_of(workspace, facts.spec.dataset)),
    }
    metrics = [(run_id, key, epoch, value, at, False) for (key, epoch), value in points.items()]
    lasts = [(run_id, key, epoch, value, at, False) for key, (value, epoch) in latest.items()]

    def write() -> None:
        with connect(workspace) as connection:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks})", [*row.values()])
            for table, pairs in (("tags", facts.tags), ("params", facts.params)):
                rows = [(run_id, key, value) for key, value in pairs.items()]
                connection.executemany(f"INSERT INTO {table} (run_uuid, key, value) VALUES (?, ?, ?)", rows)
            for table, values in (("metrics", metrics), ("latest_metrics", lasts)):
                columns = "run_uuid, key, step, value, timestamp, is_nan"
                connection.executemany(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)

    ask(workspace, write)


def _curves(workspace: Workspace, run_id: str) -> Iterator[tuple[str, float, int]]:
    """Name, mean or standard deviation over seeds, epoch, of a run's result, else of its checkpoint."""
    found = _result(workspace, run_id)
    checkpoint = checkpointed(workspace.run_folder(run_id) / "checkpoint")
    histories: list[dict[str, Any]] = [found.curves] if found else [history for _, history in checkpoint]
    values: dict[tuple[str, int], list[float]] = {}
    for history in histories:
        for name, rows in history.items():
            for epoch, row in enumerate(rows, 1):
                values.setdefault((name, epoch), []).extend(map(float, row))
    for (name, epoch), over_seeds in values.items():
        if name != "seconds":
            yield from ((key, value, epoch) for key, value in spread(name, over_seeds).items())
