"""Pairs of workers who err alike, and who agree."""

from __future__ import annotations

import sys
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import crowdcore as cc
from crowdcore.analysis import pair_mistakes
from crowdcore.analysis.reference import resolve_reference
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import TASKS, unequal, with_copier
from testkit.planted import honest_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference

module = sys.modules["crowdcore.analysis.mistakes.pair_mistakes"]


def first_labels(crowd, truth):
    """worker -> {task: label}, the first of repeats, tasks of known truth only."""
    scores = [{} for _ in range(crowd.n_workers)]
    for task, worker, label in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if truth[task] >= 0:
            scores[worker].setdefault(int(task), int(label))
    return scores


@given(crowds(min_classes=2))
def test_counts_and_expectations_are_literal(crowd):
    result = pair_mistakes(crowd, "gold")
    labels, z = first_labels(crowd, crowd.gold), crowd.gold
    by_key = dict(zip(zip(result.worker_a, result.worker_b, strict=True), range(len(result.p_value)), strict=True))
    for r, s in combinations(range(crowd.n_workers), 2):
        shared = sorted(labels[r].keys() & labels[s].keys())
        assert ((r, s) in by_key) == bool(shared)
        if not shared:
            continue
        k = by_key[r, s]
        assert result.both_labelled[k] == len(shared)
        assert result.both_wrong[k] == sum(labels[r][i] != z[i] and labels[s][i] != z[i] for i in shared)
        assert result.wrong_alike[k] == sum(labels[r][i] == labels[s][i] != z[i] for i in shared)
        expected = 0.0
        for i in shared:
            rows = [[labels[w][j] for j in labels[w] if z[j] == z[i]] for w in (r, s)]
            for b in range(crowd.n_classes):
                if b != z[i]:
                    expected += rows[0].count(b) / len(rows[0]) * rows[1].count(b) / len(rows[1])
        assert result.expected[k] == pytest.approx(expected)
        assert result.expected_beyond[k] >= result.expected[k] - 1e-12
    assert len(by_key) == len(result.p_value)


@pytest.mark.parametrize(
    ("mine", "other", "shared"),
    [((1, 1, 2, 0, 1), (1, 2, 1, 0), 3), ((1, 1, 0, 0), (1, 1, 0, 2), 4), ((1, 2), (2, 1, 1, 1, 0), 2)],
)
def test_moments_are_those_of_all_orders(mine, other, shared):
    """All tasks are of class 0; deal both workers' labels out over their tasks in every order."""
    n, k = len(mine), len(other)
    task = np.concatenate([np.arange(n), np.arange(n - shared, n - shared + k)])
    crowd = make_crowd(
        task, np.repeat([0, 1], [n, k]), mine + other, n - shared + k, 2, 3, np.zeros(n - shared + k, int)
    )
    _, _, counts, moments = module._pairs(crowd, resolve_reference(crowd, "gold"))
    assert counts[0, 0] == shared
    alike = np.array(
        [
            sum(a == b != 0 for a, b in zip(x[n - shared :], y[:shared], strict=True))
            for x in permutations(mine)
            for y in permutations(other)
        ]
    )
    mean = alike.mean()
    np.testing.assert_allclose(moments[0, :3], [mean, alike.var(), ((alike - mean) ** 3).mean()], atol=1e-12)


