"""Does comparing two rounds raise false alarms, and does it find the planted changes?

Honest crowds (`testkit.planted`): workers of unequal skill, tasks of unequal difficulty, with foils. Rounds: the
first and the second half of the time (same workers, other tasks), the same tasks labelled again by the same workers, a
short second round, and halves of the crowd. Claim: with nothing changed, at most 5 % of crowds raise any alarm (two
standard errors granted). Planted: one worker whose labels become guesses, one mistake that two fifths of the workers
made and that a clearer guideline ended, and both; the table has how often each is named.

``python -m benchmarks.rounds [CROWDS] [FIRST SEED]``; 100 crowds of each kind by default.
"""

from __future__ import annotations

import sys

import numpy as np

from crowdcore import analysis
from testkit.planted import CHANGED, HONEST, two_rounds

ROUNDS = ("tasks", "again", "short", "halves")


def main() -> int:
    crowds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    bound, failed = 0.05 + 2 * np.sqrt(0.05 * 0.95 / crowds), False
    print(f"{crowds} crowds of each kind; share with any alarm where nothing changed, at most {bound:.3f}")
    for kind, settings in HONEST.items():
        for how in ROUNDS:
            shares = {}
            for reference in ("gold", "dawid-skene"):
                alarms = 0
                for seed in range(first, first + crowds):
                    by, at = ("halves", str(seed)) if how == "halves" else ("round", "")
                    alarms += analysis.rounds(two_rounds(seed, how, settings), reference, by=by, at=at).alarm
                shares[reference] = alarms / crowds
            failed |= max(shares.values()) > bound
            print(
                f"{kind:32} {how:7} " + "  ".join(f"{name} {share:.2f}" for name, share in shares.items()), flush=True
            )
    print("\nPlanted: the worker named as worse, the mistake named as less often or gone, another worker named")
    for kind in ("4 classes, sparse", "4 classes, dense"):
        for n_tasks in (400, 1000):
            for reference in ("gold", "dawid-skene"):
                counts = np.zeros(3)
                for seed in range(first, first + crowds):
                    ds = two_rounds(seed, "tasks", {**HONEST[kind], "n_tasks": n_tasks}, changes=True)
                    result = analysis.rounds(ds, reference, by="round")
                    named = (result.q_workers <= 0.05) & (result.workers.second < result.workers.first)
                    ended = (
                        result.q_mistakes[0, 1] <= 0.05 and result.mistakes.second[0, 1] < result.mistakes.first[0, 1]
                    )
                    counts += [named[CHANGED], ended, (np.delete(named, CHANGED)).any()]
                print(f"{kind:20} {n_tasks:5} tasks, {reference:12}", *np.round(counts / crowds, 2), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
