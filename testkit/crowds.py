"""Simulated crowds of many kinds, for tests and benchmarks that must not look at real gold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.testing import simulate_crowd as simulate_crowd


class Kind(NamedTuple):
    """Settings of a simulated crowd.

    Attributes:
        tasks, workers, classes, per_task: sizes.
        skill: two parameters of the Beta distribution of the workers' accuracies.
        shares: concentration of the class shares (large = equal).
        spammers, adversaries: shares of the workers who guess, or give another class on purpose.
        own: share of a worker's mistakes that goes to a class of their own.
        common: probability that an annotation follows the common confusion, tasks differing (`foiled`).
        foiled: share of the tasks on which the common confusion acts.
        difficulty: standard deviation of the tasks' difficulty on the logit scale.
        sparse: exponent of the workers' activity (0 = even).
        ties: probability of the last class as an answer, whatever the truth, which is never that class.
        copied: share of the labels that follow the look of the task instead of the worker's confusion.
    """

    tasks: int = 400
    workers: int = 30
    classes: int = 4
    per_task: float = 5
    skill: tuple[float, float] = (7, 3)
    shares: float = 20
    spammers: float = 0
    adversaries: float = 0
    own: float = 0.5
    common: float = 0
    foiled: float = 0.3
    difficulty: float = 0
    sparse: float = 0.5
    ties: float = 0
    copied: float = 0


INDEPENDENT = {
    "plain": Kind(),
    "two classes": Kind(classes=2, per_task=7),
    "many classes": Kind(tasks=800, classes=15, workers=40),
    "unequal classes": Kind(classes=2, shares=1, per_task=5),
    "rare classes": Kind(classes=5, shares=0.7, tasks=600),
    "few labels per task": Kind(per_task=2.5, workers=40, tasks=800),
    "sparse workers": Kind(workers=200, tasks=600, sparse=1.5),
    "spammers": Kind(spammers=0.4, workers=50),
    "adversaries": Kind(adversaries=0.15, classes=3, workers=30),
    "dense": Kind(workers=20, tasks=150, per_task=20, classes=2, skill=(4, 3)),
    "weak": Kind(skill=(4, 4), classes=4, per_task=8, workers=20),
    "large": Kind(tasks=3000, workers=60),
}
DEPENDENT = {
    "common confusion": Kind(common=0.6, classes=6, per_task=3, workers=50, tasks=800),
    "common confusion, dense": Kind(common=0.5, classes=8, per_task=10, workers=40),
    "hard tasks": Kind(difficulty=1.5, classes=4, workers=50),
    "hard tasks, two classes": Kind(difficulty=1.5, classes=2, per_task=9, workers=40, shares=3),
    "hard and few": Kind(difficulty=1.5, classes=8, per_task=2.5, workers=60, tasks=1000),
    "judges": Kind(common=0.7, classes=2, per_task=20, workers=20, tasks=1500, foiled=0.3, shares=3),
    "hard spammers": Kind(difficulty=1, spammers=0.3, classes=6, workers=60),
    "hard rare": Kind(difficulty=1.5, shares=0.7, classes=3, workers=200, sparse=1.5, tasks=800),
}

COLLAPSING = {
    "ties, rarely given": Kind(classes=3, tasks=800, workers=60, per_task=3, skill=(12, 5), ties=0.05, sparse=1.2),
    "guesses in two classes": Kind(
        classes=2, tasks=2000, workers=700, per_task=6, skill=(6, 5), spammers=0.5, sparse=1.3
    ),
    "judges who err together": Kind(classes=2, tasks=1500, workers=24, per_task=24, skill=(6, 3), copied=0.8),
}


def simulated(kind: str, seed: int) -> CrowdDataset:
    """One crowd with gold."""
    k = (INDEPENDENT | DEPENDENT | COLLAPSING)[kind]
    rng = np.random.default_rng([seed, *kind.encode()])
    used = k.classes - (k.ties > 0)
    gold = rng.choice(used, k.tasks, p=rng.dirichlet(np.full(used, k.shares)))
    task, worker = _pairs(k, rng)
    confusion = _confusions(k, rng)
    label = _draw(confusion[worker, gold[task]], rng)
    ease = rng.normal(0, k.difficulty, k.tasks)[task]
    if k.difficulty:  # right answers get lost on hard tasks, mistakes get mended on easy ones
        right = label == gold[task]
        lost = right & (rng.random(len(task)) > 1 / (1 + np.exp(-(ease + 2))))
        mended = ~right & (rng.random(len(task)) < 1 / (1 + np.exp(-(ease - 1))))
        foil = (gold + rng.integers(1, k.classes, k.tasks)) % k.classes
        label = np.where(lost, np.where(rng.random(len(task)) < 0.6, foil[task], _other(gold[task], k, rng)), label)
        label = np.where(mended, gold[task], label)
    if k.common:
        target = (np.arange(k.classes) + rng.integers(1, k.classes, k.classes)) % k.classes
        hit = (rng.random(k.tasks) < k.foiled)[task] & (rng.random(len(task)) < k.common)
        label = np.where(hit, target[gold[task]], label)
    if k.ties:
        last = rng.random(len(task)) < k.ties
        label = np.where(last, used, np.where(label == used, gold[task], label))
    if k.copied:
        clear = rng.beta(1.6, 1, k.tasks)[task]  # how often the task's look leads to its class
        shown = np.where(rng.random(len(task)) < clear, gold[task], 1 - gold[task])
        label = np.where(rng.random(len(task)) < k.copied, shown, label)
    return CrowdDataset(
        kind,
        tuple(f"class {c}" for c in range(k.classes)),
        pd.RangeIndex(k.tasks).astype(str),
        pd.RangeIndex(k.workers).astype(str),
        task,
        worker,
        label.astype(np.int32),
        gold=gold.astype(np.int32),
    )


def _pairs(k: Kind, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Tasks (sorted) and workers of the annotations: no worker labels a task twice."""
    activity = (1 + np.arange(k.workers)) ** -k.sparse
    order = np.argsort(rng.gumbel(size=(k.tasks, k.workers)) + np.log(activity), axis=1)[:, ::-1]
    low = int(k.per_task)
    many = low + (rng.random(k.tasks) < k.per_task - low)
    keep = np.arange(k.workers) < many[:, None]
    return np.nonzero(keep)[0].astype(np.int32), order[keep].astype(np.int32)


