"""Do notes on bias name the right direction, and do the pages' intervals contain the truth?

Each line is a note, the crowds it was measured on, and the measurement; a note whose sign is wrong is marked, and
makes the exit code 1. Gold is known of all these simulated crowds.

``python -m benchmarks.notes [CROWDS] [FIRST SEED]``; 20 crowds of each kind by default.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore import analysis
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulated
from testkit.planted import COPIED, COPIER, honest_crowd, planted_crowd

SHARES = ("majority-vote", "wawa", "zero-based-skill")
MODELS = ("auto", "dawid-skene", "glad", "mace")
INDEPENDENT = ("plain", "many classes", "sparse workers", "adversaries", "large")
ALIKE = ("common confusion", "judges", "hard and few")
wrong = False


def say(note: str, crowd: str, measured: FloatArray | Iterable[float], sign: int, least: float = 0.0) -> None:
    """Print a measured mean, and whether its sign is the note's (0: near 0)."""
    global wrong
    value = np.asarray(list(measured))
    mean = float(value.mean())
    fine = abs(mean) <= least if sign == 0 else sign * mean > least
    wrong |= not fine
    error = value.std(ddof=1) / np.sqrt(len(value)) if len(value) > 1 else np.nan
    print(f"| {note} | {crowd} | {mean:+.3f} ± {error:.3f} | {'' if fine else 'WRONG SIGN'} |", flush=True)


def shifted(kind: str, name: str, seeds: range) -> FloatArray:
    """Accuracy by an aggregator less that by gold, in the mean over labels."""
    values = []
    for seed in seeds:
        crowd = simulated(kind, seed)
        by, gold = (analysis.worker_quality(crowd, of).accuracy for of in (name, "gold"))
        some = np.flatnonzero(crowd.labels_per_worker)
        values.append(float(np.average((by - gold)[some], weights=crowd.labels_per_worker[some])))
    return np.array(values)


def constant_among_learners(seed: int) -> float:
    """Change between two rounds, without gold, of a worker of constant skill whose colleagues become better."""
    crowd, rng = honest_crowd(seed, n_tasks=400, n_workers=12, even=True), np.random.default_rng(seed)
    second = np.arange(crowd.n_tasks)[crowd.task] >= 200
    right = rng.random(len(second)) < np.where(crowd.worker == 0, 0.85, np.where(second, 0.9, 0.6))
    other = (crowd.gold[crowd.task] + rng.integers(1, crowd.n_classes, len(right))) % crowd.n_classes
    label = np.where(right, crowd.gold[crowd.task], other).astype(np.int32)
    crowd = replace(crowd, label=label, extra=pd.DataFrame({"round": np.where(second, 2, 1)}))
    rounds = analysis.rounds(crowd, "auto", by="round")
    return float((rounds.workers.second - rounds.workers.first)[0])


def copied(seed: int) -> tuple[float, float]:
    """Identical mistakes of a copying pair by votes less those by gold; its accuracy by `auto` less that by gold."""
    crowd = planted_crowd(seed, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True, per_task=4)
    pairs = [analysis.pair_mistakes(crowd, of) for of in ("majority-vote", "gold")]
    alike = [of.wrong_alike[(of.worker_a == COPIER) & (of.worker_b == COPIED)][0] for of in pairs]
    good = [analysis.worker_quality(crowd, of).accuracy[[COPIER, COPIED]].mean() for of in ("auto", "gold")]
    return float(alike[0] - alike[1]), float(good[0] - good[1])


def rated(seed: int, name: str) -> tuple[float, float]:
    """Slopes and errors by an inferred rating less those by gold, in the mean over workers."""
    settings = {"shared_low": 0, "shared_high": 0, "spammers": 0, "copiers": 0, "noise": 1.5, "per_task": 4}
    crowd = cc.data.simulate.ratings(seed=seed, **settings)
    by, gold = (analysis.rating_workers(crowd, analysis.rating_truth(crowd, of)) for of in (name, "gold"))
    return float(np.nanmean(by.scale - gold.scale)), float(np.nanmean(by.rmse - gold.rmse))


def cohen(seeds: range) -> FloatArray:
    """Mean kappa of pairs with 16 tasks in common less that of pairs with 300, of the same workers' kind."""
    settings = {"n_workers": 20, "per_task": 5, "skill": (0.6, 0.9), "even": True}
    few, many = (
        [analysis.agreement(honest_crowd(s, n_tasks=n, **settings), n_resamples=0).cohen.value for s in seeds]
        for n in (300, 6000)
    )
    return np.subtract(few, many)


