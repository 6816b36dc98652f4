"""Awkward little crowds: unlabelled tasks, idle workers, repeats, partly filled gold; and soft references for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from crowdcore.analysis.reference import Reference
from crowdcore.data.dataset import CrowdDataset


def make_crowd(task, worker, label, n_tasks: int, n_workers: int, n_classes: int, gold=None) -> CrowdDataset:
    order = np.argsort(np.asarray(task, int), kind="stable")
    return CrowdDataset(
        "awkward",
        tuple(f"class {c}" for c in range(n_classes)),
        pd.Index([f"t{i}" for i in range(n_tasks)]),
        pd.Index([f"w{r}" for r in range(n_workers)]),
        np.asarray(task, int)[order],
        np.asarray(worker, int)[order],
        np.asarray(label, int)[order],
        gold=gold,
    )


@st.composite
def crowds(draw, max_classes: int = 5, min_classes: int = 1) -> CrowdDataset:
    """At least one annotated task has gold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(min_classes, max_classes))
    n_tasks, n_workers = draw(st.integers(1, 25)), draw(st.integers(1, 7))
    n = draw(st.integers(1, 80))
    gold = rng.integers(-1, n_classes, n_tasks)
    task = rng.integers(n_tasks, size=n)
    gold[task[0]] = rng.integers(n_classes)
    label = np.where(rng.random(n) < 0.6, np.maximum(gold[task], 0), rng.integers(n_classes, size=n))
    return make_crowd(task, rng.integers(n_workers, size=n), label, n_tasks, n_workers, n_classes, gold)


def soft_reference(crowd: CrowdDataset, seed: int = 0) -> Reference:
    """A random posterior, some of it certain, unknown (NaN) for some tasks."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(crowd.n_classes, 0.5), crowd.n_tasks)
    sure = rng.random(crowd.n_tasks) < 0.3
    posterior[sure] = np.eye(crowd.n_classes)[rng.integers(crowd.n_classes, size=sure.sum())]
    unknown = rng.random(crowd.n_tasks) < 0.2
    posterior[unknown] = np.nan
    labels = np.where(unknown, -1, np.nan_to_num(posterior).argmax(1)).astype(np.int32)
    return Reference("soft", labels, posterior)
