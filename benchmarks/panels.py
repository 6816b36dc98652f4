"""Panels of judges without gold or with a little: labels, dependence, effective votes.

``python -m benchmarks.panels [FIRST SEED]`` prints the tables of benchmarks/results/panels.md: accuracy, calibration
and order of `trait` beside the vote and Dawid–Skene on judges_civil at several shares of the second class, by drawing
items of each class without replacement; how often panels are called dependent; effective votes without gold; and
`trait` with gold of some tasks drawn at random, judged on the others.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import crowdcore as cc
from crowdcore import analysis
from crowdcore.aggregation import AggregationResult
from crowdcore.aggregation._stack import stacked
from crowdcore.aggregation.trait import _BY_SHARE, _BY_VOTES, Trait, _cut
from crowdcore.analysis.gold_scores import calibration
from crowdcore.analysis.panels.opinion import MANY, SURE, one_opinion
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DRAWS = 10
ITEMS = 2_500  # of the set's 5,000, half of each class
GOLD = 25
GOLD_DRAWS = 6
SOME = (25, 50, 100, 200, 750)  # gold labels that `trait` is given


def drawn(crowd: CrowdDataset, share: float, rng: np.random.Generator) -> CrowdDataset:
    """Draw items of which ``share`` have the second class."""
    ones = round(share * ITEMS)
    classes = [rng.choice(np.flatnonzero(crowd.gold == c), n, replace=False) for c, n in ((0, ITEMS - ones), (1, ones))]
    return take_tasks(crowd, np.sort(np.concatenate(classes)))


def scores(fit: AggregationResult, crowd: CrowdDataset) -> tuple[float, float, float]:
    """Accuracy, ECE and AUC, in percent."""
    right = float((fit.labels == crowd.gold).mean())
    order = float(roc_auc_score(crowd.gold, fit.posterior[:, 1]))
    return 100 * right, 100 * calibration(fit, crowd.gold).error, 100 * order


def at_share(crowd: CrowdDataset, share: float, seed: int) -> np.ndarray:
    """(5, 3) scores of vote, Dawid–Skene, and the trait with the votes' share, that of 25 gold, and the true one."""
    rng = np.random.default_rng(seed)
    some = drawn(crowd, share, rng)
    ratio = (some.gold[rng.choice(ITEMS, GOLD, replace=False)].sum() + 0.5) / (GOLD + 1)
    fits = [cc.aggregation.get(name) for name in ("majority-vote", "dawid-skene", "trait")]
    fits += [cc.aggregation.get("trait", share=of) for of in (ratio, share)]
    return np.array([scores(fit.fit(some), some) for fit in fits])


def labels(crowd: CrowdDataset, seed: int) -> None:
    """Print the table of accuracies, after the whole set's."""
    whole = [("majority-vote", {}), ("dawid-skene", {}), ("trait", {}), ("trait", {"share": 0.5})]
    for name, settings in whole:
        accuracies = scores(cc.aggregation.get(name, **settings).fit(crowd), crowd)
        print(
            f"| {name} {settings or ''} | {accuracies[0]:.1f} | {accuracies[1] / 100:.3f} | {accuracies[2]:.1f} |",
            flush=True,
        )
    for share in SHARES:
        every = np.array([at_share(crowd, share, seed + k) for k in range(DRAWS)])
        mean, lost = every.mean(0), (every[:, 2, 0] - every[:, 0, 0]).min()
        least = (every[:, 2, 2] - every[:, 0, 2]).min()
        right, ece = " | ".join(f"{x:.1f}" for x in mean[:, 0]), " | ".join(f"{x / 100:.2f}" for x in mean[[2, 4], 1])
        print(f"| {share:.0%} | {right} | {lost:+.1f} | {ece} | {mean[0, 2]:.1f} | {mean[2, 2]:.1f} | {least:+.1f} |")