def doubted(kind: str, seed: int) -> float:
    """Share of tasks expected to be wrong, less the share that is."""
    crowd = simulated(kind, seed)
    verdicts = analysis.task_verdicts(replace(crowd, gold=np.full(crowd.n_tasks, -1, np.int32)), "auto")
    return float((verdicts.in_doubt - (verdicts.label != crowd.gold)[verdicts.n_annotations > 0].sum()) / crowd.n_tasks)


def coverage(seeds: range) -> None:
    """Print the coverage of 95 % intervals."""
    print("\n| interval | holds the truth |\n|---|--:|")

    def row(name: str, is_covered: Callable[[int], BoolArray]) -> None:
        print(f"| {name} | {np.mean([is_covered(seed).mean() for seed in seeds]):.3f} |", flush=True)

    skill = np.linspace(0.5, 0.9, 20)

    def crowd(seed: int, second: BoolArray | None = None) -> CrowdDataset:
        base, rng = honest_crowd(seed, n_tasks=300, n_workers=20, even=True), np.random.default_rng(seed)
        off = (rng.random(len(base.task)) >= skill[base.worker]) * rng.integers(1, 4, len(base.task))
        extra = None if second is None else pd.DataFrame({"round": 1 + second[base.task]})
        return replace(base, label=((base.gold[base.task] + off) % 4).astype(np.int32), extra=extra)

    for name in ("gold", "auto", "majority-vote"):

        def accuracy(seed: int, name: str = name) -> BoolArray:
            quality = analysis.worker_quality(crowd(seed), name)
            return np.asarray((quality.accuracy_low <= skill) & (skill <= quality.accuracy_high))

        row(f"accuracy of a worker by {name}", accuracy)
    for name in ("gold", "auto"):

        def change(seed: int, name: str = name) -> BoolArray:
            workers = analysis.rounds(crowd(seed, np.arange(300) >= 150), name, by="round").workers
            return np.asarray((workers.low <= 0) & (workers.high >= 0))

        row(f"change of a worker between two rounds by {name}", change)

    def shared(seed: int) -> BoolArray:
        settings = {"shared_low": 0, "shared_high": 0, "spammers": 0, "copiers": 0, "n_workers": 30}
        of = cc.data.simulate.ratings(seed=seed, low=-20, high=30, **settings)
        bias = analysis.shared_bias(of, analysis.rating_truth(of))
        enough = (bias.effective_workers >= 5) & (bias.tasks >= 10)
        return np.asarray((bias.low <= 0) & (bias.high >= 0))[enough]

    row("shared bias of ratings", shared)


def main() -> int:
    crowds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seeds = range(first, first + crowds)
    print("| note | crowds | measured | |\n|---|---|--:|---|")
    for name in (*SHARES, *MODELS):
        note, sign = ("too low", -1) if name in SHARES else ("right on average", 0)
        for kind in INDEPENDENT:
            say(f"accuracy by {name}: {note}", kind, shifted(kind, name, seeds), sign, 0.0 if sign else 0.02)
    for name in ("majority-vote", *MODELS):
        for kind in ALIKE:
            say(f"accuracy by {name}: too high", kind, shifted(kind, name, seeds), 1)
    gaps = [constant_among_learners(seed) for seed in seeds]
    say("two rounds without gold: who stays the same looks better", "others 60 → 90 %", gaps, 1)
    pairs = np.array([copied(seed) for seed in seeds])
    say("pairs by votes: mistakes of copiers are underestimated", "a copying pair", pairs[:, 0], -1)
    say("without gold, copiers' accuracy says nothing: too high", "a copying pair", pairs[:, 1], 1)
    for name, sign in (("mean", -1), ("raykar-em", 1)):
        slopes, errors = np.array([rated(seed, name) for seed in seeds]).T
        say(f"slopes of ratings by {name}: too {'flat' if sign < 0 else 'steep'}", "ratings", slopes, sign)
        say(f"errors of ratings by {name}: too {'large' if sign < 0 else 'small'}", "ratings", errors, -sign)
    say("Cohen's κ of pairs with few tasks in common: too low", "16 tasks in common", cohen(seeds), -1)
    for kind in ("common confusion", "judges"):
        say("tasks in doubt without gold: fewer than wrong", kind, [doubted(kind, s) for s in seeds], -1)
    coverage(seeds)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
