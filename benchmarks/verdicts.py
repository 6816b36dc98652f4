"""Are verdicts safe, and do they find what is planted?

Honest crowds: workers of unequal skill label tasks of unequal difficulty (on the log-odds scale), errors fall on the
wrong classes at random or on a foil of the task's own; workers differ in how much they label. A worker is accused if
the verdict is "remove", or if copying or drift is named. Claim: at the default thresholds at most 5 % of honest
crowds hold an accused worker (two standard errors of the simulation are granted). Planted crowds: one worker guesses,
one copies another, one calls class 0 class 1 in 60 % of its tasks, one guesses in the second half of the time. The
table says how often each is named, and in how many crowds another worker is accused.

``python -m benchmarks.verdicts [CROWDS] [FIRST SEED] [REFERENCE …] [KIND …]``; 50 crowds of each kind by default.
Kinds of planted crowds: these alone are made, to measure closely what is found there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom, hypergeom

from crowdcore import analysis
from crowdcore.analysis.verdicts.workers import DRIFTING as FALLING, GUESSING
from crowdcore.data.dataset import CrowdDataset

HONEST: Mapping[str, Mapping[str, Any]] = {
    "4 classes, sparse": {},
    "4 classes, dense": {"n_tasks": 150, "per_task": 20},
    "4 classes, hard, own foils": {"n_tasks": 300, "difficulty": 2.0, "foils": 0.7, "skill": (0.45, 0.9)},
    "4 classes, dense, own foils": {"n_tasks": 200, "per_task": 20, "difficulty": 1.5, "foils": 0.5},
    "2 classes, sparse": {"n_classes": 2, "n_tasks": 500, "skill": (0.6, 0.95)},
    "2 classes, dense": {"n_classes": 2, "n_tasks": 300, "per_task": 20, "skill": (0.6, 0.95)},
    "2 classes, dense, hard": {
        "n_classes": 2,
        "n_tasks": 300,
        "per_task": 20,
        "skill": (0.6, 0.95),
        "difficulty": 2.0,
    },
    "10 classes, 3 labels a task": {
        "n_classes": 10,
        "n_tasks": 1000,
        "n_workers": 50,
        "per_task": 3,
        "skill": (0.3, 0.95),
    },
    "2 classes, 10 % positive": {"n_classes": 2, "n_tasks": 600, "skill": (0.6, 0.95), "rare": 0.1},
}
PLANTED: Mapping[str, Mapping[str, Any]] = {
    "4 classes, sparse": {"n_tasks": 600, "n_workers": 15, "skill": (0.6, 0.95), "even": True},
    "4 classes, few labels": {"n_tasks": 250, "n_workers": 15, "skill": (0.6, 0.95), "even": True},
    "4 classes, dense": {"n_tasks": 200, "n_workers": 15, "per_task": 15, "skill": (0.6, 0.95)},
    "10 classes, sparse": {"n_classes": 10, "n_tasks": 900, "n_workers": 20, "skill": (0.6, 0.95), "even": True},
    "2 classes, sparse": {"n_classes": 2, "n_tasks": 1500, "n_workers": 15, "skill": (0.7, 0.95), "even": True},
}
REFERENCES = ("gold", "dawid-skene", "majority-vote")
SPAMMER, COPIER, COPIED, CONFUSED, DRIFTING = range(5)


def honest_crowd(
    seed: int,
    *,
    n_tasks: int = 250,
    n_workers: int = 20,
    n_classes: int = 4,
    per_task: int = 5,
    skill: tuple[float, float] = (0.5, 0.95),
    difficulty: float = 1.0,
    foils: float = 0.0,
    rare: float | None = None,
    even: bool = False,
) -> CrowdDataset:
    """Workers of unequal skill, all better than chance, on tasks of unequal difficulty, with times in random order.

    ``P(right) = 1/C + (1 - 1/C) σ(s_r - d_i)``: s_r makes the accuracy on an ordinary task uniform in ``skill``, d_i is
    normal with deviation ``difficulty``. A share ``foils`` of the mistakes goes to the task's own wrong class.
    """
    rng = np.random.default_rng(seed)
    prior = None if rare is None else np.r_[1 - rare, np.full(n_classes - 1, rare / (n_classes - 1))]
    gold = rng.choice(n_classes, n_tasks, p=prior)
    chance = 1 / n_classes
    informed = (rng.uniform(*skill, n_workers) - chance) / (1 - chance)
    ability = np.log(np.clip(informed, 0.01, 0.99) / (1 - np.clip(informed, 0.01, 0.99)))
    activity = np.zeros(n_workers) if even else np.log(rng.gamma(1.5, 1, n_workers) + 0.2)
    drawn = np.argsort(-(activity + rng.gumbel(size=(n_tasks, n_workers))), 1)[:, :per_task]
    task, worker = np.repeat(np.arange(n_tasks), drawn.shape[1]), drawn.ravel()
    hard = rng.normal(0, difficulty, n_tasks)
    right = rng.random(len(task)) < chance + (1 - chance) / (1 + np.exp(hard[task] - ability[worker]))
    step = rng.integers(1, n_classes, len(task))
    own = rng.integers(1, n_classes, n_tasks)[task]
    step = np.where(rng.random(len(task)) < foils, own, step)
    label = np.where(right, gold[task], (gold[task] + step) % n_classes)
    return CrowdDataset(
        f"honest-{seed}",
        tuple(f"class {c}" for c in range(n_classes)),
        pd.Index([f"t{i}" for i in range(n_tasks)]),
        pd.Index([f"w{r:02d}" for r in range(n_workers)]),
        task,
        worker,
        label,
        gold=gold,
        extra=pd.DataFrame({"timestamp": 1_700_000_000 + rng.permutation(len(task))}),
    )


def planted_crowd(seed: int, *, copied: float = 1.0, **settings: Any) -> CrowdDataset:
    """An honest crowd with a spammer, a copier, a confused and a drifting worker; see the numbers above."""
    crowd, rng = honest_crowd(seed, **settings), np.random.default_rng(seed + 1_000_000)
    assert crowd.extra is not None
    label, worker, when = crowd.label.copy(), crowd.worker, crowd.extra["timestamp"].to_numpy()
    guesses = rng.integers(crowd.n_classes, size=len(label))
    own = np.flatnonzero(worker == DRIFTING)
    late = own[when[own] > np.median(when[own])]
    label[worker == SPAMMER], label[late] = guesses[worker == SPAMMER], guesses[late]
    takes = (worker == CONFUSED) & (crowd.gold[crowd.task] == 0) & (rng.random(len(label)) < 0.6)
    label[takes] = 1
    source, kept = np.flatnonzero(worker == COPIED), np.flatnonzero(worker != COPIER)
    honest = np.where(rng.random(len(source)) < 0.75, crowd.gold[crowd.task[source]], guesses[source])
    copy = np.where(rng.random(len(source)) < copied, label[source], honest)
    rows = np.r_[kept, source]
    order = np.argsort(crowd.task[rows], kind="stable")
    return replace(
        crowd,
        name=f"planted-{seed}",
        task=crowd.task[rows][order],
        worker=np.r_[worker[kept], np.full(len(source), COPIER)][order],
        label=np.r_[label[kept], copy][order],
        extra=pd.DataFrame({"timestamp": np.r_[when[kept], when[source] + 1][order]}),
    )


def named(found: analysis.WorkerVerdicts) -> tuple[bool, bool, bool, bool, bool]:
    """Whether spammer, copier, confused and drifting worker are named for what they are, and whether another is."""
    cells = found.confused
    return (
        bool(found.verdict[SPAMMER] == "remove"),
        {int(found.copies.partner[COPIER]), int(found.copies.partner[COPIED])} == {COPIER, COPIED},
        bool(found.train[CONFUSED] and (cells.true[CONFUSED], cells.given[CONFUSED]) == (0, 1)),
        bool(found.drifts[DRIFTING]),
        bool(found.accused[5:].any()),
    )


def most_power(found: analysis.WorkerVerdicts, n_classes: int) -> float:
    """The power of the most powerful test of ``κ >= remove_below`` against guessing, were all true labels known.

    By Neyman and Pearson it rejects at the fewest right labels; of a worker who knows the truth with probability κ and
    else guesses evenly they are binomial. Its level is that of Holm's first step, kept exactly by drawing lots.
    """
    n, level = int(found.judged[SPAMMER]), GUESSING * 0.05 / len(found.verdict)
    guess, knows = binom(n, 1 / n_classes), binom(n, 1 / n_classes + (1 - 1 / n_classes) * found.remove_below)
    most = int(np.searchsorted(knows.cdf(np.arange(n + 1)), level, side="right")) - 1
    rest = (level - knows.cdf(most)) / knows.pmf(most + 1)
    return float(guess.cdf(most) + rest * guess.pmf(most + 1))


def most_power_of_fall(crowd: CrowdDataset) -> float:
    """The chance that the best test finds the fall of a worker, were all true labels and the moment of the fall known.

    Right labels after the moment are hypergeometric given all right labels, if nothing changed; the test that rejects
    at the fewest is the most powerful unbiased one (Lehmann & Romano 2005, section 4.5), its level that of Holm's first
    step, kept exactly by drawing lots.
    """
    assert crowd.extra is not None
    own, when = crowd.worker == DRIFTING, crowd.extra["timestamp"].to_numpy()
    right = (crowd.label == crowd.gold[crowd.task])[own]
    late = when[own] > np.median(when[own])
    chance, found = hypergeom(len(right), right.sum(), late.sum()), right[late].sum()
    level = FALLING * 0.05 / crowd.n_workers
    return float(np.clip((level - chance.cdf(found - 1)) / chance.pmf(found), 0, 1))


def bounds(seeds: range) -> None:
    """Print the share of spammers and of falls that are found by gold, and that the best tests would find."""
    print(
        "\n| planted | labels | spammer found by gold | by the most powerful test | fall found by gold | moment known |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for kind, settings in PLANTED.items():
        rows = []
        for seed in seeds:
            crowd = planted_crowd(seed, **settings)
            found = analysis.worker_verdicts(crowd, "gold")
            spammer, _, _, falls, _ = named(found)
            of_fall = falls, most_power_of_fall(crowd)
            rows.append((found.judged[SPAMMER], spammer, most_power(found, crowd.n_classes), *of_fall))
        labels, *shares = np.mean(rows, 0)
        print(f"| {kind} | {labels:.0f} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)


def planted(seeds: range, references: Sequence[str], kinds: Sequence[str]) -> None:
    """Print the share of crowds in which each planted worker is named, and of those in which another is accused."""
    print("\n| planted | reference | copied | spammer | copier | confused | drifting | others accused |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for kind in kinds:
        for reference in references:
            for copied in (1.0, 0.5):
                crowds = (planted_crowd(seed, copied=copied, **PLANTED[kind]) for seed in seeds)
                hits = [named(analysis.worker_verdicts(crowd, reference)) for crowd in crowds]
                shares = " | ".join(f"{share:.2f}" for share in np.mean(hits, 0))
                print(f"| {kind} | {reference} | {copied:.0%} | {shares} |", flush=True)


def main() -> int:
    crowds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = [name for name in sys.argv[3:] if name in PLANTED]
    references = [name for name in sys.argv[3:] if name not in PLANTED] or REFERENCES
    seeds, bound = range(first, first + crowds), 0.05 + 2 * np.sqrt(0.05 * 0.95 / crowds)
    if kinds:
        planted(seeds, references, kinds)
        return 0
    worst = 0.0
    print(f"| {crowds} honest crowds of each kind | reference | removed | together | drift | any |")
    print("|---|---|--:|--:|--:|--:|")
    for kind, settings in HONEST.items():
        for reference in references:
            found = [analysis.worker_verdicts(honest_crowd(seed, **settings), reference) for seed in seeds]
            parts = np.array(
                [[(v.verdict == "remove").any(), v.together.any(), v.drifts.any(), v.accused.any()] for v in found]
            ).mean(0)
            worst = max(worst, parts[-1])
            print(f"| {kind} | {reference} | " + " | ".join(f"{share:.2f}" for share in parts) + " |", flush=True)
    planted(seeds, references, list(PLANTED))
    bounds(seeds)
    large = honest_crowd(0, n_tasks=100_000, n_workers=1000, n_classes=8)
    gold = analysis.resolve_reference(large, "gold")
    analysis.worker_verdicts(large, gold)
    began, began_cpu = time.perf_counter(), time.process_time()
    analysis.worker_verdicts(large, gold)
    between = time.perf_counter()
    analysis.task_verdicts(large, gold)
    ended, cpu = time.perf_counter(), time.process_time() - began_cpu
    print(
        f"\n{large.n_annotations:,} annotations: workers {between - began:.2f} s, tasks {ended - between:.2f} s; "
        f"{cpu:.2f} s of processor time"
    )
    print(f"Worst share of honest crowds with an accused worker: {worst:.2f} (at most {bound:.2f})")
    return int(worst > bound)


if __name__ == "__main__":
    sys.exit(main())
