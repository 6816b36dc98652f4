"""What panels of judges say without gold: labels by one trait, whether judges depend on each other, effective votes.

``python -m benchmarks.panels [FIRST SEED]`` prints the tables of benchmarks/results/panels.md: accuracy, calibration
and order of `trait` beside the vote and Dawid–Skene on judges_civil at several shares of the second class, by drawing
items of each class without replacement.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.metrics import roc_auc_score

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.analysis.gold_scores import calibration
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DRAWS = 10
ITEMS = 2_500  # of the set's 5,000, half of each class
GOLD = 25


def drawn(crowd: CrowdDataset, share: float, rng: np.random.Generator) -> CrowdDataset:
    """Items of which ``share`` have the second class."""
    ones = round(share * ITEMS)
    classes = [rng.choice(np.flatnonzero(crowd.gold == c), n, replace=False) for c, n in ((0, ITEMS - ones), (1, ones))]
    return take_tasks(crowd, np.sort(np.concatenate(classes)))


def scores(found: AggregationResult, crowd: CrowdDataset) -> tuple[float, float, float]:
    """Accuracy, ECE and AUC, in percent."""
    right = float((found.labels == crowd.gold).mean())
    order = float(roc_auc_score(crowd.gold, found.posterior[:, 1]))
    return 100 * right, 100 * calibration(found, crowd.gold).error, 100 * order


def at_share(crowd: CrowdDataset, share: float, seed: int) -> np.ndarray:
    """(5, 3) scores of vote, Dawid–Skene, and the trait with the votes' share, that of 25 gold, and the true one."""
    rng = np.random.default_rng(seed)
    some = drawn(crowd, share, rng)
    told = (some.gold[rng.choice(ITEMS, GOLD, replace=False)].sum() + 0.5) / (GOLD + 1)
    fits = [cc.aggregation.get(name) for name in ("majority-vote", "dawid-skene", "trait")]
    fits += [cc.aggregation.get("trait", share=of) for of in (told, share)]
    return np.array([scores(fit.fit(some), some) for fit in fits])


def labels(crowd: CrowdDataset, seed: int) -> None:
    """The table of accuracies, and the whole set."""
    whole = [("majority-vote", {}), ("dawid-skene", {}), ("trait", {}), ("trait", {"share": 0.5})]
    for name, settings in whole:
        found = scores(cc.aggregation.get(name, **settings).fit(crowd), crowd)
        print(f"| {name} {settings or ''} | {found[0]:.1f} | {found[1] / 100:.3f} | {found[2]:.1f} |", flush=True)
    for share in SHARES:
        every = np.array([at_share(crowd, share, seed + k) for k in range(DRAWS)])
        mean, lost = every.mean(0), (every[:, 2, 0] - every[:, 0, 0]).min()
        least = (every[:, 2, 2] - every[:, 0, 2]).min()
        right, ece = " | ".join(f"{x:.1f}" for x in mean[:, 0]), " | ".join(f"{x / 100:.2f}" for x in mean[[2, 4], 1])
        print(f"| {share:.0%} | {right} | {lost:+.1f} | {ece} | {mean[0, 2]:.1f} | {mean[2, 2]:.1f} | {least:+.1f} |")


if __name__ == "__main__":
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    labels(cc.load_dataset("judges_civil"), first)
