"""Can the statistics of mistakes be fooled? Shared mistakes, pairs and intervals of confusions on simulated crowds.

``python -m benchmarks.mistakes [shared | inferred | pairs | intervals] [crowds]`` prints the tables of
benchmarks/results/mistakes.md. Shared mistakes: workers err individually; 1 or 2 % of the gold is wrong, or 10 % of the
tasks mislead half of their workers to a class of their own. Any cell with q <= 0.05 is false. "Workers only" is the
exact test over workers, without evidence over tasks. Inferred: the same with few labels a task, where an aggregator
infers the truth. Pairs: tasks differ in difficulty (sd 2), workers in skill (sd 1.5), 20 % of the tasks have a foil; a
copier takes half of the labels from another, and counts as named if in a group with the other at the level of the
pages. Intervals: the share of 95 % intervals that contain the true entry.
"""

from __future__ import annotations

import sys

import numpy as np

from crowdcore import aggregation, analysis
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.analysis.verdicts.workers import TOGETHER
from crowdcore.core.types import BoolArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.fits import sampled
from testkit.erring import FOOLED, KINDS, PAIRS, TASKS, crowd, draw, individual, unequal, with_copier

LEVEL = 0.05
SHARED = {"20 workers, 200 × 20": (20, 200, 8, 20), "40 workers, 1,000 × 10": (40, 1000, 8, 10)}
SHARED |= {"LabelMe's size": (59, 1000, 8, 3), "a team of six": (6, 300, 6, 6)}
COMMON = (0.15, 0.3, 0.6)
INTERVALS = {"easy": (1000, 10, 3, 5, 0.7, 1.0), "sparse": (400, 40, 4, 3, 0.6, 1.0)}
INTERVALS |= {"sparse, rare mistakes": (600, 40, 8, 3, 0.7, 0.3)}
INTERVALS |= {"hard": (400, 10, 3, 3, 0.35, 1.0), "hard, 2 classes": (1000, 10, 2, 4, 0.3, 1.0)}


