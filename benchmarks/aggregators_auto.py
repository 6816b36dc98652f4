"""`auto` against the other aggregators, and false alarms of the guards, on simulated crowds.

``python -m benchmarks.aggregators_auto [seeds]`` prints, for each kind of crowd of `testkit.crowds`, the
accuracy of each aggregator (%), then the share of fits on independent crowds in which a guard speaks (false alarms), on
crowds whose fits collapse by construction (alarms wanted), and the calibration errors before and after tempering.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

import crowdcore as cc
from crowdcore.analysis.gold_scores import calibration
from testkit.crowds import COLLAPSING, DEPENDENT, INDEPENDENT, simulated

NAMES = (
    "majority-vote",
    "wawa",
    "one-coin",
    "mace",
    "dawid-skene",
    "fast-dawid-skene",
    "glad",
    "pooled-dawid-skene",
    "item-response",
    "auto",
)
GUARD_WORDS = ("is all but lost", "is inflated", "probabilities are too high")


def main() -> None:
    seeds = int(sys.argv[1]) if sys.argv[1:] else 5
    print(" " * 26, *(f"{name[:8]:>8}" for name in NAMES))
    means, alarms, errors = [], defaultdict(list), defaultdict(list)
    for kind in INDEPENDENT | DEPENDENT | COLLAPSING:
        right = np.zeros((seeds, len(NAMES)))
        for seed in range(seeds):
            votes = simulated(kind, seed)
            for j, name in enumerate(NAMES):
                result = cc.aggregation.get(name).fit(votes)
                right[seed, j] = 100 * (result.labels == votes.gold).mean()
                group = "independent" if kind in INDEPENDENT else kind
                warnings = cc.analysis.judge(votes, result, np.full(votes.n_tasks, -1)).warnings
                alarms[group, name].append(any(w in note for note in warnings for w in GUARD_WORDS))
                tempered = cc.aggregation.temper(result, votes)
                pair = [float(calibration(r, votes.gold).error) for r in (result, tempered)]
                errors["independent" if kind in INDEPENDENT else "dependent", name].append(pair)
        print(f"{kind:26s}", *(f"{a:8.1f}" for a in right.mean(0)), flush=True)
        if kind not in COLLAPSING:
            means.append(right.mean(0))
    print(f"{'mean':26s}", *(f"{a:8.2f}" for a in np.mean(means, 0)))
    worst = np.min([row - row[0] for row in means], 0)
    print(f"{'worst against majority':26s}", *(f"{a:8.2f}" for a in worst))
    print("\nfits in which a guard speaks (%)")
    for group in dict.fromkeys(group for group, _ in alarms):
        print(f"{group:26s}", *(f"{100 * np.mean(alarms[group, name]):8.1f}" for name in NAMES))
    every = np.concatenate([alarms["independent", name] for name in NAMES])
    print(f"false alarms in {100 * every.mean():.1f} % of {len(every)} fits to independent crowds")
    print("\nexpected calibration error, before and after tempering without gold")
    for group in ("independent", "dependent"):
        for when in (0, 1):
            print(f"{group:26s}", *(f"{np.mean(errors[group, name], 0)[when]:8.3f}" for name in NAMES))


if __name__ == "__main__":
    main()
