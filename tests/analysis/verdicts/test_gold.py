"""Wrong gold is found, and gold that only shared mistakes contradict is not doubted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis.verdicts.tasks import wrong_gold
from crowdcore.core.types import BoolArray
from crowdcore.data.dataset import CrowdDataset
from testkit.known_truth import HONEST, Known, guideline, honest, tickets

KINDS = {
    "plain": partial(honest, n_tasks=400, per_task=10),
    "guideline": partial(guideline, n_tasks=400),
    "tickets": tickets,
    "unequal classes": partial(honest, n_tasks=400, per_task=6, prior=(0.7, 0.15, 0.1, 0.05)),
}


def with_wrong(known: Known, share: float, rng: np.random.Generator) -> tuple[CrowdDataset, BoolArray]:
    """The crowd with a share of gold of a wrong class, and (n_tasks,) which."""
    n, n_classes = len(known.true), known.dataset.n_classes
    wrong = np.isin(np.arange(n), rng.choice(n, round(share * n), replace=False))
    gold = np.where(wrong, (known.true + rng.integers(1, n_classes, n)) % n_classes, known.true)
    return replace(known.dataset, gold=gold.astype(np.int32)), wrong


@pytest.mark.parametrize("kind", KINDS)
def test_most_of_two_per_cent_wrong_gold_is_found_and_little_else(kind: str) -> None:
    found = false = planted = 0
    for seed in range(4):
        rng = np.random.default_rng([300, seed])
        crowd, wrong = with_wrong(KINDS[kind](rng), 0.02, rng)
        doubted = wrong_gold(crowd, crowd.gold) > 0.5
        found, false, planted = found + (doubted & wrong).sum(), false + (doubted & ~wrong).sum(), planted + wrong.sum()
    assert found >= 0.5 * planted
    assert false <= 0.3 * found


@pytest.mark.parametrize(
    "make", [KINDS["guideline"], HONEST["own foils"], HONEST["strict and lenient, dense"], HONEST["panel of 6"]]
)
def test_right_gold_that_the_workers_contradict_together_is_not_doubted(
    make: Callable[[np.random.Generator], Known],
) -> None:
    contradicted = doubted = tasks = 0
    for seed in range(4):
        crowd = make(np.random.default_rng([310, seed])).dataset
        found = analysis.task_verdicts(crowd)
        contradicted += (found.label != crowd.gold).sum()
        doubted, tasks = doubted + (found.verdict == "check").sum(), tasks + crowd.n_tasks
    assert contradicted >= 0.03 * tasks
    assert doubted <= 0.015 * tasks


def test_known_mistakes_explain_the_labels_of_all_workers() -> None:
    """Unanimous labels against gold: a doubt where nobody errs so, none where everybody often does."""
    rng = np.random.default_rng(0)
    gold = np.repeat(np.arange(4), 50)
    task, worker = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    label = np.where((gold[task] == 0) & (rng.random(1000) < 0.7), 1, gold[task])
    rare = np.array([120, 121])
    label[np.isin(task, rare)] = 3
    crowd = replace(honest(rng, n_tasks=200).dataset, task=task, worker=worker, label=label, gold=gold, extra=None)
    doubt = wrong_gold(crowd, crowd.gold)
    often = np.flatnonzero((label.reshape(200, 5) == 1).all(1) & (gold == 0))
    assert len(often) > 3
    assert (doubt[rare] > 0.5).all()
    assert (doubt[often] < 0.1).all()


def test_tasks_without_gold_or_labels_have_no_doubt() -> None:
    crowd = honest(np.random.default_rng(1), n_tasks=60).dataset
    gold = np.where(np.arange(60) < 30, crowd.gold, -1)
    some = crowd.where(crowd.task != 3)
    doubt = wrong_gold(some, gold)
    assert not doubt[30:].any()
    assert doubt[3] == 0
    assert ((doubt >= 0) & (doubt <= 1)).all()
    assert not wrong_gold(some, np.full(60, -1)).any()
