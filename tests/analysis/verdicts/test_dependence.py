"""Labels of one task that depend on each other: Pólya's urn, its η, and how many labels are expected to be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis.verdicts.peers import Evidence, agreement_beyond, peer_beliefs
from crowdcore.core.types import IntArray
from testkit.crowds import simulated
from testkit.planted import HONEST, honest_crowd
from tests.analysis.crowds import make_crowd

FOILS = HONEST["4 classes, hard, own foils"]


def test_the_likelihood_is_that_of_an_urn() -> None:
    crowd = make_crowd([0, 0, 0, 0, 2], [0, 1, 2, 3, 0], [1, 0, 1, 1, 0], 3, 4, 2)
    chance = np.random.default_rng(0).uniform(0.1, 0.9, (5, 2))
    for eta in (0.0, 0.3):
        found = Evidence(crowd, np.log(chance)).log(eta)
        for c in range(2):
            ones, zero = chance[[0, 2, 3], c], chance[1, c]
            mean = ones.prod() ** (1 / 3)
            drawn = [(1 - eta) * mean + eta * k for k in range(3)]
            assert found[0, c] == pytest.approx(np.log(np.prod(drawn) * (1 - eta) * zero))
            assert found[2, c] == pytest.approx(np.log((1 - eta) * chance[4, c]))
        assert np.isnan(found[1]).all()
    product = np.log(chance[:4]).sum(0)
    assert Evidence(crowd, np.log(chance)).log(0.0)[0] == pytest.approx(product)


def test_repeated_labels_never_make_sure() -> None:
    labels = np.ones(400, int)
    crowd = make_crowd(np.zeros(400, int), np.arange(400), labels, 1, 400, 2)
    told = Evidence(crowd, np.log(np.tile([0.4, 0.6], (400, 1))))
    independent, dependent = (told.beliefs(eta, np.zeros(2))[0, 1] for eta in (0.0, 0.3))
    assert independent > 1 - 1e-12
    assert 0.6 < dependent < 0.97


def test_eta_is_the_dependence_that_the_beliefs_leave() -> None:
    crowd = honest_crowd(3, **FOILS)
    found = peer_beliefs(crowd, analysis.resolve_reference(crowd, "dawid-skene"))
    assert found.dependence > 0.05
    assert agreement_beyond(crowd, found.held_out) == pytest.approx(found.dependence, abs=5e-3)


def test_workers_whose_labels_are_copied_within_a_task_agree_beyond_what_they_explain() -> None:
    rng = np.random.default_rng(5)
    n_tasks, per_task = 2000, 5
    gold, task = rng.integers(3, size=n_tasks), np.repeat(np.arange(n_tasks), per_task)
    worker = np.tile(np.arange(per_task), n_tasks)

    def given(n: int) -> IntArray:
        """Labels of tasks 0 … of which 70 % are right."""
        return np.where(rng.random(n) < 0.7, gold[:n], (gold[:n] + rng.integers(1, 3, n)) % 3)

    look = given(n_tasks)[task]
    own = np.stack([given(n_tasks) for _ in range(per_task)], 1).ravel()
    label = np.where(rng.random(len(task)) < 0.6, look, own)
    shared, honest = (make_crowd(task, worker, labels, n_tasks, per_task, 3) for labels in (label, own))
    truth = np.eye(3)[gold]
    assert agreement_beyond(shared, truth) == pytest.approx(0.36, abs=0.04)  # both follow the look: 0.6²
    assert agreement_beyond(honest, truth) < 0.01


def test_a_crowd_without_mistakes_has_no_dependence() -> None:
    task, worker = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    crowd = make_crowd(task, worker, task % 2, 60, 6, 2)
    found = analysis.task_verdicts(crowd, "dawid-skene")
    assert found.dependence < 1e-3
    assert found.in_doubt < 0.01


def test_as_many_labels_are_wrong_as_expected() -> None:
    wrong = expected = 0.0
    for seed in range(40, 46):
        crowd = honest_crowd(seed, **FOILS)
        found = analysis.task_verdicts(crowd, "auto")
        wrong, expected = wrong + (found.label != crowd.gold).sum(), expected + found.in_doubt
    assert 0.6 < expected / wrong < 1.2  # 0.30 if labels are taken as independent given the class
    independent = simulated("large", 3)
    found = analysis.task_verdicts(independent, "auto")
    assert found.in_doubt / (found.label != independent.gold).sum() == pytest.approx(1, abs=0.15)


def test_labels_that_are_independent_have_no_dependence() -> None:
    crowds = [honest_crowd(seed, difficulty=0.0) for seed in range(4)]
    assert np.mean([analysis.task_verdicts(crowd, "auto").dependence for crowd in crowds]) < 0.03
