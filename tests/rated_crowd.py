"""A simulated crowd of numbers whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore.data import RatingDataset

__all__ = ["rated_crowd"]


def rated_crowd(
    n_tasks: int = 300,
    n_workers: int = 20,
    per_task: int = 5,
    seed: int = 0,
    bias_sd: float = 0.1,
    noise: float = 0.08,
    shared: Callable[[np.ndarray], np.ndarray] = np.zeros_like,
) -> tuple[RatingDataset, np.ndarray]:
    """Ratings ``truth + shared(truth) + bias of the worker + noise``, and the workers' biases."""
    rng = np.random.default_rng(seed)
    truth, bias = rng.uniform(size=n_tasks), rng.normal(0, bias_sd, n_workers)
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    rating = (truth + shared(truth))[task] + bias[worker] + rng.normal(0, noise, len(task))
    ids = [pd.Index([f"{kind}{i}" for i in range(n)]) for kind, n in (("t", n_tasks), ("w", n_workers))]
    return RatingDataset("rated", -2, 3, *ids, task, worker, rating, gold=truth), bias


def rated_folder(folder: Path, n_tasks: int = 120, n_workers: int = 8) -> Path:
    """`rated_crowd` in our format, with features of the truth and of noise; half of it trains."""
    crowd, _ = rated_crowd(n_tasks, n_workers, 4, seed=1, bias_sd=0.3)
    folder.mkdir(parents=True)
    (folder / "classes.txt").write_text("# regression: rating on -2..3\n")
    split = np.repeat([0, 1, 2], [n_tasks // 2, n_tasks // 4, n_tasks - n_tasks // 2 - n_tasks // 4])
    names = np.array(["train", "valid", "test"])
    crowd.annotations.rename(columns={"rating": "label"}).to_csv(folder / "annotations.csv", index=False)
    tasks = pd.DataFrame({"task": crowd.task_ids, "split": names[split], "gold": crowd.gold})
    tasks.to_csv(folder / "tasks.csv", index=False)
    rng = np.random.default_rng(2)
    features = np.stack([crowd.gold, crowd.gold**2, rng.normal(size=n_tasks)], 1).astype(np.float32)
    for k, name in enumerate(names):
        np.save(folder / f"features_{name}.npy", features[split == k])
    return folder
