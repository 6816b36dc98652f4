"""GLAD against its density, spelt out, and its optimum; compiled loops against NumPy; crowd-kit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import crowdcore as cc
from crowdcore.core import compiled
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd


def literal_joint(dataset, ability, ease):
    """log p(z = c, y_i) of every task and class, and the log prior density of the parameters (without constants)."""
    joint = np.full((dataset.n_tasks, dataset.n_classes), -np.log(dataset.n_classes))
    for i, r, y in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        right = expit(ability[r] * ease[i])
        for c in range(dataset.n_classes):
            joint[i, c] += np.log(right if c == y else (1 - right) / (dataset.n_classes - 1))
    return joint, -((ability - 1) ** 2).sum() / 2 - ((np.log(ease) - 1) ** 2).sum() / 2


def objective(dataset, ability, ease, known=None):
    joint, density = literal_joint(dataset, ability, ease)
    free = np.ones(dataset.n_tasks, bool) if known is None else known < 0
    value = np.logaddexp.reduce(joint[free], axis=1).sum() + density
    return value if known is None else value + joint[~free, known[~free]].sum()


def fit(dataset, known=None, **settings):
    return cc.aggregation.get("glad", **{"tolerance": 0, "max_iterations": 30, **settings}).fit(dataset, known=known)


@pytest.mark.parametrize("n_known", [0, 6])
def test_objective_and_posterior_are_those_of_the_model(n_known):
    crowd = simulate_crowd(30, 6, 3, per_task=3, accuracy=0.7, seed=1)
    known = np.where(np.arange(30) < n_known, crowd.gold, -1)
    before, after = fit(crowd, known, max_iterations=8), fit(crowd, known, max_iterations=9)
    joint, _ = literal_joint(crowd, before.worker_weight, 1 / before.difficulty)
    free = known < 0
    q = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    np.testing.assert_allclose(after.posterior[free], q[free], atol=1e-9)
    value = objective(crowd, before.worker_weight, 1 / before.difficulty, known)
    assert after.log_likelihood[-1] == pytest.approx(value, rel=1e-10)


def test_the_end_is_a_summit():
    crowd = simulate_crowd(40, 6, 4, per_task=4, accuracy=0.7, seed=3)
    result = fit(crowd, max_iterations=3000)
    ability, ease = result.worker_weight, 1 / result.difficulty
    top = objective(crowd, ability, ease)
    for k in range(6):
        for step in (-1e-3, 1e-3):
            assert objective(crowd, ability + step * (np.arange(6) == k), ease) <= top + 1e-9
    for k in range(0, 40, 5):
        for step in (-1e-3, 1e-3):
            assert objective(crowd, ability, ease * np.exp(step * (np.arange(40) == k))) <= top + 1e-9


@pytest.mark.parametrize("settings", [{}, {"class_prior": "estimated"}, {"ability_deviation": 3, "log_ease_mean": 0}])
def test_objective_never_falls(settings):
    crowd = simulate_crowd(150, 12, 5, per_task=3, accuracy=0.5)
    values = fit(crowd, max_iterations=100, **settings).log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_compiled_loops_do_what_numpy_does(monkeypatch):
    crowd = simulate_crowd(400, 9, 4, per_task=3, accuracy=0.6).where(np.arange(1200) % 7 > 0)
    crowd = crowd.where(crowd.task > 2)
    known = np.where(np.arange(400) % 50 == 0, crowd.gold, -1)
    plain = fit(crowd, known)
    monkeypatch.setattr(compiled, "LARGE", 0)
    large = fit(crowd, known)
    np.testing.assert_allclose(large.posterior, plain.posterior, atol=1e-10)
    np.testing.assert_allclose(large.worker_weight, plain.worker_weight, rtol=1e-9)
    np.testing.assert_allclose(large.difficulty, plain.difficulty, rtol=1e-6)
    np.testing.assert_allclose(large.log_likelihood, plain.log_likelihood, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_agrees_with_crowd_kit():
    """Same model and priors, another optimiser: nearly the same summit."""
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    crowd = simulate_crowd(40, 6, 3, per_task=4, accuracy=0.7, seed=2)
    theirs = kit.GLAD(n_iter=10, tol=-np.inf, m_step_tol=1e-6).fit(crowd.annotations.astype(str))
    ours = fit(crowd, max_iterations=2000)
    np.testing.assert_allclose(ours.worker_weight, theirs.alphas_.reindex(crowd.worker_ids), atol=1e-3)
    np.testing.assert_allclose(-np.log(ours.difficulty), theirs.betas_.reindex(crowd.task_ids), atol=1e-3)
    probas = theirs.probas_.reindex(index=crowd.task_ids, columns=list(crowd.classes))
    np.testing.assert_allclose(ours.posterior, probas, atol=1e-3)


def test_abilities_and_hard_tasks_are_recovered():
    rng = np.random.default_rng(0)
    base = simulate_crowd(3000, 12, 3, per_task=8)
    ability, log_ease = rng.normal(1, 1, 12), rng.normal(0.5, 1, 3000)
    right = rng.random(base.n_annotations) < expit(ability[base.worker] * np.exp(log_ease[base.task]))
    wrong = (base.gold[base.task] + rng.integers(1, 3, base.n_annotations)) % 3
    label = np.where(right, base.gold[base.task], wrong)
    crowd = CrowdDataset("glad", base.classes, base.task_ids, base.worker_ids, base.task, base.worker, label)
    result = cc.aggregation.get("glad", log_ease_mean=0.5, tolerance=1e-8).fit(crowd)
    np.testing.assert_allclose(result.worker_weight, ability, atol=0.25)
    assert np.corrcoef(np.log(result.difficulty), -log_ease)[0, 1] > 0.6
    votes = cc.aggregation.get("majority-vote").fit(crowd).labels
    assert (result.labels == base.gold).mean() > (votes == base.gold).mean()


def test_starts_from_an_earlier_result_of_its_own():
    crowd = simulate_crowd(200, 9, 3)
    first = cc.aggregation.get("glad").fit(crowd)
    again = cc.aggregation.get("glad").fit(crowd, start=first)
    assert again.log_likelihood[0] >= first.log_likelihood[-1] - 1e-9
    assert len(again.log_likelihood) < 4
