"""Shared mistakes must rest on many tasks: sums by hand, both ways of summing, and what fools the test over workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from crowdcore.analysis import shared_mistakes
from crowdcore.analysis.mistakes.significance import sharing_p_values
from crowdcore.analysis.statistics import benjamini_hochberg
from crowdcore.core import mistakes
from crowdcore.core.mistakes import carried_sums, mistake_triples
from testkit.erring import FOOLED, individual
from tests.analysis.crowds import crowds, make_crowd

DENSE = (20, 120, 6, 20)


def summed(crowd):
    n, n_workers = crowd.n_classes, crowd.n_workers
    table = crowd.task, crowd.worker, crowd.label, crowd.gold
    triples = mistake_triples(*table, n_workers, n)
    score = sharing_p_values(triples.cell, triples.worker, triples.times, n).score
    return triples, score, carried_sums(*table, triples, score, n_workers, n)


@given(crowds())
def test_sums_are_literal(crowd):
    triples, score, found = summed(crowd)
    n = crowd.n_classes
    part = dict(zip(zip(triples.cell, triples.worker, strict=True), score / triples.times, strict=True))
    carried, parts, labels = np.zeros((crowd.n_tasks, n)), np.zeros(n * n), np.zeros(crowd.n_tasks)
    for i, r, b in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        labels[i] += 1
        if crowd.gold[i] not in (-1, b):
            s = part[crowd.gold[i] * n + b, r]
            carried[i, b] += s
            parts[crowd.gold[i] * n + b] += s**2
    for a in range(n):
        of = crowd.gold == a
        np.testing.assert_allclose(found.total[a * n : (a + 1) * n], carried[of].sum(0))
        np.testing.assert_allclose(found.squares[a * n : (a + 1) * n], (carried[of] ** 2).sum(0))
        np.testing.assert_allclose(found.weighted[a * n : (a + 1) * n], labels[of] @ carried[of])
        assert (found.labels[a], found.labels_squared[a]) == (labels[of].sum(), (labels[of] ** 2).sum())
    np.testing.assert_allclose(found.parts, parts)


def test_compiled_sums_are_the_same(monkeypatch):
    crowd, _ = individual(DENSE, "own rows", 0.2, (0.01, 0.1), np.random.default_rng(0))
    plain = summed(crowd)[2]
    monkeypatch.setattr(mistakes, "_LARGE", 0)
    for one, two in zip(plain, summed(crowd)[2], strict=True):
        np.testing.assert_allclose(one, two)


def test_one_task_with_wrong_gold_is_no_shared_mistake_and_many_tasks_are():
    """Fifteen workers, three mistakes each: one task misleads all of them, or each of 24 tasks some of them."""
    rng = np.random.default_rng(0)
    task, worker = np.repeat(np.arange(30), 15), np.tile(np.arange(15), 30)
    alone = np.where(task == 0, 1, np.where(rng.random(450) < 0.1, rng.integers(1, 6, 450), 0))
    many = np.where((task < 24) & (rng.random(450) < 0.2), 1, np.where(task == 0, 0, alone))
    one, several = (
        shared_mistakes(make_crowd(task, worker, label, 30, 15, 6, np.zeros(30, int))) for label in (alone, many)
    )
    assert one.p_workers[0, 1] < 1e-4 < 0.05 < one.p_value[0, 1]
    assert one.carriers[0, 1] < 4
    assert several.q_value[0, 1] < 0.01
    assert several.carriers[0, 1] > 8


@pytest.mark.parametrize("fooled", ["2 % wrong gold", "10 % foils"])
def test_wrong_gold_and_foils_do_not_fool_it(fooled):
    rng = np.random.default_rng(0)
    found = [shared_mistakes(individual(DENSE, "pair flips", 0.0, FOOLED[fooled], rng)[0]) for _ in range(30)]
    assert np.mean([(benjamini_hochberg(r.p_workers) <= 0.05).any() for r in found]) > 0.5
    assert np.mean([(r.q_value <= 0.05).any() for r in found]) <= 0.1


def test_common_mistakes_are_found_nearly_as_often_as_without_evidence_over_tasks():
    rng = np.random.default_rng(1)
    powers = []
    for _ in range(15):
        crowd, shared = individual(DENSE, "own rows", 0.3, (0, 0), rng)
        found = shared_mistakes(crowd)
        powers.append([(q[shared] <= 0.05).mean() for q in (benjamini_hochberg(found.p_workers), found.q_value)])
    before, after = np.mean(powers, axis=0)
    assert before > 0.8
    assert after >= 0.8 * before
