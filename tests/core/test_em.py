"""The EM step against a literal one in logarithms, in SciPy and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.special import logsumexp

from crowdcore.core import compiled, em

EITHER_WAY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["sparse", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0 if request.param == "compiled" else 10**12)
    monkeypatch.setattr(em, "n_ranges", lambda work, accumulator: 4)
    return request.param


def random_problem(rng, n_tasks, n_workers, n_classes, n_annotations, sharpness=1.0, known=True):
    """A table, the task of each annotation, and random parameters (the larger ``sharpness``, the more extreme)."""
    task = np.sort(rng.integers(n_tasks, size=n_annotations))
    worker, label = (rng.integers(n, size=n_annotations) for n in (n_workers, n_classes))
    start = np.searchsorted(task, np.arange(n_tasks + 1))
    clamped = np.where(rng.random(n_tasks) < 0.2, rng.integers(n_classes, size=n_tasks), -1) if known else None
    table = em.LabelTable.of(start, worker, label, n_workers, n_classes, clamped)
    scores = sharpness * rng.normal(size=(n_workers, n_classes, n_classes))
    log_confusion = (scores - logsumexp(scores, 1, keepdims=True)).reshape(-1, n_classes)
    log_prior = np.log(rng.dirichlet(np.ones(n_classes)))
    return table, task, log_confusion, log_prior


def literal_step(table, task, log_confusion, log_prior, hard=False):
    """One E-step, task by task and annotation by annotation."""
    posterior = np.zeros((table.n_tasks, table.n_classes))
    counts = np.zeros((table.n_cells, table.n_classes))
    likelihood = 0.0
    for i in range(table.n_tasks):
        cells = table.cell[task == i]
        joint = log_prior + sum((log_confusion[x] for x in cells), np.zeros(table.n_classes))
        if table.known[i] >= 0:
            posterior[i, table.known[i]] = 1
            likelihood += joint[table.known[i]]
        elif len(cells) and hard:
            posterior[i, joint.argmax()] = 1
            likelihood += joint.max()
        elif len(cells):
            posterior[i] = np.exp(joint - logsumexp(joint))
            likelihood += logsumexp(joint)
        for x in cells:
            counts[x] += posterior[i]
    return posterior, counts, likelihood


def check(problem, hard=False):
    table, task, log_confusion, log_prior = problem
    posterior = np.full((table.n_tasks, table.n_classes), 7.0)
    sums = em.em_step(table, log_confusion, log_prior, posterior, hard)
    expected, counts, likelihood = literal_step(table, task, log_confusion, log_prior, hard)
    np.testing.assert_allclose(posterior, expected, atol=1e-11)
    np.testing.assert_allclose(sums.counts, counts, atol=1e-10)
    np.testing.assert_allclose(sums.classes, expected.sum(0), atol=1e-10)
    assert sums.log_likelihood == pytest.approx(likelihood, rel=1e-12, abs=1e-9)


@EITHER_WAY
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 4), st.integers(1, 5), st.integers(0, 60), st.booleans()
)
def test_step_equals_the_literal_one(way, seed, n_tasks, n_workers, n_classes, n_annotations, hard):
    check(random_problem(np.random.default_rng(seed), n_tasks, n_workers, n_classes, n_annotations), hard)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("sharpness", [1, 20, 300])
def test_long_tasks_and_extreme_workers_do_not_underflow(way, sharpness, hard):
    rng = np.random.default_rng(sharpness)
    check(random_problem(rng, 3, 30, 4, 2_000, sharpness), hard)  # some 670 labels per task
    check(random_problem(rng, 300, 30, 4, 2_000, sharpness), hard)  # products of 7 and sums mixed


def test_probabilities_near_the_ends_of_float64(way):
    """Two workers who are certain to 1e-300 disagree; a third decides."""
    tiny = 1e-300
    sure = np.array([[1 - tiny, tiny], [tiny, 1 - tiny]])
    log_confusion = np.log(np.concatenate([sure, sure, [[0.8, 0.2], [0.2, 0.8]]]))
    table = em.LabelTable.of(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 1, 1]), 3, 2)
    posterior = np.empty((1, 2))
    sums = em.em_step(table, log_confusion, np.log([0.5, 0.5]), posterior)
    np.testing.assert_allclose(posterior, [[0.2, 0.8]], atol=1e-12)
    assert sums.log_likelihood == pytest.approx(np.log(0.5) + np.log(tiny), abs=1e-9)


def test_class_without_share_and_cells_without_annotations(way):
    table = em.LabelTable.of(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([0, 1, 0]), 3, 2)
    log_confusion = np.log(np.full((6, 2), 0.5))
    log_confusion[4:] = -np.inf  # worker 2 has no annotations
    posterior = np.empty((2, 2))
    with np.errstate(divide="ignore"):
        sums = em.em_step(table, log_confusion, np.log([1.0, 0.0]), posterior)
    np.testing.assert_array_equal(posterior, [[1, 0], [1, 0]])
    assert sums.log_likelihood == pytest.approx(3 * np.log(0.5))


def test_expected_sums_under_a_given_posterior(way):
    table, task, *_ = random_problem(np.random.default_rng(5), 20, 4, 3, 90)
    posterior = np.random.default_rng(6).dirichlet(np.ones(3), 20)
    expected = np.zeros((table.n_cells, 3))
    for i, x in zip(task, table.cell, strict=True):
        expected[x] += posterior[i]
    sums = em.expected_sums(table, posterior)
    np.testing.assert_allclose(sums.counts, expected, atol=1e-12)
    np.testing.assert_allclose(sums.classes, posterior.sum(0), atol=1e-12)


def test_same_bits_on_any_number_of_cores(monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0)
    monkeypatch.setattr(em, "n_ranges", lambda work, accumulator: 8)
    table, _, *parameters = random_problem(np.random.default_rng(0), 2_000, 20, 5, 9_000)
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(compiled, "cores", lambda cores=cores: cores)
        posterior = np.empty((table.n_tasks, 5))
        found.append((em.em_step(table, *parameters, posterior), posterior))
    for sums, posterior in found[1:]:
        np.testing.assert_array_equal(posterior, found[0][1])
        np.testing.assert_array_equal(sums.counts, found[0][0].counts)
        assert sums.log_likelihood == found[0][0].log_likelihood
