"""The conditional random field; forward-backward and Viterbi against the sum over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

from crowdcore.core.chains import Chains, Crf

LENGTHS = [3, 1, 4, 2, 4]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(LENGTHS)])
    return start, rng.normal(size=(start[-1], 3)), rng.normal(size=3), rng.normal(size=(3, 3))


def paths(log_emission, log_first, log_move):
    for path in product(range(3), repeat=len(log_emission)):
        score = log_first[path[0]] + sum(log_emission[i, z] for i, z in enumerate(path))
        yield path, score + sum(log_move[a, b] for a, b in pairwise(path))


def test_forward_backward_is_the_sum_over_all_paths(problem):
    start, emission, first, move = problem
    posterior, begins, pairs, likelihood = np.zeros_like(emission), np.zeros(3), np.zeros((3, 3)), 0.0
    for a, b in pairwise(start):
        scored = [(path, np.exp(score)) for path, score in paths(emission[a:b], first, move)]
        total = sum(weight for _, weight in scored)
        likelihood += np.log(total)
        for path, weight in scored:
            begins[path[0]] += weight / total
            for i, z in enumerate(path):
                posterior[a + i, z] += weight / total
            for one, other in pairwise(path):
                pairs[one, other] += weight / total
    found = Chains(start).forward_backward(emission, first, move)
    np.testing.assert_allclose(found.posterior, posterior, atol=1e-12)
    np.testing.assert_allclose(found.first, begins, atol=1e-12)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-12)
    assert found.log_likelihood == pytest.approx(likelihood)


def test_each_chain_has_its_own_partition_and_weight(problem):
    start, *tables = problem
    weight, together = np.array([0.5, 2.0, 0.0, 1.0, 0.25]), Chains(start)
    alone = [Chains(np.array([0, b - a])).forward_backward(tables[0][a:b], *tables[1:]) for a, b in pairwise(start)]
    found = together.forward_backward(*tables, weight)
    np.testing.assert_allclose(found.first, sum(w * one.first for w, one in zip(weight, alone, strict=True)))
    np.testing.assert_allclose(found.pairs, sum(w * one.pairs for w, one in zip(weight, alone, strict=True)))
    np.testing.assert_allclose(together.log_partition(*tables), [one.log_likelihood for one in alone])


def test_viterbi_is_the_best_of_all_paths(problem):
    start, emission, first, move = problem
    found = Chains(start).most_probable(emission, first, move)
    for a, b in pairwise(start):
        best = max(paths(emission[a:b], first, move), key=lambda scored: scored[1])[0]
        assert tuple(found[a:b]) == best


def test_long_chains_and_impossible_states_do_not_underflow():
    emission = np.full((5000, 2), -1e5)
    emission[:, 0] = -np.inf
    found = Chains(np.array([0, 5000])).forward_backward(emission, np.zeros(2), np.array([[0.0, -50.0], [0.0, -50.0]]))
    assert np.isfinite(found.log_likelihood)
    np.testing.assert_allclose(found.posterior[:, 1], 1)


def test_emissions_made_as_needed_fill_the_posterior(monkeypatch):
    monkeypatch.setattr("crowdcore.core.chains.ELEMENTS", 2)
    rng = np.random.default_rng(3)
    chains = Chains(np.array([0, 3, 4, 8]))
    emission, first, move = rng.normal(size=(8, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    want, posterior = chains.forward_backward(emission, first, move), np.zeros((8, 3))
    found = chains.update(posterior, lambda at: emission[at], first, move)
    alone = chains.update(None, lambda at: emission[at], first, move)
    np.testing.assert_array_equal(posterior, want.posterior)
    for sums in (found, alone):
        np.testing.assert_array_equal(sums.pairs, want.pairs)
        assert sums.log_likelihood == want.log_likelihood
    assert chains.most_probable(lambda at: emission[at], first, move).tolist() == (
        chains.most_probable(emission, first, move).tolist()
    )


CHAINS = Chains(np.array([0, 3, 4, 8]))
X = scipy.sparse.random_array((8, 4), density=0.6, rng=np.random.default_rng(0)).tocsr()
STATES = np.array([0, 1, 2, 0, 2, 2, 1, 1])


def observed() -> np.ndarray:
    """How often each feature, first state and move goes with each state."""
    states = np.eye(3)[STATES]
    first, moves = states[[0, 3, 4]].sum(0), np.zeros((3, 3))
    for a, b in [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7)]:
        moves[STATES[a], STATES[b]] += 1
    return np.vstack([X.T @ states, first, moves])


def objective(flat: np.ndarray) -> float:
    crf = Crf(flat.reshape(8, 3))
    partition = CHAINS.log_partition(crf.scores(X), crf.first, crf.move).sum()
    return float((crf.table * observed()).sum() - partition - 0.3 / 2 * flat @ flat)


def test_it_learns_the_largest_penalised_likelihood():
    crf = Crf.untrained(4, 3).learn(X, CHAINS, observed(), ridge=0.3, rounds=200)
    without_slopes = minimize(lambda flat: -objective(flat), np.zeros(24), options={"gtol": 1e-6})
    np.testing.assert_allclose(crf.table.ravel(), without_slopes.x, atol=1e-3)
    assert objective(crf.table.ravel()) == pytest.approx(-without_slopes.fun, abs=1e-6)
    more = crf.learn(X, CHAINS, observed(), ridge=0.3, rounds=1)
    assert objective(more.table.ravel()) >= objective(crf.table.ravel())


def test_untrained_all_paths_are_equally_likely_and_forbidden_ones_are_not_taken():
    crf = Crf.untrained(4, 3)
    np.testing.assert_allclose(crf.posterior(X, CHAINS), 1 / 3)
    forbidden = np.zeros((4, 3), bool)
    forbidden[:, 0] = True
    forbidden[1, 1] = forbidden[2, 2] = True
    found = crf.most_probable(X, CHAINS, forbidden)
    assert 0 not in found
    inside = np.array([1, 2, 5, 6, 7])
    assert (found[inside] != found[inside - 1]).all()
