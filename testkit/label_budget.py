"""Accuracy along a budget of labels: real crowds whose labels are hidden and revealed in batches."""

from __future__ import annotations

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.analysis.labels.next_labels import FIT, next_labels
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

STRATEGIES = ("random", "entropy", "information", "with workers")


BATCHES, SHARE = 10, 0.5


def crowd(name: str) -> CrowdDataset:
    """Return annotated tasks with gold; of a worker's repeats on a task the first label counts."""
    ds = cc.load_dataset(name)
    ds = take_tasks(ds, np.flatnonzero(ds.annotated & (ds.gold >= 0)))
    first = np.unique(ds.task.astype(np.int64) * ds.n_workers + ds.worker, return_index=True)[1]
    return ds.where(np.isin(np.arange(ds.n_annotations), first))


def shown_first(ds: CrowdDataset, labels: int, rng: np.random.Generator) -> BoolArray:
    """(n_annotations,) True for that many random labels of each task."""
    order = np.lexsort((rng.random(ds.n_annotations), ds.task))
    place = np.arange(ds.n_annotations) - ds.task_start[ds.task]
    shown = np.zeros(ds.n_annotations, bool)
    shown[order[place < labels]] = True
    return shown


def chosen(ds: CrowdDataset, shown: BoolArray, n: int, strategy: str, rng: np.random.Generator) -> IntArray:
    """Numbers of the annotations to reveal."""
    hidden = rng.permutation(np.flatnonzero(~shown))
    if strategy == "random":
        return hidden[:n]
    known = ds.where(shown)
    fit = aggregation.get("pooled-dawid-skene", **FIT).fit(known)
    if strategy == "entropy":
        entropy = -(fit.posterior * np.log(np.maximum(fit.posterior, 1e-300))).sum(1)
        task = ds.task[hidden]
        turn = pd.Series(task).groupby(task).cumcount().to_numpy()  # each task's first hidden label, then second, …
        return hidden[np.lexsort((-entropy[task], turn))[:n]]
    open_pairs = np.zeros((ds.n_tasks, ds.n_workers), bool)
    open_pairs[ds.task[hidden], ds.worker[hidden]] = True
    explore = 1.0 if strategy == "with workers" else 0.0
    plan = next_labels(known, n, fit=fit, open_pairs=open_pairs, explore=explore)
    row = np.full((ds.n_tasks, ds.n_workers), -1)
    row[ds.task[hidden], ds.worker[hidden]] = hidden
    picked = row[plan.task, plan.worker]
    rest = hidden[~np.isin(hidden, picked)]  # where nothing is expected to tell anything: at random
    return np.r_[picked, rest[: n - len(picked)]]


def curve(ds: CrowdDataset, strategy: str, seed: int) -> FloatArray:
    """(BATCHES + 1,) accuracy against gold along the budget."""
    rng = np.random.default_rng(seed)
    shown = shown_first(ds, 2 if ds.n_annotations >= 5 * ds.n_tasks else 1, rng)
    batch = round(SHARE * (~shown).sum() / BATCHES)
    means = []
    for step in range(BATCHES + 1):
        labels = aggregation.get("pooled-dawid-skene", **FIT).fit(ds.where(shown)).labels
        means.append(float((labels == ds.gold).mean()))
        if step < BATCHES:
            shown[chosen(ds, shown, batch, strategy, rng)] = True
    return np.array(means)
