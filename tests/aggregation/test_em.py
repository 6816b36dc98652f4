"""The pieces that EM aggregators share."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation._em import start_posterior
from crowdcore.core.counts import clamp
from crowdcore.testing import widen
from testkit.crowds import simulate_crowd


def test_start_is_vote_shares_then_an_earlier_result_then_known_classes():
    crowd = widen(simulate_crowd(20, 5, 3, per_task=4), tasks=2)
    known = np.full(22, -1)
    known[[0, 20]] = 2
    votes = start_posterior(crowd, known)
    for i in range(1, 20):
        labels = crowd.label[crowd.task == i]
        np.testing.assert_allclose(votes[i], [(labels == c).mean() for c in range(3)])
    np.testing.assert_array_equal(votes[[0, 20]], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(votes[21], 0)
    earlier = cc.aggregation.get("dawid-skene").fit(crowd)
    earlier.posterior[5] = np.nan
    warm = start_posterior(crowd, known, earlier)
    np.testing.assert_array_equal(warm[5], votes[5])
    np.testing.assert_array_equal(warm[6:20], earlier.posterior[6:20])
    np.testing.assert_array_equal(warm[[0, 20, 21]], votes[[0, 20, 21]])


def test_clamp_changes_known_rows_only():
    posterior = np.full((3, 2), 0.5)
    clamp(posterior, None)
    clamp(posterior, np.array([-1, 1, 0]))
    np.testing.assert_array_equal(posterior, [[0.5, 0.5], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("values", "cap", "expected", "converged"),
    [
        ([-9.0, -5.0, -4.0, -3.95, -1.0], 10, [-9, -5, -4, -3.95], True),
        ([-9.0, -5.0, -4.0, -3.95], 3, [-9, -5, -4], False),
        ([-9.0, -10.0, 0.0], 10, [-9, -10], True),
        ([-9.0, 0.0], 1, [-9], False),
    ],
)
def test_iterate_stops_when_the_gain_per_annotation_is_small(values, cap, expected, converged):
    model = cc.aggregation.get("dawid-skene", tolerance=0.01, max_iterations=cap)
    trace = model.iterate(iter(values).__next__, n_annotations=10)
    np.testing.assert_array_equal(trace.log_likelihood, expected)
    assert trace.converged is converged
    assert ("cap" in trace.stopped) is not converged
