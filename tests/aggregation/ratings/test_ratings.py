"""Aggregators of ratings: their contract, and Raykar's model against its equations and a planted crowd."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation import ratings
from crowdcore.core import compiled
from tests.rated_crowd import rated_crowd


def rmse(result: ratings.RatingResult, truth: np.ndarray) -> float:
    return float(np.sqrt(np.nanmean((result.rating - truth) ** 2)))


@pytest.mark.parametrize("name", ratings.names())
def test_what_holds_for_every_aggregator(name):
    crowd, _ = rated_crowd(80, 8, 3)
    result = ratings.get(name).fit(crowd)
    assert rmse(result, crowd.gold) < 0.12
    assert result.rating.tolist() == ratings.get(name).fit(replace(crowd, gold=None)).rating.tolist()
    turned = replace(crowd, worker=7 - crowd.worker, worker_ids=crowd.worker_ids[::-1])
    np.testing.assert_allclose(ratings.get(name).fit(turned).rating, result.rating, atol=1e-9)
    larger = replace(crowd, low=-10, high=40, rating=3 + 10 * crowd.rating, gold=3 + 10 * crowd.gold)
    np.testing.assert_allclose(ratings.get(name).fit(larger).rating, 3 + 10 * result.rating, atol=1e-6)
    some = crowd.where(crowd.task > 0)
    assert np.isnan(ratings.get(name).fit(some).rating[0])
    known = np.where(np.arange(80) < 2, 0.25, np.nan)
    assert ratings.get(name).fit(some, known=known).rating[:2].tolist() == [0.25, 0.25]
    assert list(result.frame(crowd)["task"][:2]) == ["t0", "t1"]


def test_median_is_that_of_numpy():
    crowd, _ = rated_crowd(20, 8, 4)
    oracle = [np.median(crowd.rating[crowd.task == i]) for i in range(20)]
    np.testing.assert_allclose(ratings.Median().fit(crowd).rating, oracle)


def test_raykar_recovers_bias_and_precision_and_beats_the_mean():
    crowd, bias = rated_crowd(400, 20, 5, noise=0.05)
    result = ratings.RaykarEM().fit(crowd)
    assert rmse(result, crowd.gold) < 0.75 * rmse(ratings.Mean().fit(crowd), crowd.gold)
    assert np.abs(result.bias - bias + np.mean(bias)).max() < 0.04
    assert np.median(result.precision) == pytest.approx(1 / 0.05**2, rel=0.25)
    assert result.converged
    assert np.diff(result.log_likelihood).min() > -1e-6
    inside = np.abs(result.rating - crowd.gold - np.mean(bias)) < 2 * result.sd
    assert inside.mean() > 0.85
    assert "known ratings" in result.notes[0]


def test_a_shared_bias_is_learnt_from_known_ratings():
    crowd, _ = rated_crowd(400, 20, 5, noise=0.05, shared=lambda t: 0.2 - 0.4 * (t - 0.5), bias_sd=0.05)
    known = np.where(np.arange(400) < 60, crowd.gold, np.nan)
    result = ratings.RaykarEM().fit(crowd, known=known)
    blind = ratings.RaykarEM().fit(crowd)
    assert result.shared_scale == pytest.approx(0.6, abs=0.07)
    assert rmse(result, crowd.gold) < 0.06 < 0.15 < rmse(blind, crowd.gold)
    assert np.diff(result.log_likelihood).min() > -1e-6
    assert not result.notes


def test_without_bias_and_scale_the_e_step_is_the_papers():
    crowd, _ = rated_crowd(30, 5, 3)
    result = ratings.RaykarEM(bias_shrinkage=1e9, scale_shrinkage=1e9, max_iterations=1).fit(crowd)
    within = crowd.rating - ratings.Mean().fit(crowd).rating[crowd.task]
    noise, spread = (within**2).sum() / 60, np.bincount(crowd.task, crowd.rating / 3).var()
    mean = np.bincount(crowd.task, crowd.rating) / 3
    expected = (crowd.rating.mean() / spread + 3 * mean / noise) / (1 / spread + 3 / noise)
    np.testing.assert_allclose(result.rating, expected)


def test_the_compiled_pass_is_the_plain_one(monkeypatch):
    crowd, _ = rated_crowd(50, 6, 3)
    plain = ratings.RaykarEM(max_iterations=5).fit(crowd)
    monkeypatch.setattr(compiled, "LARGE", 0)
    np.testing.assert_allclose(ratings.RaykarEM(max_iterations=5).fit(crowd).rating, plain.rating)


def test_refusals():
    crowd, _ = rated_crowd(10, 3, 2)
    with pytest.raises(cc.DataError, match="rated has no ratings"):
        ratings.Mean().fit(crowd.where(np.zeros(20, bool)))
    with pytest.raises(cc.SettingError, match="`known`"):
        ratings.Mean().fit(crowd, known=np.zeros(3))
    with pytest.raises(cc.SettingError, match="Did you mean 'mean'"):
        ratings.get("meen")


def test_the_real_ones(data_folder):
    reviews = cc.load_ratings("movie_reviews", accept=True)
    rmses = {name: rmse(ratings.get(name).fit(reviews), reviews.gold) for name in ratings.names()}
    assert rmses["raykar-em"] < 0.065 < rmses["mean"] < rmses["median"]
