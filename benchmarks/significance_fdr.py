"""Does the test of shared mistakes keep its promise, and what does it find?

Crowds are simulated at LabelMe's size (59 workers, 1000 tasks, 8 classes, 2 or 3 labels a task) and as a team (6
workers who label all of 300 tasks with 6 classes). Each worker errs individually, in one of four ways; in "common"
crowds a share of all mistakes goes to one wrong class that is the same for all workers. Claim: with individual
mistakes only, the false discovery rate at q <= 0.05 is at most 5 % (every discovery is false there, so it is the
share of crowds with any); the bound checked is 5 % plus two standard errors of the simulation.

Printed without a claim: the plain test, which counts only the workers who made a mistake at least once, and the same
test with a consensus as the truth, on a quarter of the crowds, as a consensus inherits shared mistakes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.analysis import shared_mistakes
from crowdcore.analysis.mistakes.significance import ScoreSum
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core.mistakes import mistake_triples
from crowdcore.core.types import BoolArray
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import KINDS, own_rows

LEVEL, CROWDS, COMMON_CROWDS = 0.05, 400, 60
DESIGNS = {"LabelMe's size": (59, 1000, 8, 2.547), "a team of six": (6, 300, 6, 6)}
COMMON = (0.15, 0.3, 0.6)


def simulate(
    design: tuple[int, int, int, float], kind: str, common: float, rng: np.random.Generator
) -> tuple[CrowdDataset, BoolArray]:
    """A crowd, and the (C, C) cells whose mistake is common."""
    n_workers, n_tasks, n_classes, per_task = design
    target = (np.arange(n_classes) + rng.integers(1, n_classes, n_classes)) % n_classes
    shared = np.eye(n_classes, dtype=bool)[target]
    error = rng.beta(2, 5, n_workers)[:, None, None]
    wrong = (1 - common) * own_rows(kind, n_workers, n_classes, rng) + common * shared
    confusion = error * wrong + (1 - error) * np.eye(n_classes)
    if kind == "some single-answer":
        lazy = rng.random(n_workers) < 0.2
        confusion[lazy] = np.eye(n_classes)[rng.integers(n_classes, size=lazy.sum())][:, None, :]
    gold = rng.integers(n_classes, size=n_tasks)
    labels = np.floor(per_task + rng.random(n_tasks)).astype(int)
    labels = np.minimum(labels, n_workers)
    order = rng.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)
    task, place = np.nonzero(np.arange(n_workers) < labels[:, None])
    worker = order[task, place]
    edges = confusion.cumsum(2)[worker, gold[task]]
    label = np.minimum((rng.random(len(task))[:, None] > edges).sum(1), n_classes - 1)
    classes = tuple(f"class {c}" for c in range(n_classes))
    ids = pd.RangeIndex(n_tasks), pd.RangeIndex(n_workers)
    return CrowdDataset("simulated", classes, *ids, task, worker, label, gold=gold), shared


def by_ranks(dataset: CrowdDataset, reference: str = "gold") -> BoolArray:
    return np.asarray(shared_mistakes(dataset, reference).q_value <= LEVEL)


def by_number_of_workers(dataset: CrowdDataset) -> BoolArray:
    """The plain test: a worker with k different wrong labels is in a cell with probability k / (C - 1)."""
    n = dataset.n_classes
    triples = mistake_triples(dataset.task, dataset.worker, dataset.label, dataset.gold, dataset.n_workers, n)
    true, given = np.divmod(triples.cell, n)
    p_value = np.full((n, n), np.nan)
    for a in range(n):
        row = (true == a) & (given != a)
        k, n_k = np.unique(np.unique(triples.worker[row], return_counts=True)[1], return_counts=True)
        partial = k < n - 1
        if n_k[partial].sum() >= 2:
            score = np.tile([0, 1], partial.sum())
            ways = np.stack([n - 1 - k[partial], k[partial]], axis=1).ravel()
            total = ScoreSum(score, ways, 2 * np.arange(partial.sum() + 1), n_k[partial], n - 1)
            others = np.delete(np.arange(n), a)
            observed = np.bincount(given[row], minlength=n)[others] - n_k[~partial].sum()
            p_value[a, others] = total.tail(observed)
    return np.asarray(benjamini_hochberg(p_value) <= LEVEL)


TESTS = {"by ranks": by_ranks, "by number of workers": by_number_of_workers}


def main() -> None:
    rng = np.random.default_rng(0)
    kept = []
    for name, design in DESIGNS.items():
        print(f"{name}: false discovery rate at q <= {LEVEL}, individual mistakes only, {CROWDS} crowds each")
        for kind in KINDS:
            crowds = [simulate(design, kind, 0.0, rng)[0] for _ in range(CROWDS)]
            rates = {test: np.mean([call(c).any() for c in crowds]) for test, call in TESTS.items()}
            kept.append(rates["by ranks"])
            for reference in ("majority-vote", "dawid-skene"):
                some = crowds[: CROWDS // 4]
                rates[f"by ranks, {reference}"] = np.mean([by_ranks(c, reference).any() for c in some])
            print(f"  {kind:20}" + "".join(f"{test} {100 * rate:4.1f} %   " for test, rate in rates.items()))
        print(f"{name}: common mistakes found (and false discoveries), {COMMON_CROWDS} crowds each")
        for kind in KINDS:
            for common in COMMON:
                crowds = [simulate(design, kind, common, rng) for _ in range(COMMON_CROWDS)]
                line = f"  {kind:20}{100 * common:3.0f} % of mistakes common: "
                for test, call in TESTS.items():
                    called = np.stack([call(c) for c, _ in crowds])
                    shared = np.stack([s for _, s in crowds])
                    power = called[shared].mean()
                    false = ((called & ~shared).sum((1, 2)) / np.maximum(called.sum((1, 2)), 1)).mean()
                    line += f"{test} {100 * power:3.0f} % ({100 * false:3.1f} %)   "
                print(line)
    bound = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / CROWDS)
    verdict = "met" if max(kept) <= bound else "NOT met"
    print(
        f"claim: false discovery rate at most {100 * LEVEL:g} % under individual noise (simulation bound "
        f"{100 * bound:.1f} %); worst measured {100 * max(kept):.1f} %, mean {100 * np.mean(kept):.1f} %: {verdict}"
    )


if __name__ == "__main__":
    main()
