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
    slope: FloatArray | float = 1.0,
    flat: int = 0,
    span: tuple[float, float] = (-100, 100),
) -> RatingDataset:
    """Independent errors beside lines; on unequal tasks all err by more or less; a copy is worker 1 of worker 0.

    The last ``flat`` workers rate about 4.5, 5.5 … whatever the task.
    """
    rng = np.random.default_rng(seed)
    gold, difficulty = rng.uniform(3, 7, n_tasks), rng.gamma(1, 1, n_tasks) if unequal else np.ones(n_tasks)
    rated = np.zeros((n_tasks, n_workers), bool)
    np.put_along_axis(rated, rng.random((n_tasks, n_workers)).argsort(1)[:, :each], True, 1)
    rating = 5 + slope * (gold[:, None] - 5) + rng.normal(0, 0.5, n_workers)
    rating += difficulty[:, None] * spread * rng.normal(size=rated.shape)
    if copies:
        rating[:, 1] = rating[:, 0]
    for k in range(flat):
        rating[:, -1 - k] = 4.5 + k + 0.2 * rng.normal(size=n_tasks)
    rating = np.clip(rating, *span)
    task, worker = np.nonzero(rated)
    ids = (pd.Index([f"{kind}{n}" for n in range(size)]) for kind, size in (("t", n_tasks), ("w", n_workers)))
    return RatingDataset("sim", *span, *ids, task, worker, rating[task, worker], gold=gold)


def accused(made: RatingDataset, reference: str) -> set[tuple[int, int]]:
    pairs = analysis.rating_pairs(made, analysis.rating_truth(made, reference))
    return {(a, b) for a, b, q in zip(pairs.worker_a, pairs.worker_b, pairs.q_value, strict=True) if q <= 0.05}


@pytest.mark.parametrize("reference", ["gold", "mean"])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("workers, each, noisy", [(12, 3, 2), (5, 5, 1), (10, 8, 1)])
def test_independent_workers_are_not_accused(
    workers: int, each: int, noisy: int, unequal: bool, reference: str
) -> None:
    spread = np.where(np.arange(workers) < noisy, 2.0, 0.5)
    n_accused = [accused(crowd(s, workers, each, spread, unequal=unequal), reference) for s in range(CROWDS)]
    assert sum(bool(pairs) for pairs in n_accused) <= 3  # .05 of 20 crowds are expected; P(more than 3) = .016


@pytest.mark.parametrize("reference", ["gold", "mean"])
@pytest.mark.parametrize("workers, each", [(12, 5), (5, 5), (15, 15)])
def test_two_who_ignore_the_task_are_not_alike_but_do_not_follow_it(workers: int, each: int, reference: str) -> None:
    """They erred alike with r = 1 and p = 5e-57, as errors were ratings less the truth and a bias."""
    n_told = false = 0
    for seed in range(CROWDS):
        made = crowd(seed, workers, each, np.full(workers, 0.6), flat=2)
        assert (workers - 2, workers - 1) not in accused(made, reference)
        ignores = analysis.rating_workers(made, analysis.rating_truth(made, reference)).ignores
        n_told += ignores[-2:].all()
        false += ignores[:-2].any()
    assert n_told >= 0.9 * CROWDS
    assert false <= 2


def test_who_turns_the_scale_follows_the_tasks() -> None:
    for seed in range(5):
        made = crowd(seed, 8, 6, np.full(8, 0.6), slope=np.where(np.arange(8) == 0, -1.0, 1.0), flat=1)
        result = analysis.rating_workers(made, analysis.rating_truth(made, "median"))
        assert result.reverses.tolist() == [True] + [False] * 7
        assert result.ignores.tolist() == [False] * 7 + [True]


@pytest.mark.parametrize("reference", ["gold", "mean"])
@pytest.mark.parametrize("ends", [(-100.0, 100.0), (2.9, 7.1)])
def test_workers_of_like_scales_are_not_alike(reference: str, ends: tuple[float, float]) -> None:
    """In half of such crowds somebody was named; the ends of the range bend the ratings of all."""
    rng, n_alike = np.random.default_rng(0), 0
    for seed in range(CROWDS):
        made = crowd(seed, 12, 5, np.full(12, 0.6), slope=rng.normal(1, 0.3, 12), span=ends)
        n_alike += bool(accused(made, reference))
    assert n_alike <= 3


def test_copies_make_nobody_else_alike() -> None:
    """Of five workers, a pair of copies made others alike in every crowd."""
    n_accused = [accused(crowd(s, 5, 5, np.full(5, 0.7), copies=True), "mean") for s in range(CROWDS)]
    assert all((0, 1) in pairs for pairs in n_accused)
    assert sum(pairs != {(0, 1)} for pairs in n_accused) <= 3


@pytest.mark.parametrize("reference", ["gold", "mean"])
def test_a_copy_is_found_and_nobody_else(reference: str) -> None:
    assert accused(crowd(1, 10, 5, np.full(10, 0.7), copies=True), reference) == {(0, 1)}


def test_lines_and_variances_of_errors_without_truth() -> None:
    spread, slope = np.linspace(0.7, 1.5, 8), np.array([1.0, 1.5, 0.5, 0, 1.2, 0.8, 1.3, 1.7])
    made = crowd(2, 8, 4, spread, n_tasks=20_000, slope=slope)
    errors = residuals(made, first_ratings(made))
    assert errors.slope == pytest.approx(slope, abs=0.1)
    assert errors.variance == pytest.approx(spread**2, rel=0.1)


def test_two_ratings_per_task_say_nothing_of_errors() -> None:
    made = crowd(3, 5, 2, np.ones(5))
    pairs = analysis.rating_pairs(made, analysis.rating_truth(made, "mean"))
    assert len(pairs.distance) == 10
    assert np.isfinite(pairs.distance).all()
    assert np.isnan(pairs.q_value).all()
    assert np.isnan(pairs.error_correlation).all()
