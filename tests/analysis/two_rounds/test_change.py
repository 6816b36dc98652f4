"""Changes against their definitions, spelt out with loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from crowdcore.analysis.two_rounds.compare import Clusters, worker_change


def entries(seed: int = 0, n: int = 400):
    rng = np.random.default_rng(seed)
    task, worker = rng.integers(60, size=n), rng.integers(8, size=n)
    group, weight, second = task % 3, rng.random(n), rng.random(n) < 0.4
    return rng.random(n), group, weight, second, task, worker


def fewest(task, weight, of, second) -> float:
    """Effective tasks of the round that has fewer, less one."""
    found = []
    for part in (of & second, of & ~second):
        total = np.array([weight[part & (task == i)].sum() for i in np.unique(task[part])])
        found.append(total.sum() ** 2 / np.square(total).sum())
    return min(found) - 1


def test_within_workers_the_score_is_of_labels_less_the_worker_s_mean():
    value, group, weight, second, task, worker = entries()
    found = Clusters(group, 3, weight, second, task, worker, True).change(value)
    for g in range(3):
        of = group == g
        score = np.zeros(len(value))
        for r in range(8):
            mine = of & (worker == r)
            mass = weight[mine].sum()
            mean = (weight * value)[mine].sum() / mass
            later = (weight * second)[mine].sum() / mass
            score[mine] = (weight * (second - later) * (value - mean))[mine] * np.sqrt(mass / (mass - 1))
        clusters = [score[of & (task == i)].sum() for i in np.unique(task[of])]
        n = len(clusters)
        variance = n / (n - 1) * np.square(clusters).sum()
        freedom = fewest(task, weight, of, second)
        assert found.p_value[g] == pytest.approx(2 * t.sf(abs(score.sum()) / np.sqrt(variance), freedom))
        assert found.second[g] == pytest.approx(np.average(value[of & second], weights=weight[of & second]))


def test_between_workers_variance_clusters_by_task_and_by_worker():
    value, group, weight, second, task, worker = entries(1)
    found = Clusters(group, 3, weight, second, task, worker, False).change(value)
    for g in range(3):
        of = np.flatnonzero(group == g)
        share = weight * np.where(second, 1 / weight[of][second[of]].sum(), -1 / weight[of][~second[of]].sum())
        u = share * (value - np.average(value[of], weights=weight[of]))
        squares = []
        for unit in (task, worker):
            totals = [u[of][unit[of] == k].sum() for k in np.unique(unit[of])]
            squares.append(np.square(totals).sum() * len(totals) / (len(totals) - 1))
        variance = max(*squares, sum(squares) - np.square(u[of]).sum())
        gap = (share * value)[of].sum()
        freedom = min(fewest(task, weight, group == g, second), len(np.unique(worker[of])) - 1)
        assert found.p_value[g] == pytest.approx(2 * t.sf(abs(gap) / np.sqrt(variance), freedom))
        assert found.second[g] - found.first[g] == pytest.approx(gap)
        assert found.low[g] < gap < found.high[g]


def test_a_worker_s_p_value_is_near_that_of_all_permutations():
    rng = np.random.default_rng(2)
    second = np.repeat([False, True], [25, 15])
    value = (rng.random(40) < np.where(second, 0.5, 0.85)).astype(float)
    zeros = np.zeros(40, int)
    found = worker_change(value, second, zeros, zeros, 1, 1)
    gap = abs(value[second].mean() - value[~second].mean())
    drawn = [rng.permutation(second) for _ in range(4000)]
    exact = np.mean([abs(value[s].mean() - value[~s].mean()) >= gap - 1e-9 for s in drawn])
    assert found.p_value[0] == pytest.approx(exact, abs=0.02)
    assert found.first[0] == value[~second].mean()


def test_too_few_labels_are_not_tested():
    value, second = np.r_[np.ones(6), np.zeros(4)], np.r_[np.zeros(6, bool), np.ones(4, bool)]
    zeros = np.zeros(10, int)
    assert np.isnan(worker_change(value, second, zeros, zeros, 1, 1).p_value[0])
