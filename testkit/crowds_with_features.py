"""Simulated crowds with features, of five kinds, to judge the recovery of workers and of shared mistakes by runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.rows import Rows

_CLASSES, _FEATURES = 6, 20
_APART = 0.66  # standard deviation of a centre's coordinates: the best classifier is right for about 9 tasks of 10
_SHARED = 0.55  # rate of a shared mistake among the workers who make it
_HARD = 0.35  # share of the tasks that look like another class


def independent(seed: int, tasks: int = 1000) -> CrowdDataset:
    """Every worker has their own skill and mistakes."""
    return _crowd("independent", seed, tasks)


def shared(seed: int, tasks: int = 1000) -> CrowdDataset:
    """Three workers of five share two mistakes."""
    return _crowd("shared", seed, tasks, mistaken=0.6)


def lookalikes(seed: int, tasks: int = 1000) -> CrowdDataset:
    """Every worker gives a third of the tasks that look like another class that class."""
    return _crowd("lookalikes", seed, tasks, deceived=0.35)


def roles(seed: int, tasks: int = 1000) -> CrowdDataset:
    """Experts, spammers, an adversary, and five workers who repeat most labels of a sixth."""
    return _crowd("roles", seed, tasks, roles=True)


def sparse(seed: int, tasks: int = 1000) -> CrowdDataset:
    """One label a task; three workers of ten share two mistakes."""
    return _crowd("sparse", seed, tasks, workers=20, labels=1, mistaken=0.3)


KINDS: dict[str, Callable[[int], CrowdDataset]] = {
    f.__name__: f for f in (independent, shared, lookalikes, roles, sparse)
}


def _crowd(
    name: str,
    seed: int,
    tasks: int,
    *,
    workers: int = 40,
    labels: int = 3,
    mistaken: float = 0.0,
    deceived: float = 0.0,
    roles: bool = False,
) -> CrowdDataset:
    """Add half as many tasks as a test split; no gold is used for selection.

    The truth holds each label's source: ``used_common`` where a shared mistake, or a task's looks, made the label.
    """
    rng = np.random.default_rng(seed)
    c, n, every = _CLASSES, tasks, tasks + tasks // 2
    gold = rng.integers(0, c, every)
    centres = rng.normal(0, _APART, (c, _FEATURES))
    x = centres[gold] + rng.normal(size=(every, _FEATURES))
    task, worker = _assigned(rng, n, workers, labels)
    own = _own_confusions(rng, workers, c)
    role = np.full(workers, "", object)
    if roles:
        role[:3], role[3:7], role[7], role[8:13] = "expert", "spammer", "adversary", "copier"
        own[:3] = 0.97 * np.eye(c) + 0.03 / c
        own[3:7] = rng.dirichlet(np.ones(c), 4)[:, None]
        own[7] = 0.9 * np.roll(np.eye(c), 1, 1) + 0.1 / c
    true = gold[task]
    label = _draw_classes(rng, own[worker, true])
    source = np.zeros(len(task), bool)
    if mistaken:
        taken = rng.permutation(c)[:4].reshape(2, 2)
        given = np.full(c, -1)
        given[taken[:, 0]] = taken[:, 1]
        source = (rng.random(workers) < mistaken)[worker] & (given[true] >= 0) & (rng.random(len(task)) < _SHARED)
        label = np.where(source, given[true], label)
    if deceived:
        other, looks = _looks(x, centres, gold)
        source = looks[task] & (rng.random(len(task)) < deceived)
        label = np.where(source, other[task], label)
    if roles:
        copied = _draw_classes(rng, own[13][gold[:n]])[task]  # what a worker gives, and copiers give 9 of 10 tasks
        repeats = (worker == 13) | ((role == "copier")[worker] & (rng.random(len(task)) < 0.9))
        label = np.where(repeats, copied, label)
    return CrowdDataset(
        f"{name}-{seed}",
        tuple(f"c{k}" for k in range(c)),
        pd.RangeIndex(every).astype(str),
        pd.Index([f"w{k:02d}" for k in range(workers)]),
        task.astype(np.int32),
        worker.astype(np.int32),
        label.astype(np.int32),
        gold=gold.astype(np.int32),
        split=np.r_[np.zeros(n, np.int8), np.full(every - n, 2, np.int8)],
        features=Rows.from_array(x.astype(np.float32)),
        truth=SimulatedTruth(used_common=source, settings={"seed": seed}, worker_role=tuple(role)),
    )


def _assigned(rng: np.random.Generator, n: int, workers: int, labels: int) -> tuple[IntArray, IntArray]:
    """Tasks and their workers, some of whom are far more active than others."""
    active = np.log(rng.gamma(1.0, 1.0, workers) + 0.05)
    drawn = np.argsort(-(active + rng.gumbel(size=(n, workers))), 1)[:, :labels]
    return np.repeat(np.arange(n), labels), np.sort(drawn, 1).ravel()


def _own_confusions(rng: np.random.Generator, workers: int, c: int) -> FloatArray:
    """(workers, C, C) confusions: skills that vary a little between classes, and individual mistakes."""
    skill = rng.beta(5, 2, workers)
    right = np.clip(skill[:, None] + rng.normal(0, 0.08, (workers, c)), 0.05, 0.98)
    off = rng.dirichlet(np.full(c - 1, 0.7), (workers, c))
    own = np.zeros((workers, c, c))
    own[:, ~np.eye(c, dtype=bool)] = ((1 - right)[..., None] * off).reshape(workers, -1)
    own[:, np.arange(c), np.arange(c)] = right
    return own


def _draw_classes(rng: np.random.Generator, rows: FloatArray) -> IntArray:
    return np.asarray((rows.cumsum(1) > rng.random((len(rows), 1)) * rows.sum(1, keepdims=True)).argmax(1))


def _looks(x: FloatArray, centres: FloatArray, gold: IntArray) -> tuple[IntArray, BoolArray]:
    """The class that each task looks like besides its own, and the tasks with the greatest likeness."""
    distance = ((x[:, None] - centres) ** 2).sum(2)
    at = np.arange(len(gold)), gold
    own = distance[at]
    distance[at] = np.inf
    likeness = own - distance.min(1)
    return distance.argmin(1), likeness > np.quantile(likeness, 1 - _HARD)
