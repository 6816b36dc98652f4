"""Parameters of simulated crowds are recovered, with an error that falls as 1/√labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc

SIZES = [400, 1_600, 6_400, 25_600]
WORKERS, CLASSES, PER_TASK = 10, 3, 5


def crowd_with_truth(n_tasks: int, confusion: np.ndarray, seed: int) -> cc.CrowdDataset:
    """Labels drawn from known confusions; class shares (0.5, 0.3, 0.2)."""
    rng = np.random.default_rng(seed)
    gold = rng.choice(CLASSES, n_tasks, p=[0.5, 0.3, 0.2])
    task = np.repeat(np.arange(n_tasks), PER_TASK)
    worker = rng.permuted(np.tile(np.arange(WORKERS), (n_tasks, 1)), axis=1)[:, :PER_TASK].ravel()
    cumulative = confusion[worker, gold[task]].cumsum(1)
    label = (rng.random(len(task))[:, None] > cumulative[:, :-1]).sum(1)
    ids = (pd.Index([f"{prefix}{i}" for i in range(n)]) for prefix, n in (("t", n_tasks), ("w", WORKERS)))
    return cc.CrowdDataset("known", ("a", "b", "c"), *ids, task, worker, label, gold=gold)


def full_confusions(rng):
    confusion = rng.dirichlet(np.ones(CLASSES), (WORKERS, CLASSES)) * 0.4
    confusion[:, range(CLASSES), range(CLASSES)] += 0.6
    return confusion


def one_coins(rng):
    skill = rng.uniform(0.5, 0.9, WORKERS)
    confusion = np.repeat((1 - skill) / (CLASSES - 1), CLASSES**2).reshape(WORKERS, CLASSES, CLASSES)
    confusion[:, range(CLASSES), range(CLASSES)] = skill[:, None]
    return confusion


@pytest.mark.parametrize(("name", "truth"), [("dawid-skene", full_confusions), ("one-coin", one_coins)])
def test_error_falls_as_one_over_root_labels(name, truth):
    errors, share_errors = np.zeros((2, 6, len(SIZES)))
    for seed in range(6):
        confusion = truth(np.random.default_rng(seed))
        for s, n_tasks in enumerate(SIZES):
            result = cc.aggregation.get(name).fit(crowd_with_truth(n_tasks, confusion, 100 + seed))
            errors[seed, s] = np.sqrt(((result.confusion - confusion) ** 2).mean())
            share_errors[seed, s] = np.sqrt(((result.prior - [0.5, 0.3, 0.2]) ** 2).mean())
    slope = np.polyfit(np.log(SIZES), np.log(errors.mean(0)), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.08)
    assert np.polyfit(np.log(SIZES), np.log(share_errors.mean(0)), 1)[0] == pytest.approx(-0.5, abs=0.2)
    assert errors.mean(0)[-1] < 0.01