def given_gold(crowd: CrowdDataset, seed: int) -> np.ndarray:
    """(gold, 2, 2, 5) accuracy of vote, trait without and with gold, its ECE and gain, on the tasks without gold.

    By verdicts and by scores; with the share by votes, and with the true one. One fit gives the order for all of them.
    """
    counts = np.zeros((len(SOME), 2, 2, 5))
    vote = cc.aggregation.get("majority-vote").fit(crowd).posterior
    by_votes = float(((vote[:, 1] > vote[:, 0]) + 0.5 * (vote[:, 1] == vote[:, 0])).mean())
    orders = Trait()._by_verdicts(crowd)[0], Trait(scores="score")._by_scores(crowd)[0]
    for (kind, order), (prior, share) in product(enumerate(orders), enumerate((by_votes, float(crowd.gold.mean())))):
        border = _cut(order.place, share)
        for k, n in enumerate(SOME):
            known = np.full(crowd.n_tasks, -1)
            some = np.random.default_rng([seed, n]).choice(crowd.n_tasks, n, replace=False)
            known[some] = crowd.gold[some]
            second, off = stacked(order, border, known, (_BY_VOTES, _BY_SHARE)[prior]), known < 0
            fit = Trait().result(crowd, np.stack([1 - second, second], 1))
            sides = vote.argmax(1), order.place > border, fit.labels
            right = [100 * float((side == crowd.gold)[off].mean()) for side in sides]
            error = calibration(fit, np.where(off, crowd.gold, -1)).error
            counts[k, kind, prior] = *right, error, right[2] - right[1]
    return counts


def some_gold(crowd: CrowdDataset, seed: int) -> None:
    """Print the tables of accuracies with gold for some tasks."""
    for share in (0.5, 0.2, 0.8):
        every = np.array(
            [
                given_gold(crowd if share == 0.5 else drawn(crowd, share, np.random.default_rng(seed + k)), seed + k)
                for k in range(GOLD_DRAWS)
            ]
        )
        mean, worst = every.mean(0), every[..., 4].min(0)
        for kind, answers in enumerate(("verdicts", "scores")):
            for k, n in enumerate(SOME):
                cells = [f"{x:.1f}" for x in mean[k, kind, 0, :3]] + [f"{mean[k, kind, 0, 3]:.3f}"]
                cells += [f"{x:.1f}" for x in mean[k, kind, 1, 1:3]] + [f"{mean[k, kind, 1, 3]:.3f}"]
                cells += [f"{x:+.1f}" for x in worst[k, kind]]
                print(f"| {share:.0%} | {answers} | {n} | {' | '.join(cells)} |", flush=True)


def crowd_of(verdicts: np.ndarray) -> CrowdDataset:
    """A dataset of verdicts (n, m) of 0, 1, …, 4, -1 = none."""
    item, judge = np.nonzero(verdicts >= 0)
    args = np.array(["no", "yes", "c", "d", "e"])[verdicts[item, judge]]
    return cc.from_frame(pd.DataFrame({"task": item, "worker": judge, "label": args}))


def dependent(rng: np.random.Generator) -> CrowdDataset:
    """6 judges of 350 items who see one trait, whose side is the truth."""
    trait = (2 * rng.integers(0, 2, 350) - 1) * 0.8 + rng.normal(0, 1, 350)
    chance = expit(rng.uniform(0.8, 3, 6) * (trait[:, None] - rng.normal(0, 0.4, 6)))
    return crowd_of((rng.random((350, 6)) < chance).astype(int))


def independent(rng: np.random.Generator) -> CrowdDataset:
    """3 to 12 judges of 100 to 1,000 items, each with their own rates in both classes; half of the panels with gaps."""
    n, m = int(rng.choice([100, 350, 1000])), int(rng.integers(3, 13))
    truth = rng.random(n) < rng.uniform(0.1, 0.9)
    rates = np.where(truth[:, None], rng.uniform(0.5, 0.98, m), rng.uniform(0.02, 0.5, m))
    verdicts = (rng.random((n, m)) < rates).astype(int)
    verdicts[rng.random((n, m)) < rng.choice([0, 0.4])] = -1
    return crowd_of(verdicts)


