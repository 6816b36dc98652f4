"""Which ratings surprise: against the definition worker by worker, and against what chance makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from crowdcore import analysis
from tests.rated_crowd import rated_crowd


def test_a_rating_is_held_against_the_others_of_its_worker() -> None:
    crowd, _ = rated_crowd(40, 6, 3)
    found = analysis.rating_surprise(crowd, analysis.rating_truth(crowd))
    error = crowd.rating - crowd.gold[crowd.task]
    for row in range(0, crowd.n_annotations, 7):
        others = error[(crowd.worker == crowd.worker[row]) & (np.arange(len(error)) != row)]
        n = len(others)
        t = (error[row] - others.mean()) / (others.std(ddof=1) * np.sqrt(1 + 1 / n))
        assert found.usual[row] == pytest.approx(others.mean())
        assert found.p_value[row] == pytest.approx(2 * stats.t.sf(abs(t), n - 1), rel=1e-6)


def test_honest_ratings_surprise_as_often_as_chance_says_and_a_slip_does() -> None:
    crowd, _ = rated_crowd(2000, 20, 5, seed=3)
    truth = analysis.rating_truth(crowd)
    p_value = analysis.rating_surprise(crowd, truth).p_value
    assert stats.kstest(p_value, "uniform").pvalue > 0.01
    assert 0.005 < (p_value < 0.01).mean() < 0.015
    slipped = crowd.rating.copy()
    slipped[17] += 0.8  # ten times the noise
    assert analysis.rating_surprise(replace(crowd, rating=slipped), truth).p_value[17] < 1e-10


def test_a_worker_of_two_ratings_or_of_equal_errors_has_none() -> None:
    crowd, _ = rated_crowd(30, 6, 3)
    first = np.flatnonzero(crowd.worker == 0)[2:]
    few = crowd.where(~np.isin(np.arange(crowd.n_annotations), first))
    found = analysis.rating_surprise(few, analysis.rating_truth(few))
    assert np.isnan(found.p_value[few.worker == 0]).all()
    assert not np.isnan(found.p_value[few.worker != 0]).any()
    exact = replace(crowd, rating=crowd.gold[crowd.task])
    assert np.isnan(analysis.rating_surprise(exact, analysis.rating_truth(exact)).p_value).all()
