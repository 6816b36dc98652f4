"""A crowd of raters with planted biases."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.rows import Rows


def rated_crowd(
    n_tasks: int = 400, n_workers: int = 8, per_task: int = 4, noise: float = 0.4, seed: int = 0
) -> tuple[RatingDataset, FloatArray]:
    """Ratings from -10 to 30 of a linear truth, a quarter of the tasks for test; and the (R,) planted biases."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_tasks, 6)).astype(np.float32)
    gold = 10 + features @ rng.standard_normal(6)
    bias = np.linspace(-3, 3, n_workers) + 1
    worker = np.argsort(rng.random((n_tasks, n_workers)), 1)[:, :per_task]
    task = np.repeat(np.arange(n_tasks), per_task)
    rating = gold[task] + bias[worker.ravel()] + noise * rng.standard_normal(len(task))
    split = np.where(np.arange(n_tasks) < 0.75 * n_tasks, 0, 2).astype(np.int8)
    dataset = RatingDataset(
        "rated",
        -10.0,
        30.0,
        pd.Index([f"t{i}" for i in range(n_tasks)]),
        pd.Index([f"w{r}" for r in range(n_workers)]),
        task,
        worker.ravel(),
        np.clip(rating, -10, 30),
        gold,
        split,
        Rows.from_array(features),
    )
    return dataset.where(split[dataset.task] == 0), bias
