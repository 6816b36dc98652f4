"""Results as training would leave them, made up in a moment, for tests of their use."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training.inputs import Preparation

EPOCHS = 6


def made_up(
    dataset: CrowdDataset,
    method: str = "conal",
    seeds: tuple[int, ...] = (0, 1, 2),
    *,
    sure: float = 2.0,
    draw: int = 0,
    split: np.ndarray | None = None,
    settings: dict[str, Any] | None = None,
    **training: Any,
) -> TrainingResult:
    """A result on all tasks of a dataset with gold.

    Args:
        dataset: what it seems to be trained on.
        method: whose it seems to be; conal has a common confusion and ω, dl-mv nothing, others individual confusions.
        seeds: of the replicas.
        sure: how much the true class stands out.
        draw: seed of all that is random here.
        split: (n_tasks,) role of each task; default: the dataset's, tasks without one count as training tasks.
        settings: of the method.
        training: of the trainer.
    """
    rng = np.random.default_rng([draw, len(method), *map(ord, method)])
    n, c, r, s = dataset.n_tasks, dataset.n_classes, dataset.n_workers, len(seeds)
    split = (np.maximum(dataset.split, 0) if split is None else split).astype(np.int64)
    test, valid = split == 2, split == 1

    def probabilities(strength: float) -> np.ndarray:
        score = rng.normal(size=(s, n, c)) + strength * np.eye(c)[dataset.gold]
        p = np.exp(score)
        return (p / p.sum(-1, keepdims=True)).astype(np.float32)

    def accuracy(p: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (p[:, rows].argmax(-1) == dataset.gold[rows]).mean(-1)

    kept = {"selected": probabilities(sure), "last": probabilities(sure - 0.3)}
    curves = {"loss": 2 - 0.1 * np.arange(EPOCHS)[:, None] + 0.01 * rng.random((EPOCHS, s))}
    for name, rows in (("valid", valid), ("test", test)):
        values = rng.uniform(0.3, 0.5, (EPOCHS, s))
        if rows.any():
            values[2] = accuracy(kept["selected"], rows)
            values[-1] = accuracy(kept["last"], rows)
            curves |= {f"{name}_accuracy": values}
    confusion = rng.dirichlet(np.ones(c), (s, r, c))
    common = rng.dirichlet(np.ones(c), (s, c))
    return TrainingResult(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        classes=dataset.classes,
        method=method,
        settings=settings or {},
        training={"epochs": EPOCHS, "lr": 0.001, "backbone": "mlp", "backbone_settings": {}, **training},
        seeds=seeds,
        task=np.arange(n),
        split=split,
        gold=dataset.gold.astype(np.int64),
        valid_label=dataset.gold[valid].astype(np.int64),
        validated_on="gold labels of the valid split",
        curves=curves,
        selected_epoch=np.full(s, 3),
        last_epoch=np.full(s, EPOCHS),
        probabilities=kept,
        model={},
        preparation=Preparation(False, np.zeros(2, np.float32), np.ones(2, np.float32)),
        input_shape=(2,),
        n_workers=r,
        worker_confusion=None if method == "dl-mv" else confusion,
        common_confusion=common if method == "conal" else None,
        omega=rng.random((s, dataset.n_annotations)) if method == "conal" else None,
        seconds=3.5,
        annotations_per_second=1234.0,
        device="cpu",
        versions={"crowdcore": "0.1.0", "numpy": "2"},
        notes=("Epochs are selected on: gold labels of the valid split.",),
    )