def _confusions(k: Kind, rng: np.random.Generator) -> FloatArray:
    """(R, C, C) confusions, row = true class."""
    shape = (k.workers, k.classes)
    right = np.clip(rng.beta(*k.skill, (k.workers, 1)) + rng.normal(0, 0.08, shape), 0.02, 0.99)
    own = (np.arange(k.classes) + rng.integers(1, k.classes, shape)) % k.classes
    r, c = np.indices(shape)
    confusion: Any = np.repeat(((1 - right) * (1 - k.own) / (k.classes - 1))[:, :, None], k.classes, axis=2)
    confusion[r, c, own] += (1 - right) * k.own
    confusion[r, c, c] = right
    order = rng.permutation(k.workers)
    spammers, rest = np.split(order, [int(k.spammers * k.workers)])
    confusion[spammers] = rng.dirichlet(np.full(k.classes, 0.5), len(spammers))[:, None]
    for worker in rest[: int(k.adversaries * k.workers)]:
        confusion[worker] = np.roll(confusion[worker], 1, axis=1)
    return np.asarray(confusion)


def _draw(rows: FloatArray, rng: np.random.Generator) -> IntArray:
    drawn = (rows.cumsum(1) < rng.random(len(rows))[:, None]).sum(1)
    return np.asarray(np.minimum(drawn, rows.shape[1] - 1))


def _other(gold: IntArray, k: Kind, rng: np.random.Generator) -> IntArray:
    return np.asarray((gold + rng.integers(1, k.classes, len(gold))) % k.classes)
