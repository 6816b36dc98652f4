"""Finished runs without training: a result is recorded in a workspace as a run's own process would record it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.api import Learnt
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training.inputs import Preparation
from crowdcore.runs import RunSpec, Workspace
from crowdcore.runs.artefacts import keep_result, result_scores
from crowdcore.runs.record import client_of
from crowdcore.runs.recorder import Recorder
from crowdcore.runs.store import create, set_state

_OMEGA = {"conal", "conal-groups"}
_MATRICES = {"conal", "conal-groups", "crowd-layer", "trace", "dl-em"}


def invented(
    dataset: CrowdDataset, method: str = "conal", seeds: Sequence[int] = (0, 1, 2), epochs: int = 20, salt: int = 0
) -> TrainingResult:
    """Make up a result of the method from random numbers, without any training.

    Args:
        dataset: the training data it pretends.
        method: decides which parts were recovered.
        seeds: one replica for each.
        epochs: length of the curves; every seed selects another epoch.
        salt: other numbers of the same kind.
    """
    rng = np.random.default_rng([salt, *method.encode()])
    n_seeds, n, c, r = len(seeds), dataset.n_tasks, dataset.n_classes, dataset.n_workers
    split = dataset.split.astype(np.int64)
    if (split < 0).all():
        split = np.where(np.arange(n) % 5 == 4, 2, 0)
    truth = np.eye(c)[np.maximum(dataset.gold, 0)]
    probabilities = rng.dirichlet(np.ones(c), (n_seeds, n)) + rng.uniform(0.3, 0.8, (n_seeds, n, 1)) * truth
    probabilities = (probabilities / probabilities.sum(-1, keepdims=True)).astype(np.float32)
    climb = np.linspace(0.4, 0.9, epochs)[:, None] + rng.normal(0, 0.01, (epochs, n_seeds))
    names = ("train_accuracy", "valid_accuracy", "test_accuracy")
    own = common = omega = None
    if method in _MATRICES:
        own = 0.6 * np.eye(c) + 0.4 * rng.dirichlet(np.ones(c), (n_seeds, r, c))
    if method in _OMEGA:
        common = 0.5 * np.eye(c) + 0.5 * rng.dirichlet(np.ones(c), (n_seeds, c))
        omega = rng.beta(2, 3, (n_seeds, n, r))[:, dataset.task, dataset.worker]
    return TrainingResult(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        classes=dataset.classes,
        method=method,
        settings={},
        training={"epochs": epochs},
        seeds=tuple(seeds),
        task=np.arange(n),
        split=split,
        gold=dataset.gold.astype(np.int64),
        valid_label=dataset.gold[split == 1].astype(np.int64),
        validated_on="gold labels of the valid split",
        curves={"loss": 2 - climb, **dict.fromkeys(names, climb)},
        selected_epoch=epochs - np.arange(n_seeds) % epochs,
        last_epoch=np.full(n_seeds, epochs),
        probabilities={"selected": probabilities, "last": probabilities},
        model={},
        preparation=Preparation(False, np.zeros(2, np.float32), np.ones(2, np.float32)),
        input_shape=(2,),
        n_workers=r,
        worker_confusion=own,
        common_confusion=common,
        omega=omega,
        seconds=1.0,
        annotations_per_second=1.0,
    )


def record(workspace: Workspace | Path | str, result: Learnt, dataset: Labelled | None = None, **settings: Any) -> str:
    """Record a result as a finished run, with its curves and scores.

    Args:
        workspace: a folder or an opened workspace.
        result: the result to record.
        dataset: its training data; default that of the result's name.
        settings: settings other than the method's defaults, as in the run's spec and label.

    Returns:
        The run's id.
    """
    from mlflow.entities import Metric, Param

    place = workspace if isinstance(workspace, Workspace) else Workspace.open(workspace)
    opened = dataset if dataset is not None else open_labels(result.dataset)
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
    scores = {"seconds": result.seconds, **result_scores(result)}
    client_of(place).log_batch(
        run.id,
        [Metric(name, value, 0, 0) for name, value in scores.items()],
        [Param(name, str(value)) for name, value in {**result.training, **result.settings, **settings}.items()],
    )
    set_state(run.id, "finished", workspace=place)
    return run.id
