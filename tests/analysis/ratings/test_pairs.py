"""Pairs of workers by error correlation: honest crowds accuse nobody, copies are found, with and without gold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.analysis.ratings.pairs import first_ratings, residuals
from crowdcore.core.types import FloatArray
from crowdcore.data.ratings import RatingDataset

CROWDS = 20


def crowd(
    seed: int,
    n_workers: int,
    each: int,
    spread: FloatArray,
    n_tasks: int = 200,
    unequal: bool = False,
    copies: bool = False,
) -> RatingDataset:
    """Independent errors beside biases; on unequal tasks all err by more or less; a copy is worker 1 of worker 0."""
    rng = np.random.default_rng(seed)
    gold, difficulty = rng.uniform(3, 7, n_tasks), rng.gamma(1, 1, n_tasks) if unequal else np.ones(n_tasks)
    rated = np.zeros((n_tasks, n_workers), bool)
    np.put_along_axis(rated, rng.random((n_tasks, n_workers)).argsort(1)[:, :each], True, 1)
    rating = gold[:, None] + rng.normal(0, 0.5, n_workers) + difficulty[:, None] * spread * rng.normal(size=rated.shape)
    if copies:
        rating[:, 1] = rating[:, 0]
    task, worker = np.nonzero(rated)
    ids = (pd.Index([f"{kind}{n}" for n in range(size)]) for kind, size in (("t", n_tasks), ("w", n_workers)))
    return RatingDataset("sim", -100, 100, *ids, task, worker, rating[task, worker], gold=gold)


def accused(made: RatingDataset, reference: str) -> set[tuple[int, int]]:
    found = analysis.rating_pairs(made, analysis.rating_truth(made, reference))
    return {(a, b) for a, b, q in zip(found.worker_a, found.worker_b, found.q_value, strict=True) if q <= 0.05}


@pytest.mark.parametrize("reference", ["gold", "mean", "median"])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("workers, each, noisy", [(12, 3, 2), (5, 5, 1), (10, 8, 1)])
def test_independent_workers_are_not_accused(
    workers: int, each: int, noisy: int, unequal: bool, reference: str
) -> None:
    spread = np.where(np.arange(workers) < noisy, 2.0, 0.5)
    found = [accused(crowd(s, workers, each, spread, unequal=unequal), reference) for s in range(CROWDS)]
    assert sum(bool(pairs) for pairs in found) <= 3  # .05 of 20 crowds are expected; P(more than 3) = .016


@pytest.mark.parametrize("reference", ["gold", "mean"])
def test_a_copy_is_found_and_nobody_else(reference: str) -> None:
    assert accused(crowd(1, 10, 5, np.full(10, 0.7), copies=True), reference) == {(0, 1)}


def test_variances_of_errors_without_truth() -> None:
    spread = np.linspace(0.7, 1.5, 8)
    made = crowd(2, 8, 4, spread, n_tasks=20_000)
    assert residuals(made, first_ratings(made)).variance == pytest.approx(spread**2, rel=0.1)


def test_two_ratings_per_task_say_nothing_of_errors() -> None:
    made = crowd(3, 5, 2, np.ones(5))
    found = analysis.rating_pairs(made, analysis.rating_truth(made, "mean"))
    assert len(found.distance) == 10
    assert np.isfinite(found.distance).all()
    assert np.isnan(found.q_value).all()
    assert np.isnan(found.error_correlation).all()
