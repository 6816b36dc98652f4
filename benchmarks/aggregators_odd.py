"""Is `auto` ever more than a point below the majority vote? Crowds unlike those on which it was developed.

``python -m benchmarks.aggregators_odd [CROWDS] [FIRST SEED]``: accuracies in % over 20 crowds of each kind by default,
the majority vote with ties drawn by lot, and their difference with its standard error over crowds. Fails if the mean
difference of a kind is below -1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from crowdcore import aggregation
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

Drawn = tuple[IntArray, FloatArray, int]  # gold, confusions (R, C, C), labels of a task


def _uniform(skill: FloatArray, n_classes: int) -> FloatArray:
    """(R, C, C) confusions of workers whose mistakes fall anywhere."""
    right = np.eye(n_classes, dtype=bool)
    wrong = ((1 - skill) / (n_classes - 1))[:, None, None]
    return np.where(right, skill[:, None, None], wrong)


def many_classes(rng: np.random.Generator) -> Drawn:
    """50 classes, two or so tasks of a class and worker."""
    return rng.integers(50, size=300), _uniform(rng.uniform(0.4, 0.9, 20), 50), 3


def imbalanced(rng: np.random.Generator) -> Drawn:
    """One task in thirty is positive."""
    return (rng.random(600) < 1 / 30).astype(int), _uniform(rng.uniform(0.7, 0.95, 15), 2), 5


def adversaries(rng: np.random.Generator) -> Drawn:
    """A fifth of the workers give the wrong class on purpose."""
    skill = np.where(np.arange(20) % 5 == 0, 0.15, rng.uniform(0.65, 0.95, 20))
    return rng.integers(2, size=300), _uniform(skill, 2), 5


def one_dominant(rng: np.random.Generator) -> Drawn:
    """One worker of middling skill labels every task, others two of them each: see `crowd`."""
    return rng.integers(4, size=300), _uniform(np.r_[0.6, rng.uniform(0.5, 0.95, 40)], 4), -3


def ties(rng: np.random.Generator) -> Drawn:
    """Two labels a task."""
    return rng.integers(4, size=400), _uniform(rng.uniform(0.5, 0.9, 20), 4), 2


def ordinal(rng: np.random.Generator) -> Drawn:
    """Five grades; mistakes fall on the next ones."""
    away = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    rows = np.exp(-away / rng.uniform(0.3, 1.0, 20)[:, None, None])
    return rng.integers(5, size=300), rows / rows.sum(2, keepdims=True), 4


def one_label(rng: np.random.Generator) -> Drawn:
    """One label a task."""
    return rng.integers(4, size=400), _uniform(rng.uniform(0.5, 0.9, 20), 4), 1


def all_bad(rng: np.random.Generator) -> Drawn:
    """Workers hardly better than chance."""
    return rng.integers(4, size=300), _uniform(rng.uniform(0.3, 0.4, 20), 4), 5


KINDS: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "50 classes": many_classes,
    "1 in 30 positive": imbalanced,
    "a fifth adversaries": adversaries,
    "one dominant worker": one_dominant,
    "two labels a task": ties,
    "neighbouring grades": ordinal,
    "one label a task": one_label,
    "hardly better than chance": all_bad,
}


def crowd(kind: str, seed: int) -> CrowdDataset:
    """A crowd; a negative number of labels a task counts worker 0, who labels all, among them."""
    rng = np.random.default_rng([seed, len(kind)])
    gold, confusion, per_task = KINDS[kind](rng)
    n_tasks, (n_workers, n_classes) = len(gold), confusion.shape[:2]
    drawn = rng.random((n_tasks, n_workers))
    drawn[:, 0] -= per_task < 0
    task = np.repeat(np.arange(n_tasks), abs(per_task))
    worker = np.argsort(drawn, axis=1)[:, : abs(per_task)].ravel()
    label = (rng.random(len(task))[:, None] > confusion[worker, gold[task]].cumsum(1)[:, :-1]).sum(1)
    names = tuple(f"class {c}" for c in range(n_classes))
    tasks, workers = (pd.Index([f"{k}{i}" for i in range(n)]) for k, n in (("t", n_tasks), ("w", n_workers)))
    return CrowdDataset(f"{kind}-{seed}", names, tasks, workers, task, worker, label, gold=gold)


def main() -> int:
    numbers = [int(word) for word in sys.argv[1:]]
    crowds, first = [*numbers, *(20, 0)[len(numbers) :]]
    vote, auto = aggregation.get("majority-vote", ties="random"), aggregation.get("auto")
    print("| crowds | majority vote | auto | difference |\n|---|--:|--:|--:|")
    worst = np.inf
    for kind in KINDS:
        made = [crowd(kind, seed) for seed in range(first, first + crowds)]
        means = np.array([[100 * (by.fit(ds).labels == ds.gold).mean() for by in (vote, auto)] for ds in made])
        gain = means[:, 1] - means[:, 0]
        worst = min(worst, gain.mean())
        error = gain.std(ddof=1) / len(gain) ** 0.5
        print(f"| {kind} | {means[:, 0].mean():.1f} | {means[:, 1].mean():.1f} | {gain.mean():+.1f} ± {error:.1f} |")
        sys.stdout.flush()
    return int(worst < -1)


if __name__ == "__main__":
    sys.exit(main())
