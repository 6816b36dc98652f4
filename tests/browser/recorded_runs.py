"""Finished runs without training in the browser: a result goes into a workspace's record as its own process would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crowdcore as cc
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.result import TrainingResult
from crowdcore.runs import RunSpec, Workspace
from crowdcore.runs.artefacts import keep_result
from crowdcore.runs.recorder import Recorder, spread
from crowdcore.runs.schema import client_of
from crowdcore.runs.store import create, set_state

__all__ = ["record"]


def record(
    workspace: Workspace | Path | str,
    result: TrainingResult,
    dataset: CrowdDataset | None = None,
    **settings: Any,
) -> str:
    """Record a result as a finished run, with its curves and scores.

    Args:
        workspace: where to; a folder or an opened one.
        result: what was trained.
        dataset: what on; default that of the result's name.
        settings: what was asked for besides the method's defaults, as the run's spec and label say it.

    Returns:
        The run's id.
    """
    from mlflow.entities import Metric

    place = workspace if isinstance(workspace, Workspace) else Workspace.open(workspace)
    opened = dataset if dataset is not None else cc.load_dataset(result.dataset)
    spec = RunSpec(
        dataset=result.dataset,
        fingerprint=opened.fingerprint,
        method=result.method,
        settings=settings,
        seeds=result.seeds,
        device="cpu",
    )
    run = create(spec, workspace=place)
    set_state(run.id, "running", workspace=place)
    with Recorder(place, run.id) as recorder:
        recorder.restore(result.seeds, result.curves)
    keep_result(run.id, result, opened, place)
    scores = {
        name: value
        for at in ("selected", "last", "best")
        for name, value in spread(f"test_accuracy_{at}", result.accuracy("test", at=at).tolist()).items()  # type: ignore[arg-type]
    }
    client_of(place).log_batch(run.id, [Metric(name, value, 0, 0) for name, value in scores.items()])
    set_state(run.id, "finished", workspace=place)
    return run.id
