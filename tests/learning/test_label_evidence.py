"""What labels say of candidates: their likelihood against brute force, and how far they are trusted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crowdcore.learning.choice import label_agreement, label_likelihood, trusted
from tests.learning.helpers import featured_crowd

TEMPERATURES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)


def by_hand(each: np.ndarray, task: np.ndarray, worker: np.ndarray, label: np.ndarray, n_workers: int) -> np.ndarray:
    n, n_classes = each.shape[1:]
    q = np.stack([np.bincount(label[task == i], minlength=n_classes) / (task == i).sum() for i in range(n)])
    orders = [list(order) for order in itertools.permutations(range(n_classes))]
    each = np.stack([p[:, max(orders, key=lambda order, p=p: (p[:, order] * q).sum())] for p in each])
    for _ in range(10):
        counts = np.zeros((n_workers, n_classes, n_classes))
        for i, r, y in zip(task, worker, label, strict=True):
            counts[r, :, y] += q[i]
        pooled = counts.sum(0) + 0.5
        prior = 0.1 + 2 * pooled / pooled.sum(1, keepdims=True)
        evidence = np.zeros((n, n_classes))
        for i, r, y in zip(task, worker, label, strict=True):
            without = counts[r].copy()
            without[:, y] -= q[i]
            smoothed = without + prior
            evidence[i] += np.log(smoothed[:, y] / smoothed.sum(1))
        joint = []
        for p in each:
            tried = [p**t / (p**t).sum(1, keepdims=True) * np.exp(evidence) for t in TEMPERATURES]
            joint.append(max(tried, key=lambda terms: np.log(terms.sum(1)).mean()))
        q = np.mean([terms / terms.sum(1, keepdims=True) for terms in joint], 0)
    return np.log(np.stack(joint).sum(2))


def test_the_likelihood_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    task, worker, label = np.repeat(np.arange(20), 2), np.tile([0, 1], 20), rng.integers(3, size=40)
    each = rng.dirichlet(np.ones(3), (2, 20))
    found, *_ = label_likelihood(each, task, worker, label, 2)
    np.testing.assert_allclose(found, by_hand(each, task, worker, label, 2))


def test_probabilities_that_know_more_make_labels_likelier():
    crowd = featured_crowd(n_tasks=400, per_task=2)
    n, rng = int(crowd.task.max()) + 1, np.random.default_rng(1)
    truth = np.full((n, 3), 0.1) + 0.7 * np.eye(3)[crowd.gold[:n]]
    each = np.stack([truth, truth[rng.permutation(n)], np.full((n, 3), 1 / 3)])
    found, powers, _ = label_likelihood(each, crowd.task, crowd.worker, crowd.label, crowd.n_workers)
    known, shuffled, nothing = found.mean(1)
    assert powers[1] == min(TEMPERATURES) < powers[0]
    assert known > nothing + 0.1
    assert shuffled == pytest.approx(nothing, abs=0.02), "what says nothing of the labels is flattened"


def test_what_a_candidate_calls_its_classes_does_not_matter():
    crowd = featured_crowd(n_tasks=200, per_task=2)
    n, rng, names = int(crowd.task.max()) + 1, np.random.default_rng(4), np.array([2, 0, 1])
    p = 0.6 * np.eye(3)[crowd.gold[:n]] + 0.4 * rng.dirichlet(np.ones(3), n)
    each = np.stack([p, p[:, names]])
    (named, other), *_ = label_likelihood(each, crowd.task, crowd.worker, crowd.label, crowd.n_workers)
    np.testing.assert_allclose(named, other)
    predicted = [q.argmax(1)[crowd.task] for q in (p, p[:, names])]
    one, same = (label_agreement(q, crowd.label, 3) for q in predicted)
    assert one == same == (predicted[0] == crowd.label).mean()
    assert label_agreement(rng.permutation(predicted[0]), crowd.label, 3) < 0.7 * one


def test_gaussian_classes_are_trusted_the_more_the_more_mistakes_are_shared():
    rng, n = np.random.default_rng(5), 600
    gold, task = rng.integers(3, size=n), np.repeat(np.arange(n), 3)
    worker = np.tile(np.arange(3), n)
    p = np.full((1, n, 3), 0.1) + 0.7 * np.eye(3)[gold]
    slips, looks = rng.random(3 * n) < 0.3, np.repeat(rng.random(n) < 0.3, 3)
    found = [
        label_likelihood(p, task, worker, np.where(wrong, (gold[task] + 1) % 3, gold[task]), 3).shared
        for wrong in (slips, looks)
    ]
    assert found[0] < 0.05 and found[1] > 0.5
    assert trusted(0.0) == 0.7 and trusted(0.05) == pytest.approx(0.85) and trusted(found[1]) == 1