def shared(crowds: int) -> None:
    rng = np.random.default_rng(0)

    def called(dataset: CrowdDataset) -> tuple[BoolArray, BoolArray]:
        mistakes = analysis.shared_mistakes(dataset)
        return benjamini_hochberg(mistakes.p_workers) <= LEVEL, mistakes.q_value <= LEVEL

    print("Share of crowds with a false cell, workers only → with tasks\n")
    print("| crowd | mistakes | " + " | ".join(FOOLED) + " |\n|---|---|" + "---|" * len(FOOLED))
    worst = 0.0
    for name, design in SHARED.items():
        for kind in KINDS:
            rates = []
            for fooled in FOOLED.values():
                mistakes = [called(individual(design, kind, 0.0, fooled, rng)[0]) for _ in range(crowds)]
                rates.append(np.mean([[one.any() for one in both] for both in mistakes], axis=0))
                worst = max(worst, rates[-1][1])
            print(f"| {name} | {kind} | " + " | ".join(f"{a:.2f} → {b:.2f}" for a, b in rates) + " |", flush=True)
    print(f"\nWorst share with tasks: {worst:.2f}, aim: at most .10\n\nShare of the common mistakes found\n")
    print("| crowd | mistakes | " + " | ".join(f"{100 * c:.0f} % common" for c in COMMON) + " |\n|---|---|---|---|---|")
    powers = []
    for name, design in SHARED.items():
        for kind in KINDS:
            line = []
            for common in COMMON:
                made = [individual(design, kind, common, (0, 0), rng) for _ in range(max(crowds // 2, 4))]
                line.append(np.mean([[one[cells].mean() for one in called(data)] for data, cells in made], axis=0))
            powers += line
            print(f"| {name} | {kind} | " + " | ".join(f"{a:.2f} → {b:.2f}" for a, b in line) + " |", flush=True)
    before, after = np.mean(powers, axis=0)
    print(f"\nMean power {before:.3f} → {after:.3f}: {after / before:.2f} of it, aim: at least .80")


def inferred(crowds: int) -> None:
    rng = np.random.default_rng(0)
    print(
        "| labels a task | mistakes | reference | a false cell | common: found | another |\n|---|---|---|---|---|---|"
    )
    for per_task in (2, 3, 4):
        for kind in ("uniform", "own rows"):
            made = [
                [individual((20, 300, 4, per_task), kind, c, (0, 0), rng) for _ in range(crowds)] for c in (0.0, 0.6)
            ]
            for reference in ("gold", "auto", "dawid-skene", "majority-vote"):
                (honest, _), (common, cells) = (zip(*each, strict=True) for each in made)
                false, called = (
                    np.array([analysis.shared_mistakes(each, reference).q_value <= LEVEL for each in some])
                    for some in (honest, common)
                )
                right = np.array(cells)
                shares = false.any((1, 2)).mean(), called[right].mean(), (called & ~right).any((1, 2)).mean()
                print(f"| {per_task} | {kind} | {reference} | {' | '.join(f'{x:.2f}' for x in shares)} |", flush=True)


def pairs(crowds: int) -> None:
    rng = np.random.default_rng(0)
    print("| crowd | tasks | false pair, q_value | false pair, q_beyond | tasks of the copier | copier found | named |")
    print("|---|---|---|---|---|---|---|")
    for name, design in PAIRS.items():
        for kind, tasks in TASKS.items():
            mistakes = [analysis.pair_mistakes(unequal(design, tasks, rng)) for _ in range(crowds)]
            plain, beyond = (
                np.mean([(getattr(r, q) <= LEVEL).any() for r in mistakes]) for q in ("q_value", "q_beyond")
            )
            hits, both, named = [], [], []
            for _ in range(max(crowds // 2, 4)):
                copied, a, b = with_copier(unequal(design, tasks, rng), 0.5, rng)
                result = analysis.pair_mistakes(copied)
                at = (result.worker_a == a) & (result.worker_b == b)
                hits.append((result.q_beyond[at] <= LEVEL).any())
                both.append(result.both_labelled[at].sum())
                groups = analysis.coordinated_workers(copied, level=TOGETHER * LEVEL).groups
                named.append(any({a, b} <= {*group.members.tolist()} for group in groups))
            row = f"{plain:.2f} | {beyond:.2f} | {np.mean(both):.0f} | {np.mean(hits):.2f} | {np.mean(named):.2f}"
            print(f"| {name} | {kind} | {row} |", flush=True)


def intervals(crowds: int) -> None:
    model = aggregation.get("dawid-skene")
    print("| crowd | sampled | as pages show | true labels known | credible | bootstrap |\n|---|---|---|---|---|---|")
    for name, (n_tasks, n_workers, n, per_task, skill, evenly) in INTERVALS.items():
        coverage = []
        for seed in range(crowds):
            rng = np.random.default_rng(1000 + seed)  # the sampler's prior was chosen on the seeds from 0 on
            confusion = skill * np.eye(n) + (1 - skill) * rng.dirichlet(np.full(n, evenly), (n_workers, n))
            gold = np.r_[np.arange(n), rng.integers(n, size=n_tasks - n)]
            worker = rng.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task].ravel()
            task = np.repeat(np.arange(n_tasks), per_task)
            dataset = crowd(task, worker, draw(confusion[worker, gold[task]], rng), gold, n_workers)
            each = (
                analysis.sampled_confusion(dataset),
                sampled(dataset),
                analysis.sampled_confusion(dataset, known=gold),
                analysis.credible_intervals(model.fit(dataset)),
                analysis.bootstrap_confusion(dataset, model, n_resamples=60),
            )
            inside = [((x.low <= confusion) & (confusion <= x.high))[~np.isnan(x.low)].mean() for x in each]
            coverage.append(inside)
        print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in np.mean(coverage, axis=0)) + " |", flush=True)


PARTS = {"shared": (shared, 40), "inferred": (inferred, 40), "pairs": (pairs, 40), "intervals": (intervals, 10)}


def main() -> None:
    names = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for name in names:
        part, crowds = PARTS[name]
        print(f"\n## {name}, {(numbers or [crowds])[0]} crowds each\n", flush=True)
        part((numbers or [crowds])[0])


if __name__ == "__main__":
    main()