def hard_of_three(rng: np.random.Generator) -> CrowdDataset:
    """6 judges of 350 items of three classes; hard items are hard for all, and often taken for the same class."""
    truth, ease = rng.integers(0, 3, 350), rng.normal(0, 1, 350)[:, None]
    right = rng.random((350, 6)) < expit(rng.uniform(0.6, 1.8, 6) + rng.uniform(0.8, 2, 6) * ease)
    foil = np.where(
        rng.random((350, 6)) < 0.6, (truth + rng.integers(1, 3, 350))[:, None] % 3, rng.integers(0, 3, (350, 6))
    )
    return crowd_of(np.where(right, truth[:, None], foil))


def independent_of_more(rng: np.random.Generator) -> CrowdDataset:
    """3 to 12 judges of 100 to 1,000 items of three to five classes, with their own confusions; half have gaps."""
    n, m, c = int(rng.choice([100, 350, 1000])), int(rng.integers(3, 13)), int(rng.integers(3, 6))
    truth = rng.choice(c, n, p=rng.dirichlet(np.full(c, 3.0)))
    own = rng.uniform(0.35, 0.95, m)[:, None, None]
    rates = own * np.eye(c) + (1 - own) * rng.dirichlet(np.ones(c), (m, c))
    verdicts = (rng.random((n, m, 1)) > rates[:, truth].transpose(1, 0, 2).cumsum(2)[..., :-1]).sum(2)
    verdicts[rng.random((n, m)) < rng.choice([0, 0.4])] = -1
    return crowd_of(verdicts)


def guard(crowd: CrowdDataset, seed: int) -> None:
    """Print how often panels are called dependent."""

    def part(rng: np.random.Generator) -> CrowdDataset:
        some = take_tasks(crowd, np.sort(rng.choice(crowd.n_tasks, 350, replace=False)))
        return some.where(np.isin(some.worker, rng.choice(crowd.n_workers, 6, replace=False)))

    panels = (dependent, 20), (part, 20), (independent, 280), (hard_of_three, 20), (independent_of_more, 280)
    for make, n in panels:
        opinions = [one_opinion(make(np.random.default_rng(seed + k))) for k in range(n)]
        gains = np.array([one.gain for one in opinions if one is not None])
        most = SURE if make in (hard_of_three, independent_of_more) else MANY
        print(f"| {make.__name__} | {n} | {(gains > most).sum()} | {(gains < -MANY).sum()} |", flush=True)


def votes(crowd: CrowdDataset, seed: int) -> None:
    """Print effective votes without gold over those with gold, on parts of the panel and at several class shares."""
    for share in (0.5, 0.2, 0.8):
        pairs = []
        for k in range(20):
            rng = np.random.default_rng(seed + k)
            some = drawn(crowd, share, rng)
            some = some.where(np.isin(some.worker, rng.choice(24, int(rng.integers(4, 25)), replace=False)))
            both = [analysis.panel(some, by, n_resamples=100).votes for by in ("majority-vote", "gold")]
            pairs.append([(a.kish / b.kish, a.kish_low <= b.kish <= a.kish_high) for a, b in zip(*both, strict=True)])
        ratio, covered = np.moveaxis(np.array(pairs), -1, 0)
        for kind, name in enumerate(("raw", "within classes")):
            near = (np.abs(ratio[:, kind] - 1) < 0.1).sum()
            ends = f"{ratio[:, kind].min():.2f}–{ratio[:, kind].max():.2f}"
            print(f"| {share:.0%} | {name} | {ends} | {near} | {covered[:, kind].sum():.0f} |", flush=True)


if __name__ == "__main__":
    first, civil = int(sys.argv[1]) if len(sys.argv) > 1 else 9000, cc.load_dataset("judges_civil")
    guard(civil, first)
    votes(civil, first)
    labels(civil, first)
    some_gold(civil, first)
