"""What panels of judges say without gold: labels by one trait, whether judges depend on each other, effective votes.

``python -m benchmarks.panels [FIRST SEED]`` prints the tables of benchmarks/results/panels.md: accuracy, calibration
and order of `trait` beside the vote and Dawid–Skene on judges_civil at several shares of the second class, by drawing
items of each class without replacement; how often panels are said to be dependent; effective votes without gold.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import crowdcore as cc
from crowdcore import analysis
from crowdcore.aggregation import AggregationResult
from crowdcore.analysis.gold_scores import calibration
from crowdcore.analysis.panels.opinion import MANY, one_opinion
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


def crowd_of(verdicts: np.ndarray) -> CrowdDataset:
    """A dataset of verdicts (n, m) of 0 and 1, -1 = none."""
    item, judge = np.nonzero(verdicts >= 0)
    said = np.array(["no", "yes"])[verdicts[item, judge]]
    return cc.from_frame(pd.DataFrame({"task": item, "worker": judge, "label": said}))


def dependent(rng: np.random.Generator) -> CrowdDataset:
    """6 judges of 350 items who see one trait, of which the truth is but the side."""
    trait = (2 * rng.integers(0, 2, 350) - 1) * 0.8 + rng.normal(0, 1, 350)
    chance = expit(rng.uniform(0.8, 3, 6) * (trait[:, None] - rng.normal(0, 0.4, 6)))
    return crowd_of((rng.random((350, 6)) < chance).astype(int))


def independent(rng: np.random.Generator) -> CrowdDataset:
    """3 to 12 judges of 100 to 1,000 items, each with own rates in both classes; half of them with gaps."""
    n, m = int(rng.choice([100, 350, 1000])), int(rng.integers(3, 13))
    truth = rng.random(n) < rng.uniform(0.1, 0.9)
    rates = np.where(truth[:, None], rng.uniform(0.5, 0.98, m), rng.uniform(0.02, 0.5, m))
    verdicts = (rng.random((n, m)) < rates).astype(int)
    verdicts[rng.random((n, m)) < rng.choice([0, 0.4])] = -1
    return crowd_of(verdicts)


def guard(crowd: CrowdDataset, seed: int) -> None:
    """How often a panel is said to be dependent."""

    def part(rng: np.random.Generator) -> CrowdDataset:
        some = take_tasks(crowd, np.sort(rng.choice(crowd.n_tasks, 350, replace=False)))
        return some.where(np.isin(some.worker, rng.choice(crowd.n_workers, 6, replace=False)))

    for make, n in ((dependent, 20), (part, 20), (independent, 280)):
        opinions = [one_opinion(make(np.random.default_rng(seed + k))) for k in range(n)]
        gains = np.array([one.gain for one in opinions if one is not None])
        print(f"| {make.__name__} | {n} | {(gains > MANY).sum()} | {(gains < -MANY).sum()} |", flush=True)


def votes(crowd: CrowdDataset, seed: int) -> None:
    """Effective votes without gold over those with gold, on parts of the panel and other shares of the classes."""
    for share in (0.5, 0.2, 0.8):
        found = []
        for k in range(20):
            rng = np.random.default_rng(seed + k)
            some = drawn(crowd, share, rng)
            some = some.where(np.isin(some.worker, rng.choice(24, int(rng.integers(4, 25)), replace=False)))
            both = [analysis.panel(some, by, n_resamples=100).votes for by in ("majority-vote", "gold")]
            found.append([(a.kish / b.kish, a.kish_low <= b.kish <= a.kish_high) for a, b in zip(*both, strict=True)])
        ratio, held = np.moveaxis(np.array(found), -1, 0)
        for kind, name in enumerate(("raw", "within classes")):
            near = (np.abs(ratio[:, kind] - 1) < 0.1).sum()
            ends = f"{ratio[:, kind].min():.2f}–{ratio[:, kind].max():.2f}"
            print(f"| {share:.0%} | {name} | {ends} | {near} | {held[:, kind].sum():.0f} |", flush=True)


if __name__ == "__main__":
    first, civil = int(sys.argv[1]) if len(sys.argv) > 1 else 9000, cc.load_dataset("judges_civil")
    guard(civil, first)
    votes(civil, first)
    labels(civil, first)
