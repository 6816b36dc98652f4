"""Do groups of annotators follow their errors, or how much they labelled? Planted groups, and the real sets.

``python -m benchmarks.groups [20]``: that many simulated crowds of 40 workers in two groups who err uniformly, except
that one group mostly calls class 0 class 1 and class 2 class 3; 800 tasks of 5 classes, 4 labels each, from workers
whose numbers of labels follow a Pareto distribution in both groups.
"""

from __future__ import annotations

import sys
from typing import get_args

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import crowdcore as cc
from crowdcore.analysis.workers.distance import Distance
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset

TASKS, WORKERS, CLASSES, PER_TASK = 800, 40, 5, 4


def planted(seed: int) -> tuple[CrowdDataset, IntArray]:
    """A crowd of two groups, and (n_workers,) the group of each."""
    rng = np.random.default_rng(seed)
    gold, group = rng.integers(CLASSES, size=TASKS), rng.integers(2, size=WORKERS)
    skill = rng.uniform(0.6, 0.85, WORKERS)[:, None, None]
    confusion = np.where(np.eye(CLASSES, dtype=bool), skill, (1 - skill) / (CLASSES - 1))
    for true, given in ((0, 1), (2, 3)):
        row = np.full(CLASSES, 0.05)
        row[given] = 0.7
        confusion[group == 1, true] = row / row.sum()
    share = rng.pareto(1.0, WORKERS) + 0.3
    task = np.repeat(np.arange(TASKS), PER_TASK)
    first = np.log(share) + rng.gumbel(size=(TASKS, WORKERS))  # workers without replacement, by their shares
    worker = np.argpartition(-first, PER_TASK, axis=1)[:, :PER_TASK].ravel()
    label = (rng.random(len(task))[:, None] > confusion[worker, gold[task]].cumsum(1)[:, :-1]).sum(1)
    names = tuple(f"class {c}" for c in range(CLASSES))
    tasks, workers = (pd.Index([f"{kind}{k}" for k in range(n)]) for kind, n in (("t", TASKS), ("w", WORKERS)))
    return CrowdDataset("planted", names, tasks, workers, task, worker, label, gold=gold), group


def groups(dataset: CrowdDataset, kind: Distance, count: int | None = None) -> IntArray:
    """Cut a tree of these distances into groups."""
    return cc.analysis.order_workers(cc.analysis.worker_distance(dataset, "gold", kind), count).groups


def main(crowds: int = 20) -> None:
    """Print both tables."""
    made = [planted(seed) for seed in range(crowds)]
    print("| distance | two groups | as many as the tree says |\n|---|---|---|")
    for kind in get_args(Distance):
        scores = [[adjusted_rand_score(group, groups(ds, kind, n)) for ds, group in made] for n in (2, None)]
        cells = (f"{np.mean(one):.2f} ± {np.std(one, ddof=1) / len(one) ** 0.5:.2f}" for one in scores)
        print(f"| `{kind}` | {' | '.join(cells)} |")
    print("\n| set | distance | groups: workers, their median labels, their median accuracy |\n|---|---|---|")
    for name in ("labelme", "music", "demo"):
        dataset = cc.load_dataset(name)
        quality = cc.analysis.worker_quality(dataset, "gold").frame()
        for kind in get_args(Distance):
            each = quality.groupby(groups(dataset, kind))
            args = (
                f"{len(g)}, {g['n_annotations'].median():.0f}, {100 * g['accuracy'].median():.0f} %" for _, g in each
            )
            print(f"| {name} | `{kind}` | {'; '.join(args)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
