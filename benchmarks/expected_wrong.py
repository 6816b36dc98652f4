"""Are as many labels wrong as Overview expects without gold, and are their probabilities calibrated?

``python -m benchmarks.expected_wrong [SEEDS] [FIRST SEED]`` makes crowds of each kind of `testkit.crowds`
(mistakes independent given the class, or not), the honest crowds of `testkit.planted` (tasks of unequal difficulty,
some with foils) and crowds on tasks with looks of their own, and prints a row for each kind and reference, and for all
kinds of a group. ``python -m benchmarks.expected_wrong real [NAME …]`` does so on the classification sets with gold.

Wrong: labels that differ from gold, inferred as if labels of a task were independent (before), and as Overview infers
them. Expected: ``Σ_i 1 - q_i``, if label and q_i take the labels of a task as independent given its class; with their
dependence η (`Evidence`), as Overview does; and, of the same labels, by the reference's own posterior, as it is and
tempered (`aggregation.temper`); by the independent one tempered so; and by the mean of the independent one and the
reference's. Then η, its value by gold, and the expected calibration error and the share of right labels among tasks
called fine, both as if independent, and now.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore import analysis
from crowdcore.aggregation._evidence import estimate_dependence
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.catalogue import list_datasets
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import DEPENDENT, INDEPENDENT, simulated
from testkit.planted import HONEST, honest_crowd

REFERENCES = ("auto", "dawid-skene", "majority-vote")
REAL = ("bluebird", "cifar10n", "cifar10s", "judges_civil", "labelme", "leaves", "music", "possent", "product", "rte")
REAL += ("sentiment_amt", "temp")
COLUMNS = ("crowd", "reference", "wrong, before", "now", "independent", "**dependent**", "own", "own, tempered")
COLUMNS += ("tempered", "mean with own", "η", "η by gold", "error, before", "now", "fine are right, before", "now")
SUMS = 8  # columns that are numbers of labels
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "looks, 2 classes, 24 labels": {"per_task": 24, "n_workers": 24},
    "looks, 2 classes, 10 labels": {"per_task": 10, "look": 0.8},
    "looks, 2 classes, 5 labels": {"per_task": 5},
    "looks, 6 classes, 10 labels": {"n_classes": 6, "per_task": 10, "skill": (1, 4)},
    "looks, 6 classes, 3 labels": {"n_classes": 6, "per_task": 3, "skill": (1, 5)},
}


def crowd_with_looks(
    seed: int,
    *,
    n_tasks: int = 1000,
    n_workers: int = 50,
    n_classes: int = 2,
    per_task: int = 5,
    skill: tuple[float, float] = (0.3, 3.0),
    look: float = 1.5,
    bias: float = 1.5,
) -> CrowdDataset:
    """``P(y_i^r = l) ∝ exp(s_r [l = z_i] + b_rl + u_il)``: tasks have looks of their own, workers biases.

    s_r is uniform in ``skill``; of two classes, differences of b_r and of u_i have deviations ``bias`` and ``look``.
    """
    rng = np.random.default_rng(seed)
    gold = rng.integers(n_classes, size=n_tasks)
    worker = np.argsort(rng.random((n_tasks, n_workers)), 1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    knows, biases = rng.uniform(*skill, n_workers), rng.normal(0, bias / np.sqrt(2), (n_workers, n_classes))
    score = biases[worker] + rng.normal(0, look / np.sqrt(2), (n_tasks, n_classes))[task]
    score[np.arange(len(task)), gold[task]] += knows[worker]
    label = (score + rng.gumbel(size=score.shape)).argmax(1)
    names = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    return CrowdDataset(f"looks-{seed}", tuple("abcdef"[:n_classes]), *names, task, worker, label, gold=gold)


def measured(crowd: CrowdDataset, reference: str) -> FloatArray:
    """(14,) columns of a row."""
    fit = cc.aggregation.get(reference).fit(crowd)
    truth = analysis.resolve_reference(crowd, fit)
    before, now = peer_beliefs(crowd, truth, dependence=0.0), peer_beliefs(crowd, truth)
    old, new = (analysis.task_verdicts(crowd, truth, peers=peers) for peers in (before, now))
    independent = replace(fit, posterior=before.held_out)
    tempered, own_tempered = (cc.aggregation.temper(result, crowd).posterior for result in (independent, fit))
    mean = (before.held_out + fit.posterior) / 2
    judged = np.flatnonzero(crowd.annotated & (crowd.gold >= 0))
    at = judged, new.label[judged]
    wrong = [(verdicts.label != crowd.gold)[judged].sum() for verdicts in (old, new)]
    others = [(1 - q[at]).sum() for q in (now.held_out, fit.posterior, own_tempered, tempered, mean)]
    with_gold = crowd.where((crowd.gold >= 0)[crowd.task])
    by_gold = estimate_dependence(with_gold, np.eye(crowd.n_classes)[crowd.gold])
    quality = np.transpose([_quality(verdicts, crowd.gold) for verdicts in (old, new)]).ravel()
    return np.array([*wrong, (1 - old.sure[judged]).sum(), *others, now.dependence, by_gold, *quality])


def _quality(verdicts: analysis.TaskVerdicts, gold: IntArray) -> tuple[float, float]:
    """Expected calibration error of the probability of each label, and the share of fine tasks that are right."""
    judged = (verdicts.label >= 0) & (gold >= 0)
    right, sure, fine = (verdicts.label == gold)[judged], verdicts.sure[judged], verdicts.verdict[judged] == "fine"
    gaps = np.bincount(np.ceil(10 * sure).astype(int), right - sure)
    return float(np.abs(gaps).sum() / len(sure)), float(right[fine].mean()) if fine.any() else np.nan


def show(name: str, reference: str, row: FloatArray) -> None:
    words = [*(f"{n:.0f}" for n in row[:SUMS]), *(f"{share:.3f}" for share in row[SUMS:])]
    print(f"| {name} | {reference} | " + " | ".join(words) + " |", flush=True)


def main() -> None:
    print(f"| {' | '.join(COLUMNS)} |\n|---|---{'|--:' * (len(COLUMNS) - 2)}|")
    if sys.argv[1:2] == ["real"]:
        names = sys.argv[2:] or [name for name in REAL if name in list_datasets()]
        rows = np.array([[measured(cc.load_dataset(name), reference) for reference in REFERENCES] for name in names])
        for name, of_set in zip(names, rows, strict=True):
            for reference, row in zip(REFERENCES, of_set, strict=True):
                show(name, reference, row)
        times = rows[:, :, :2] / rows[:, :, 2:4]
        for reference, (before, now) in zip(REFERENCES, np.median(times, 0), strict=True):
            print(f"{reference}: wrong / expected, median of sets: as if independent {before:.1f}, dependent {now:.1f}")
        return
    seeds, first = (int(number) for number in (*sys.argv[1:], *("5", "0")[len(sys.argv) - 1 :]))
    groups: Mapping[str, Mapping[str, Callable[[int], CrowdDataset]]] = {
        "independent": {kind: partial(simulated, kind) for kind in INDEPENDENT},
        "honest": {kind: partial(honest_crowd, **settings) for kind, settings in HONEST.items()},
        "with looks": {kind: partial(crowd_with_looks, **settings) for kind, settings in LOOKS.items()},
        "dependent": {kind: partial(simulated, kind) for kind in DEPENDENT},
    }
    for group, kinds in groups.items():
        for reference in REFERENCES:
            rows = []
            for kind, make in kinds.items():
                rows.append(np.nanmean([measured(make(seed), reference) for seed in range(first, first + seeds)], 0))
                show(kind, reference, rows[-1])
            every = np.r_[np.sum(rows, 0)[:SUMS], np.mean(rows, 0)[SUMS:]]
            show(f"**all {group}**", reference, every)


if __name__ == "__main__":
    main()
