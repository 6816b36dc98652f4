"""`auto` against the other aggregators, and false alarms of the guards, on simulated crowds.

``python -m benchmarks.aggregators_auto [seeds]`` prints, for each kind of crowd of `testkit.crowds`, the
accuracy of each aggregator (%), then the share of fits on independent crowds in which a guard speaks (false alarms), on
crowds whose fits collapse by construction (alarms wanted), and the calibration errors before and after tempering.
``python -m benchmarks.aggregators_auto calibration judges_civil`` prints the calibration errors on a dataset with gold:
as fitted, tempered without gold, and calibrated on 100 gold labels (five draws, judged by the other tasks);
``… confidence NAME …`` those of four aggregators on several datasets, with mean confidence and accuracy.
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
GUARD_WORDS = ("is all but lost", "is inflated", "is too high")


def main() -> None:
    if sys.argv[1:2] == ["calibration"]:
        return calibrated(cc.load_dataset(sys.argv[2]))
    if sys.argv[1:2] == ["confidence"]:
        return confidence(sys.argv[2:])
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
                alarms[group, name].append(any(w in note for note in result.notes for w in GUARD_WORDS))
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
    return None


def confidence(datasets: list[str]) -> None:
    """Calibration errors; in brackets mean confidence and accuracy; *: a guard warns of too high confidence."""
    names = ("majority-vote", "glad", "dawid-skene", "item-response")
    print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for votes in map(cc.load_dataset, datasets):
        cells = []
        for name in names:
            result = cc.aggregation.get(name).fit(votes)
            found = calibration(result, votes.gold)
            judged = votes.annotated & (votes.gold >= 0)
            sure, right = result.posterior[judged].max(1).mean(), (result.labels == votes.gold)[judged].mean()
            warned = "*" if any("is too high" in note for note in result.notes) else ""
            cells.append(f"{float(found.error):.3f}{warned} ({100 * sure:.1f}, {100 * right:.1f})")
        print(f"| {votes.name} | " + " | ".join(cells) + " |", flush=True)


def calibrated(votes: cc.CrowdDataset, n_gold: int = 100, draws: int = 5) -> None:
    """Calibration errors with and without gold."""
    for name in ("dawid-skene", "auto", "item-response"):
        result = cc.aggregation.get(name).fit(votes)
        errors = [calibration(r, votes.gold).error for r in (result, cc.aggregation.temper(result, votes))]
        with_gold = []
        for draw in range(draws):
            known = np.random.default_rng(draw).choice(np.flatnonzero(votes.gold >= 0), n_gold, replace=False)
            given = np.isin(np.arange(votes.n_tasks), known)
            tempered = cc.aggregation.temper(result, votes, gold=np.where(given, votes.gold, -1))
            with_gold.append(float(calibration(tempered, np.where(given, -1, votes.gold)).error))
        words = ", ".join(f"{error:.3f}" for error in with_gold)
        print(f"{name}: {errors[0]:.3f}, tempered {errors[1]:.3f}, {n_gold} gold {np.mean(with_gold):.3f} ({words})")


if __name__ == "__main__":
    main()
