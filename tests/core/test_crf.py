"""The conditional random field: its slope, what it learns, and the moves that it must not make."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

from crowdcore.core.chains import Chains, Crf

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