def independent(rng, n_tasks, n_workers, n_classes, per_task, hard=0.0) -> CrowdDataset:
    """Workers with confusions and workloads of their own; a share of hard tasks misleads everyone the same way."""
    gold = rng.integers(n_classes, size=n_tasks)
    load = rng.beta(1.5, 3, n_workers)
    keys = np.log(load) + rng.gumbel(size=(n_tasks, n_workers))
    worker = np.argsort(-keys, 1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    skill = rng.beta(5, 3, n_workers)[:, None, None]
    confusion = skill * np.eye(n_classes) + (1 - skill) * rng.dirichlet(np.full(n_classes, 0.5), (n_workers, n_classes))
    chance = confusion[worker, gold[task]]
    if hard:
        mislead = 0.3 * np.eye(n_classes) + 0.7 * np.roll(np.eye(n_classes), 1, 1)
        is_hard = rng.random(n_tasks) < hard
        chance = np.where(is_hard[task][:, None], 0.3 * chance + 0.7 * mislead[gold[task]], chance)
    label = np.minimum((chance.cumsum(1) < rng.random((len(task), 1))).sum(1), n_classes - 1)
    return make_crowd(task, worker, label, n_tasks, n_workers, n_classes, gold)


@pytest.mark.parametrize(("shape"), [(400, 30, 6, 3), (100, 20, 2, 20), (100, 20, 5, 20)])
def test_independent_workers_are_rarely_accused(shape):
    mistakes = [pair_mistakes(independent(np.random.default_rng(seed), *shape)) for seed in range(60)]
    p = np.concatenate([r.p_value for r in mistakes])
    p = p[~np.isnan(p)]
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= level * 1.2
    # under the complete null, the false discovery rate is the chance of any discovery: 5 %, give or take 60 runs
    assert np.mean([(r.q_value <= 0.05).any() for r in mistakes]) <= 0.1


def test_those_trained_wrong_together_are_found():
    hits = accused = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        crowd = independent(rng, 150, 20, 5, 20, hard=0.2)
        taught = rng.random(150) < 0.15  # tasks on which workers 0 to 3 were told the same wrong label
        wrong = (crowd.gold + rng.integers(1, 5, 150)) % 5
        label = np.where(taught[crowd.task] & (crowd.worker < 4), wrong[crowd.task], crowd.label)
        result = pair_mistakes(make_crowd(crowd.task, crowd.worker, label, 150, 20, 5, crowd.gold))
        together = (result.worker_a < 4) & (result.worker_b < 4)
        hits += int((result.q_beyond[together] <= 0.05).sum())
        accused += int((result.q_beyond[~together] <= 0.05).sum())
    assert hits >= 0.8 * 60
    assert accused <= 3


def test_labels_that_leave_no_choice_prove_nothing():
    """Both call every task of class 0 class 1: systematic, but each on their own."""
    crowd = make_crowd(np.tile(np.arange(20), 2), np.repeat([0, 1], 20), np.ones(40), 20, 2, 2, np.zeros(20, int))
    result = pair_mistakes(crowd)
    assert result.wrong_alike[0] == 20 and result.expected[0] == pytest.approx(20)
    assert np.isnan(result.p_value[0]) and np.isnan(result.q_value[0])


@settings(max_examples=30)
@given(crowds(min_classes=2))
def test_workers_and_classes_can_be_renumbered(crowd):
    rng = np.random.default_rng(0)
    places, names = rng.permutation(crowd.n_workers), rng.permutation(crowd.n_classes)
    gold = np.where(crowd.gold >= 0, names[crowd.gold], -1)
    moved = make_crowd(
        crowd.task, places[crowd.worker], names[crowd.label], crowd.n_tasks, crowd.n_workers, crowd.n_classes, gold
    )

    def by_pair(result, of):
        keys = [tuple(sorted((of[a], of[b]))) for a, b in zip(result.worker_a, result.worker_b, strict=True)]
        values = np.stack([result.wrong_alike, result.expected, result.p_value, result.expected_beyond], axis=1)
        return dict(zip(keys, values, strict=True))

    before, after = by_pair(pair_mistakes(crowd), places), by_pair(pair_mistakes(moved), np.arange(crowd.n_workers))
    assert before.keys() == after.keys()
    for key, values in before.items():
        np.testing.assert_allclose(values, after[key], atol=1e-9)


def test_threads_do_not_show(monkeypatch):
    crowd = independent(np.random.default_rng(0), 80, 15, 4, 6)
    alone = pair_mistakes(crowd).frame()
    monkeypatch.setattr(module, "n_ranges", lambda work, accumulator: 4 if accumulator == crowd.n_workers else 1)
    assert pair_mistakes(crowd).frame().equals(alone)


def test_notes_and_frame():
    crowd = make_crowd([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0], 2, 3, 2, np.array([0, 0]))
    assert pair_mistakes(crowd).notes == ()
    assert "copying is underestimated" in pair_mistakes(crowd, "majority-vote").notes[1]
    assert "most probable class" in pair_mistakes(crowd, soft_reference(crowd)).notes[0]
    frame = pair_mistakes(crowd).frame()
    assert list(frame.columns[:5]) == ["worker_a", "worker_b", "both_labelled", "both_wrong", "wrong_alike"]
    assert frame.iloc[0, :5].tolist() == ["w0", "w1", 2, 1, 1]


def test_strangers_make_no_pair():
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, np.array([0, 1]))
    assert len(pair_mistakes(crowd).p_value) == 0
    assert pair_mistakes(crowd).frame().empty


def test_too_many_classes_are_refused():
    crowd = CrowdDataset(
        "wide", tuple(map(str, range(20_000))), pd.Index(["t"]), pd.Index(["w"]), [0], [0], [0], gold=np.array([0])
    )
    with pytest.raises(cc.DataError, match=r"20,000 classes.*need"):
        pair_mistakes(crowd)


DENSE, SPARSE = (150, 20, 5, 20), (600, 40, 5, 3)


@pytest.mark.parametrize("design", [DENSE, SPARSE])
@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_unequal_tasks_and_workers_make_no_pairs(design, tasks):
    rng = np.random.default_rng(0)
    mistakes = [pair_mistakes(unequal(design, TASKS[tasks], rng)) for _ in range(20)]
    assert np.mean([(r.q_beyond <= 0.05).any() for r in mistakes]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20)
    p = np.concatenate([r.p_beyond for r in mistakes])
    assert np.nanmean(p <= 0.05) <= 0.06
    expected, seen = (sum(getattr(r, k).sum() for r in mistakes) for k in ("expected_agreed", "agreed"))
    assert seen == pytest.approx(expected, rel=0.03 if design == DENSE else 0.1)


@pytest.mark.parametrize("tasks", ["alike", "unequal, foils"])
def test_who_copies_half_is_found(tasks):
    rng, hits, accused = np.random.default_rng(0), [], []
    for _ in range(12):
        copied, a, b = with_copier(unequal((250, 20, 5, 20), TASKS[tasks], rng), 0.5, rng)
        result = pair_mistakes(copied)
        is_copy = (result.worker_a == a) & (result.worker_b == b)
        hits.append((result.q_beyond[is_copy] <= 0.05).any())
        accused.append((result.q_beyond[~is_copy] <= 0.05).any())
    assert np.mean(hits) >= 0.8
    assert sum(accused) <= 1


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
    mistakes = pair_mistakes(honest_crowd(1, n_tasks=12_000, n_workers=500, n_classes=6, per_task=5))
    assert len(mistakes.p_beyond) > 50_000
    assert np.nanmin(mistakes.q_beyond) > 0.05
