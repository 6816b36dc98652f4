"""Agreement beyond both workers' skills and the tasks: false pairs, plain copying, spammers who agree by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.analysis import pair_mistakes
from crowdcore.analysis.coordinated.pairs import beyond
from testkit.erring import TASKS, unequal, with_copier
from testkit.planted import honest_crowd
from tests.analysis.crowds import make_crowd

DENSE, SPARSE = (150, 20, 5, 20), (600, 40, 5, 3)


@pytest.mark.parametrize("design", [DENSE, SPARSE])
@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_unequal_tasks_and_workers_make_no_pairs(design, tasks):
    rng = np.random.default_rng(0)
    found = [pair_mistakes(unequal(design, TASKS[tasks], rng)) for _ in range(20)]
    assert np.mean([(r.q_beyond <= 0.05).any() for r in found]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20)
    p = np.concatenate([r.p_beyond for r in found])
    assert np.nanmean(p <= 0.05) <= 0.06
    expected, seen = (sum(getattr(r, k).sum() for r in found) for k in ("expected_agreed", "agreed"))
    assert seen == pytest.approx(expected, rel=0.03 if design == DENSE else 0.1)


@pytest.mark.parametrize("tasks", ["alike", "unequal, foils"])
def test_who_copies_half_is_found(tasks):
    rng, hits = np.random.default_rng(0), []
    for _ in range(12):
        copied, a, b = with_copier(unequal((250, 20, 5, 20), TASKS[tasks], rng), 0.5, rng)
        result = pair_mistakes(copied)
        hits.append((result.q_beyond[(result.worker_a == a) & (result.worker_b == b)] <= 0.05).any())
    assert np.mean(hits) >= 0.8


def test_two_who_give_one_label_to_everything_are_no_copiers():
    rng = np.random.default_rng(0)
    crowd = unequal(DENSE, TASKS["unequal"], rng)
    label = np.where(crowd.worker < 2, 1, crowd.label)
    result = pair_mistakes(make_crowd(crowd.task, crowd.worker, label, 150, 20, 5, crowd.gold))
    at = (result.worker_a == 0) & (result.worker_b == 1)
    assert result.agreed[at] == result.both_labelled[at]
    assert not (result.q_beyond[at] <= 0.05).any()


def test_copies_who_are_always_right_alike_prove_nothing_and_agreement_is_counted():
    crowd = make_crowd(np.tile(np.arange(20), 2), np.repeat([0, 1], 20), np.zeros(40), 20, 2, 2, np.zeros(20, int))
    result = pair_mistakes(crowd)
    assert (result.agreed[0], result.wrong_alike[0]) == (20, 0)
    assert np.isnan(result.p_beyond[0]) or result.p_beyond[0] > 0.5


def test_one_common_mistake_convicts_nobody_in_a_large_sparse_crowd():
    found = pair_mistakes(honest_crowd(1, n_tasks=12_000, n_workers=500, n_classes=6, per_task=5))
    assert len(found.p_beyond) > 50_000
    assert np.nanmin(found.q_beyond) > 0.05
    assert not beyond(found)[0].any()
