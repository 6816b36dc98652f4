"""Recovery of the common confusion, and of groups, by CoNAL-EM on crowds simulated with CoNAL's noise.

``python -m benchmarks.conal_em_recovery [seeds]``: CoNAL's "Synthetic" (8,000 annotated tasks, 6 classes, 30 workers,
3 labels a task), common and individual strength 0.7, half of the labels from the common confusion. The mean squared
error of the common confusion is compared with that of two averages over workers: of Dawid–Skene's confusions (the
choice without the model), and of the confusions counted against the hidden truth (the same with the truth known: the
remaining error is that of not decomposing).
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore.data.simulate import conal, synthetic

NOISE = {"common_strength": 0.7, "individual_strength": 0.7, "proportion": 0.5}


def main() -> None:
    seeds = int(sys.argv[1]) if sys.argv[1:] else 5
    for pattern in ("symmetric", "asymmetric"):
        recovery(pattern, seeds)
    for pattern in ("symmetric", "asymmetric"):
        groups(pattern, seeds)
    grid(min(seeds, 3))


def recovery(pattern: str, seeds: int) -> None:
    """One common confusion."""
    print(f"\n{pattern} common confusion, strength 0.7, proportion 0.5: mean squared error of the common confusion")
    print("seed   Dawid–Skene mean   gold mean   CoNAL-EM   ratio   accuracy vote / Dawid–Skene / CoNAL-EM   seconds")
    ratios, gold_ratios = [], []
    for seed in range(seeds):
        crowd = synthetic(seed=seed, pattern=pattern, **NOISE)
        plain, result, gold = fitted(crowd)
        ratios.append(plain / error(result.common_confusion, crowd))
        gold_ratios.append(gold / error(result.common_confusion, crowd))
        names = ("majority-vote", "dawid-skene")
        accuracies = [accuracy(cc.aggregation.get(n).fit(crowd).labels, crowd) for n in names]
        accuracies.append(accuracy(result.labels, crowd))
        print(
            f"{seed:4d} {plain:18.5f} {gold:11.5f} {error(result.common_confusion, crowd):10.5f} {ratios[-1]:7.0f}   "
            + " / ".join(f"{a:.3f}" for a in accuracies)
            + f" {result.seconds:27.2f}"
        )
    print(f"median ratio to Dawid–Skene's mean {statistics.median(ratios):.0f}, smallest {min(ratios):.0f}")
    print(f"median ratio to the mean of gold confusions {statistics.median(gold_ratios):.0f}")
    verdict("times smaller error than Dawid–Skene's mean (worst seed)", 2, min(ratios))


def groups(pattern: str, seeds: int) -> None:
    """Two groups of fifteen workers, each with a common confusion of its own."""
    print(f"\ntwo groups, {pattern}: share of workers in their group, error of the two common confusions")
    right, errors = [], []
    for seed in range(seeds):
        base = synthetic(seed=seed, pattern=pattern, **NOISE)
        halves = [
            conal(base, seed=1000 + 2 * seed + g, n_workers=15, per_task=1.5, pattern=pattern, **NOISE)
            for g in range(2)
        ]
        result = cc.aggregation.get("conal-em", groups=2).fit(merged(halves))
        truth = np.stack([h.truth.common_confusion for h in halves if h.truth is not None])
        assert result.group is not None and result.common_confusion is not None
        swapped = np.mean(result.group == np.repeat([0, 1], 15)) < 0.5
        group = 1 - result.group if swapped else result.group
        common = result.common_confusion[::-1] if swapped else result.common_confusion
        right.append(float(np.mean(group == np.repeat([0, 1], 15))))
        errors.append(float(((common - truth) ** 2).mean()))
        print(f"{seed:4d} {right[-1]:6.2f} {errors[-1]:9.5f} {result.seconds:6.2f} s")
    print(f"median {statistics.median(right):.2f} and {statistics.median(errors):.5f}")
    verdict("of the workers in their group (worst seed)", 0.9, min(right))


def grid(seeds: int) -> None:
    """Print medians over other strengths and proportions, where the split gets hard; both patterns."""
    print("\nstrength  proportion   Dawid–Skene mean   gold mean   CoNAL-EM   (medians over both patterns)")
    for strength in (0.4, 0.6, 0.8):
        for proportion in (0.3, 0.5, 0.7):
            rows = []
            for pattern in ("symmetric", "asymmetric"):
                for seed in range(seeds):
                    noise = NOISE | {"common_strength": strength, "proportion": proportion}
                    crowd = synthetic(seed=seed, pattern=pattern, **noise)
                    plain, result, gold = fitted(crowd)
                    rows.append((plain, gold, error(result.common_confusion, crowd)))
            plain, gold, ours = np.median(rows, axis=0)
            print(f"{strength:8.1f} {proportion:11.1f} {plain:18.5f} {gold:11.5f} {ours:10.5f}")


def fitted(crowd: cc.CrowdDataset) -> tuple[float, cc.aggregation.AggregationResult, float]:
    """Error of Dawid–Skene's mean confusion, CoNAL-EM's result, error of the mean of the gold confusions."""
    plain = cc.aggregation.get("dawid-skene").fit(crowd).confusion
    counted = cc.analysis.worker_confusion(crowd, "gold").matrices
    result = cc.aggregation.get("conal-em").fit(crowd)
    return error(np.nanmean(plain, axis=0), crowd), result, error(np.nanmean(counted, axis=0), crowd)


def error(estimate: np.ndarray, crowd: cc.CrowdDataset) -> float:
    return float(((estimate - crowd.truth.common_confusion) ** 2).mean())


def accuracy(labels: np.ndarray, crowd: cc.CrowdDataset) -> float:
    return float((labels == crowd.gold)[crowd.annotated].mean())


def merged(halves: list[cc.CrowdDataset]) -> cc.CrowdDataset:
    """The same tasks labelled by the workers of all datasets."""
    first = np.cumsum([0, *(h.n_workers for h in halves)])
    task = np.concatenate([h.task for h in halves])
    order = np.argsort(task, kind="stable")
    return replace(
        halves[0],
        worker_ids=pd.Index([f"w{r:02d}" for r in range(first[-1])]),
        task=task[order],
        worker=np.concatenate([h.worker + k for h, k in zip(halves, first, strict=False)])[order],
        label=np.concatenate([h.label for h in halves])[order],
        truth=None,
    )


def verdict(claim: str, bound: float, measured: float) -> None:
    print(f"  {'met' if measured >= bound else 'NOT MET'}: at least {bound:g} {claim}; measured {measured:.3g}")


if __name__ == "__main__":
    main()
