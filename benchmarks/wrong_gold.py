"""Is wrong gold found, and right gold left alone? Crowds whose gold is wrong on a known share of the tasks.

``python -m benchmarks.wrong_gold [CROWDS] [FIRST SEED]`` prints for each kind of `testkit.known_truth` how many right
gold labels are doubted where all are right, and, where 1 or 2 % are wrong, how many of these are found (recall) and how
many of those doubted are wrong (precision). Last come LabelMe and Music, if installed: gold doubted as it stands, its
share within mistakes of the guideline, and recall with further wrong gold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import crowdcore as cc
from crowdcore.analysis.verdicts.tasks import wrong_gold
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.catalogue import list_datasets
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view
from testkit.known_truth import HONEST, Known, guideline, honest, tickets

KINDS: dict[str, Callable[[np.random.Generator], Known]] = {
    "plain, 3 labels": partial(honest, n_tasks=400, per_task=3, skill=(0.7, 0.95)),
    "plain, 6 labels": partial(honest, n_tasks=400, per_task=6),
    "plain, 10 labels": partial(honest, n_tasks=400, per_task=10),
    "2 classes, 6 labels": partial(honest, n_tasks=400, per_task=6, n_classes=2, skill=(0.6, 0.95)),
    "unequal classes, 6 labels": partial(honest, n_tasks=400, per_task=6, prior=(0.7, 0.15, 0.1, 0.05)),
    "guideline": guideline,
    "tickets": tickets,
    "strict and lenient": HONEST["strict and lenient"],
    "own foils": HONEST["own foils"],
    "skill of two dimensions": HONEST["skill of two dimensions"],
    "panel of 6": HONEST["panel of 6"],
    "panel of 24": HONEST["panel of 24"],
}
SHARES = (0.01, 0.02)


def spoiled(
    dataset: CrowdDataset, true: IntArray, share: float, rng: np.random.Generator
) -> tuple[CrowdDataset, BoolArray]:
    """The crowd with a share of its gold made wrong, and the (n_tasks,) mask of these tasks."""
    known = np.flatnonzero(dataset.annotated & (true >= 0))
    wrong = np.isin(np.arange(len(true)), rng.choice(known, round(share * len(known)), replace=False))
    other = (true + rng.integers(1, dataset.n_classes, len(true))) % dataset.n_classes
    return replace(dataset, gold=np.where(wrong, other, true).astype(np.int32)), wrong


def counts(dataset: CrowdDataset, true: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """Wrong gold, doubted of it, doubted of the rest."""
    crowd, wrong = spoiled(dataset, true, share, rng)
    doubted = wrong_gold(crowd, crowd.gold) > 0.5
    return np.array([wrong.sum(), (doubted & wrong).sum(), (doubted & ~wrong).sum()])


def main() -> None:
    crowds, first = (int(number) for number in (*sys.argv[1:], *("20", "0")[len(sys.argv) - 1 :]))
    print("| crowds | right gold doubted | 1 % wrong: recall | precision | 2 % wrong: recall | precision |")
    print("|---|--:|--:|--:|--:|--:|")
    for kind, make in KINDS.items():
        totals, tasks = np.zeros((3, 3)), 0
        for seed in range(first, first + crowds):
            rng = np.random.default_rng([seed, len(kind)])
            known = make(rng)
            tasks += len(known.true)
            totals += [counts(known.dataset, known.true, share, rng) for share in (0.0, *SHARES)]
        cells = [f"{hit / wrong:.2f} | {hit / max(hit + false, 1):.2f}" for wrong, hit, false in totals[1:]]
        print(f"| {kind} | {100 * totals[0, 2] / tasks:.2f} % | {' | '.join(cells)} |", flush=True)
    for name in sorted({"labelme", "music"} & set(list_datasets())):
        ds = cc.load_dataset(name)
        of = view(ds, "gold")
        judged = verdicts.tasks_judged(of)
        doubted = np.flatnonzero(judged.verdict == "check")
        shared = verdicts.guideline_cells(of)[ds.gold[doubted], judged.label[doubted]].sum()
        against = (ds.annotated & (judged.gold >= 0) & (judged.label != judged.gold)).sum()
        rng = np.random.default_rng(first)
        more = [sum(counts(ds, ds.gold, share, rng) for _ in range(5)) for share in SHARES]
        recall = ", ".join(f"{hit / wrong:.2f}" for wrong, hit, _ in more)
        print(
            f"{name}: {against} of {int((ds.annotated & (ds.gold >= 0)).sum())} contradicted, {len(doubted)} doubted, "
            f"{shared} of these in mistakes of the guideline; recall of 1 and 2 % more wrong gold: {recall}"
        )


if __name__ == "__main__":
    main()
