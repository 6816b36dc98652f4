"""Plain crowds, renumbered and widened ones, and helpers of the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows


def simulate_crowd(
    n_tasks: int = 300,
    n_workers: int = 12,
    n_classes: int = 4,
    per_task: int = 3,
    accuracy: float = 0.7,
    seed: int = 0,
) -> CrowdDataset:
    """Simulate a plain crowd: every worker errs uniformly with rate 1 - accuracy; gold is known."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(n_classes, size=n_tasks)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = rng.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task].ravel()
    wrong = (gold[task] + rng.integers(1, n_classes, size=len(task))) % n_classes
    label = np.where(rng.random(len(task)) < accuracy, gold[task], wrong)
    return CrowdDataset(
        "simulated",
        tuple(f"class {c}" for c in range(n_classes)),
        pd.Index([f"t{i:05d}" for i in range(n_tasks)]),
        pd.Index([f"w{r:03d}" for r in range(n_workers)]),
        task,
        worker,
        label,
        gold=gold,
    )


@lru_cache
def featured_crowd(
    n_tasks: int = 60,
    n_workers: int = 5,
    n_classes: int = 3,
    per_task: int = 2,
    n_features: int = 6,
    accuracy: float = 0.75,
    seed: int = 0,
    splits: tuple[float, float] = (0.6, 0.2),
) -> CrowdDataset:
    """Simulate Gaussian classes two standard deviations apart, a train/valid/test split, annotations on train alone."""
    crowd = simulate_crowd(n_tasks, n_workers, n_classes, per_task, accuracy, seed)
    rng = np.random.default_rng(seed + 1)
    centres = 2 * rng.standard_normal((n_classes, n_features))
    features = (centres[crowd.gold] + rng.standard_normal((n_tasks, n_features))).astype(np.float32)
    edges = np.round(np.cumsum(splits) * n_tasks).astype(int)
    split = np.searchsorted(edges, np.arange(n_tasks), side="right").astype(np.int8)
    crowd = replace(crowd, features=Rows.from_array(features), split=split)
    return crowd.where(split[crowd.task] == 0)


def rearrange(
    dataset: CrowdDataset,
    tasks: IntArray | None = None,
    workers: IntArray | None = None,
    classes: IntArray | None = None,
) -> CrowdDataset:
    """Renumber a crowd: ``tasks[i]`` is the old number of the new task i; likewise workers and classes."""
    tasks, workers, classes = (
        np.arange(n) if given is None else given
        for given, n in ((tasks, dataset.n_tasks), (workers, dataset.n_workers), (classes, dataset.n_classes))
    )
    new_task, new_worker, new_class = (np.argsort(p) for p in (tasks, workers, classes))
    order = np.argsort(new_task[dataset.task], kind="stable")
    gold = dataset.gold[tasks]
    return replace(
        dataset,
        classes=tuple(np.array(dataset.classes)[classes]),
        task_ids=dataset.task_ids[tasks],
        worker_ids=dataset.worker_ids[workers],
        task=new_task[dataset.task][order],
        worker=new_worker[dataset.worker][order],
        label=new_class[dataset.label][order],
        gold=np.where(gold >= 0, new_class[gold], -1),
        features=None if dataset.features is None else Rows.from_array(np.asarray(dataset.features[:])[tasks]),
        split=dataset.split[tasks],
    )


def widen(dataset: CrowdDataset, tasks: int = 0, workers: int = 0, classes: int = 0) -> CrowdDataset:
    """Add tasks, workers or classes without annotations."""
    return replace(
        dataset,
        task_ids=dataset.task_ids.append(pd.Index([f"more t{i}" for i in range(tasks)])),
        worker_ids=dataset.worker_ids.append(pd.Index([f"more w{i}" for i in range(workers)])),
        classes=(*dataset.classes, *(f"more {i}" for i in range(classes))),
        gold=np.append(dataset.gold, np.full(tasks, -1)),
        split=np.append(dataset.split, np.full(tasks, -1)),
    )


@contextmanager
def refused(error: type[CrowdError], words: str) -> Iterator[None]:
    """Check that the body raises an error with some words in its message."""
    try:
        yield
    except error as refusal:
        assert words in str(refusal), f"the refusal must speak of {words!r}, but is {str(refusal)!r}"
        return
    raise AssertionError(f"it must be refused with a {error.__name__} that speaks of {words!r}")


def run_checks(checks: Mapping[str, Callable[[Any], None]], only: str, subject: Any, name: str) -> None:
    """Run all checks, or one, and name one that fails.

    Raises:
        AssertionError: a promise is broken.
        SettingError: no such check.
    """
    if only and only not in checks:
        raise SettingError("only", f"be one of {', '.join(checks)}", only)
    for title in [only] if only else checks:
        try:
            checks[title](subject)
        except AssertionError as broken:
            broken.add_note(f"{name} breaks the promise {title!r}")
            raise
