"""Are verdicts safe, and do they find planted workers?

Honest crowds: workers of unequal skill label tasks of unequal difficulty (on the log-odds scale), errors fall on the
wrong classes at random or on a foil of the task's own; workers differ in how much they label. A worker is accused if
the verdict is "remove", or if copying or drift is named. Claim: at the default thresholds at most 5 % of honest
crowds hold an accused worker (two standard errors of the simulation are granted). Planted crowds: one worker guesses,
one copies another, one calls class 0 class 1 in 60 % of its tasks, one guesses in the second half of the time. The
table has how often each is named, and in how many crowds another worker is accused.

``python -m benchmarks.verdicts [CROWDS] [FIRST SEED] [REFERENCE …] [KIND …]``; 50 crowds of each kind by default.
With kinds of planted crowds, only these are made, for a closer measurement.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import binom, hypergeom

from crowdcore import analysis
from crowdcore.analysis.verdicts.workers import DRIFTING as FALLING, GUESSING
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import CONFUSED, COPIED, COPIER, DRIFTING, HONEST, PLANTED, SPAMMER, honest_crowd, planted_crowd

REFERENCES = ("gold", "dawid-skene", "majority-vote")


def named(verdicts: analysis.WorkerVerdicts) -> tuple[bool, bool, bool, bool, bool]:
    """Return whether spammer, copier, confused and drifting worker are named for it, and whether another is accused."""
    cells = verdicts.confused
    return (
        bool(verdicts.verdict[SPAMMER] == "remove"),
        {int(verdicts.copies.partner[COPIER]), int(verdicts.copies.partner[COPIED])} == {COPIER, COPIED},
        bool(verdicts.train[CONFUSED] and (cells.true[CONFUSED], cells.given[CONFUSED]) == (0, 1)),
        bool(verdicts.drifts[DRIFTING]),
        bool(verdicts.accused[5:].any()),
    )


def most_power(verdicts: analysis.WorkerVerdicts, n_classes: int) -> float:
    """The power of the most powerful test of ``κ >= remove_below`` against guessing, were all true labels known.

    By Neyman and Pearson it rejects at the fewest right labels; of a worker who knows the truth with probability κ and
    else guesses evenly they are binomial. Its level is that of Holm's first step, kept exactly by drawing lots.
    """
    n, level = int(verdicts.judged[SPAMMER]), GUESSING * 0.05 / len(verdicts.verdict)
    guess, knows = binom(n, 1 / n_classes), binom(n, 1 / n_classes + (1 - 1 / n_classes) * verdicts.remove_below)
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
    chance, n_right = hypergeom(len(right), right.sum(), late.sum()), right[late].sum()
    level = FALLING * 0.05 / crowd.n_workers
    return float(np.clip((level - chance.cdf(n_right - 1)) / chance.pmf(n_right), 0, 1))


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
            verdicts = analysis.worker_verdicts(crowd, "gold")
            spammer, _, _, falls, _ = named(verdicts)
            of_fall = falls, most_power_of_fall(crowd)
            rows.append((verdicts.judged[SPAMMER], spammer, most_power(verdicts, crowd.n_classes), *of_fall))
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
            verdicts = [analysis.worker_verdicts(honest_crowd(seed, **settings), reference) for seed in seeds]
            parts = np.array(
                [[(v.verdict == "remove").any(), v.together.any(), v.drifts.any(), v.accused.any()] for v in verdicts]
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
