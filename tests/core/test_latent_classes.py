"""Compiled sums of GLAD and of latent classes, against loops and a literal enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from crowdcore.aggregation.glad import Crowd, e_step, task_sums
from crowdcore.core import compiled
from crowdcore.core.latent_loops import fill_posterior, fit_step
from testkit.crowds import simulate_crowd
from tests.enumerated_tasks import ALONE, N_TASKS, N_WORKERS, C, joint, random_tasks, states


def test_a_step_of_the_fit_is_the_enumeration_of_classes_difficulties_and_foils() -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    n_types, n_class, n_misled, log_likelihood = np.zeros((2, 2)), np.zeros(C), np.zeros(2), 0.0
    labels, right_slope, counts = np.zeros((N_WORKERS, C, 2)), np.zeros((N_WORKERS, C)), np.zeros((N_WORKERS, C, C))
    for i in range(N_TASKS):
        log_likelihood += np.log(sum(p for p, *_ in joint(tasks, model, i)))
        for p, z, d, foil in states(tasks, model, i):
            n_types[d, int(foil >= 0)] += p
            n_class[z] += p
            for r in range(N_WORKERS):
                b = label[i, r]
                own = ALONE * model[1][r, z, b]
                labels[r, z, d] += p
                right_slope[r, z] += p * model[4][d] * (b == z)
                alone = own / (1 - ALONE + own) if b == foil else 1
                counts[r, z, b] += p * alone
                if foil >= 0 and b != z:
                    n_misled += p * np.array([alone, 1 - alone])
    found = fit_step(0, N_TASKS, tasks, model)
    literal = n_types, n_class, labels, right_slope, counts, n_misled, log_likelihood
    for got, of in zip(found, literal, strict=True):
        assert got == pytest.approx(of, rel=1e-9, abs=1e-12)


def test_posterior_difficulty_and_foil_are_those_of_the_enumeration() -> None:
    tasks, model = random_tasks()
    crowd = model[0].mean(0)
    posterior, difficulty, foils = np.empty((N_TASKS, C)), np.empty(N_TASKS), np.full(N_TASKS, -1, np.int32)
    fill_posterior(0, N_TASKS, tasks, model, crowd, posterior, difficulty, foils)
    for i in range(N_TASKS):
        classes, misled, wrong = np.zeros(C), np.zeros((C, C)), 0.0
        for p, z, d, foil in states(tasks, model, i):
            classes[z] += p
            wrong += p * (1 - crowd[z, d])
            if foil >= 0:
                misled[z, foil] += p
        z = classes.argmax()
        likely = int(misled[z].argmax()) if misled[z].max() > classes[z] / 2 else -1
        assert posterior[i] == pytest.approx(classes, rel=1e-9)
        assert difficulty[i] == pytest.approx(wrong, rel=1e-9)
        assert foils[i] == likely
    assert {*foils.tolist()} > {-1}


@pytest.fixture(params=["numpy", "compiled"])
def given(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(compiled, "LARGE", 0)
    data = simulate_crowd(80, 7, 3, per_task=3, accuracy=0.6)
    data = data.where(data.task != 4)
    known = np.where(np.arange(80) % 10 == 3, data.gold, -1).astype(np.int32)
    crowd = Crowd(data.task_start, data.task, data.worker, data.label, known, data.n_workers)
    rng = np.random.default_rng(0)
    return crowd, rng.normal(1, 1.5, 7), rng.lognormal(0, 1, 80), np.log([0.5, 0.3, 0.2])


def curvature(x):
    return np.tanh(x / 2) / (4 * x)


def test_e_step(given):
    crowd, ability, ease, log_prior = given
    posterior = np.full((80, 3), np.nan)
    likelihood, pull, weight = e_step(crowd, ability, ease, log_prior, posterior)
    expected, value = np.zeros((80, 3)), 0.0
    for i in range(80):
        joint = np.exp(log_prior)
        for j in np.flatnonzero(crowd.task == i):
            right = expit(ability[crowd.worker[j]] * ease[i])
            joint = joint * np.where(np.arange(3) == crowd.label[j], right, (1 - right) / 2)
        if crowd.known[i] >= 0:
            joint = joint * (np.arange(3) == crowd.known[i])
        if crowd.known[i] >= 0 or i != 4:
            expected[i] = joint / joint.sum()
            value += np.log(joint.sum())
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    assert likelihood == pytest.approx(value, rel=1e-12)
    for r in range(7):
        mine = crowd.worker == r
        i = crowd.task[mine]
        assert pull[r] == pytest.approx((ease[i] * (expected[i, crowd.label[mine]] - 0.5)).sum())
        assert weight[r] == pytest.approx((2 * curvature(ability[r] * ease[i]) * ease[i] ** 2).sum())


def test_task_sums(given):
    crowd, ability, ease, _ = given
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 80)
    linear, quadratic = task_sums(crowd, ability, ease, posterior)
    for i in range(80):
        mine = crowd.task == i
        a = ability[crowd.worker[mine]]
        assert linear[i] == pytest.approx((a * (posterior[i, crowd.label[mine]] - 0.5)).sum())
        assert quadratic[i] == pytest.approx((curvature(a * ease[i]) * a**2).sum())


def test_curvature_at_zero_is_its_limit(given):
    crowd, ability, ease, _ = given
    _, quadratic = task_sums(crowd, ability * 1e-9, ease, np.full((80, 3), 1 / 3))
    expected = [((ability[crowd.worker[crowd.task == i]] * 1e-9) ** 2).sum() / 8 for i in range(80)]
    np.testing.assert_allclose(quadratic, expected, rtol=1e-9)
