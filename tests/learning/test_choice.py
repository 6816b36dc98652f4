"""Weights of candidates, and the evidence of labels for them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.learning.choice import (
    Scores,
    choose,
    clearly_worse,
    cluster_prior,
    label_agreement,
    label_likelihood,
    same_names,
    stacked,
)
from tests.learning.helpers import featured_crowd


def scores(accuracies: list[float], likelihoods: list[float], n_gold: int = 100, noise: float = 0.1) -> list[Scores]:
    rng = np.random.default_rng(2)
    ease, base = rng.random(n_gold), rng.normal(size=300)
    return [
        Scores(
            name,
            ease < a,
            np.log(np.where(ease < a, 0.9, 0.05)),
            base + mean + noise * rng.normal(size=300),
            np.arange(300) % 3,
        )
        for name, a, mean in zip("abc", accuracies, likelihoods, strict=False)
    ]


def test_gold_decides_first_and_then_the_likelihood_where_they_are_clear():
    clear = choose(scores([0.9, 0.5], [-2, -1]))
    assert (clear.chosen, clear.weight.tolist()) == (0, [1, 0])
    assert clear.share[0] > 0.99 and clear.left_aside[1].endswith("validation tasks with gold")
    close = choose(scores([0.9, 0.9, 0.4], [-2, -1, 0]))
    assert close.weight.tolist() == [0, 1, 0]
    assert close.left_aside[0].startswith("makes the labels")
    assert close.verdict.startswith("Chosen: b; ") and "a makes the labels" in close.verdict
    blind = choose(scores([0.9, 0.5], [-2, -1], n_gold=0))
    assert blind.chosen == 1 and blind.table[0]["accuracy"] is None
    assert "accuracy" not in blind.evidence and blind.doubt is None


def test_what_gold_of_enough_tasks_shows_to_be_worse_needs_no_more_trials():
    assert clearly_worse(scores([0.9, 0.5], [-2, -1])) == [False, True]
    assert clearly_worse(scores([0.9, 0.5], [-2, -1], n_gold=99)) == [False, False]
    assert clearly_worse(scores([0.9, 0.5], [-2, -1], n_gold=0)) == [False, False]


def test_what_is_as_good_within_noise_is_averaged():
    race = choose(scores([0.5, 0.5, 0.5], [-1, -1.01, -3], n_gold=0, noise=0.5))
    assert race.share.sum() == pytest.approx(1) and 0.2 < race.share.max() < 0.95
    assert race.weight[2] == 0 and race.weight.sum() == pytest.approx(1)
    assert 0.3 < race.weight[0] < 0.7
    assert race.parts == sorted(race.parts, reverse=True) and len(race.parts) == 2
    assert race.verdict.startswith(f"Chosen: the mean of {race.parts[0].line} (")


def test_a_prior_has_its_part_of_the_weight_where_no_gold_is_known():
    one, other = scores([0.9, 0.9], [-1, -1], n_gold=0, noise=0.5)
    free, bound = (choose([replace(one, prior=prior), other]).weight for prior in (0.0, 0.5))
    np.testing.assert_allclose(bound, 0.5 * free + [0.5, 0])
    one_task_each = stacked(np.stack([one.likelihood, other.likelihood]), 2)
    np.testing.assert_allclose(free, one_task_each)
    clearly_worse = replace(one, prior=0.5, likelihood=other.likelihood - 1)
    assert choose([clearly_worse, other]).weight.tolist() == [0, 1]
    with_gold = [replace(s, right=np.ones(20, bool), gold=np.zeros(20)) for s in (one, other)]
    free, bound = (choose([replace(with_gold[0], prior=p), with_gold[1]]).weight for p in (0.0, 0.5))
    np.testing.assert_array_equal(bound, free)


def test_it_says_that_labels_do_not_tell_apart_what_names_many_tasks_differently():
    lead, other = scores([0.5, 0.5], [-1, -1.01], n_gold=0, noise=0.5)
    for n_moved, said in (
        (20, None),
        (60, "a and b disagree on 20 % of the training tasks, and the labels do not"),
    ):
        moved = np.where(np.arange(300) < n_moved, (other.predicted + 1) % 3, other.predicted)
        found = choose([lead, replace(other, predicted=moved)])
        assert len(found.parts) == 2
        assert found.doubt is None if said is None else found.doubt.startswith(said)
        alone = choose([replace(lead, prior=1.0), replace(other, predicted=moved)])
        assert len(alone.parts) == 1 and alone.doubt == found.doubt
    with_gold = [replace(part, right=np.ones(20, bool), gold=np.zeros(20)) for part in (lead, other)]
    assert choose([with_gold[0], replace(with_gold[1], predicted=moved)]).doubt is None


@pytest.mark.parametrize("equal", [0, 50])
def test_the_weights_are_those_of_a_search(equal):
    log_likelihood = np.log(np.random.default_rng(3).dirichlet(np.ones(4), 2).T.repeat(50, 1)[:2] + 0.01)
    grid = np.linspace(0.0005, 0.9995, 1000)
    value = [np.log(w * np.exp(log_likelihood[0]) + (1 - w) * np.exp(log_likelihood[1])).sum() for w in grid]
    value += equal * (np.log(grid) + np.log(1 - grid)) / 2
    weight = stacked(log_likelihood, equal)
    assert weight.sum() == pytest.approx(1)
    assert weight[0] == pytest.approx(grid[np.argmax(value)], abs=0.02)


def test_a_candidate_that_would_add_next_to_nothing_is_not_trained():
    lead, other = scores([0.9, 0.9], [-1, -1], n_gold=0)
    lead = replace(lead, prior=0.92)
    found = choose([lead, replace(other, likelihood=lead.likelihood)])
    assert found.weight.tolist() == [1, 0] and "hardly change the mean" in found.verdict


def test_clusters_that_are_no_classes_are_left_aside_unless_they_make_the_labels_clearly_likelier():
    likelier, other = scores([0.9, 0.8], [-1, -1.01], n_gold=0, noise=0.5)
    assert min(choose([likelier, other]).weight) > 0.3
    unlike = [replace(likelier, agreement=0.5), replace(other, agreement=0.7)]
    found = choose(unlike)
    assert found.weight.tolist() == [0, 1] and "its clusters" in found.verdict and not found.doubt
    clear = [replace(part, likelihood=part.likelihood + gain) for part, gain in zip(unlike, (1, 0), strict=True)]
    found = choose(clear)
    assert found.weight.tolist() == [1, 0]
    assert found.doubt.startswith(
        "b predicts 70 % of the labels and a only 50 %, but the labels are more likely under the latter"
    )
    assert found.doubt.endswith("add gold for 20 validation tasks.")
    with_gold = [replace(part, right=np.ones(20, bool), gold=np.zeros(20)) for part in clear]
    assert choose(with_gold).doubt is None


def test_methods_that_would_exchange_classes_are_not_averaged():
    lead, other = scores([0.9, 0.8], [-1, -1], n_gold=0)
    other = replace(other, likelihood=lead.likelihood + np.tile([0.5, -0.52], 150))
    assert same_names(lead.predicted, lead.predicted)
    exchanged = replace(other, predicted=np.array([1, 0, 2])[other.predicted])
    assert not same_names(lead.predicted, exchanged.predicted)
    found = choose([lead, exchanged])
    assert found.weight.tolist() == [1, 0]
    likelier = replace(exchanged, likelihood=exchanged.likelihood + 0.02)
    assert choose([lead, likelier]).weight.tolist() == [0, 1]
    believed = replace(lead, prior=0.5, agreement=0.6)
    assert choose([believed, replace(likelier, agreement=0.65)]).weight.tolist() == [1, 0], "the prior tells"
    assert choose([believed, replace(likelier, agreement=0.7)]).weight.tolist() == [0, 1], "it predicts too few labels"
    assert found.doubt == (
        "b could be as good as a, but would exchange classes. Without gold this cannot be decided: add gold for "
        "20 validation tasks."
    )


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
    assert cluster_prior(0.0) == 0 and cluster_prior(0.05) == pytest.approx(0.5) and cluster_prior(found[1]) == 0.9
