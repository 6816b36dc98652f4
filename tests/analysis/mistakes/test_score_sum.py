"""The sum of independent scores against enumeration, plain convolution and simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

from crowdcore.analysis.mistakes import significance
from crowdcore.analysis.mistakes.significance import ScoreSum


def build(patterns: list[list[int]], n: list[int]) -> ScoreSum:
    """Each pattern lists the score of every label."""
    tables = [np.unique(p, return_counts=True) for p in patterns]
    start = np.cumsum([0, *(len(values) for values, _ in tables)])
    score, ways = (np.concatenate(part) for part in zip(*tables, strict=True))
    return ScoreSum(score, ways, start, np.array(n), len(patterns[0]))


def convolved(patterns, n):
    mass = np.ones(1)
    for pattern, times in zip(patterns, n, strict=True):
        for _ in range(times):
            mass = np.convolve(mass, np.bincount(pattern) / len(pattern))
    return np.cumsum(mass[::-1])[::-1]


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_tail_is_that_of_all_draws(patterns):
    sums = np.array([sum(draw) for draw in product(*patterns)])
    x = np.arange(0, 26)
    expected = (sums[None, :] >= x[:, None]).mean(1)
    np.testing.assert_allclose(build(patterns, [1] * len(patterns)).tail(x), expected, rtol=1e-12)


def test_two_scores_are_a_binomial_far_into_the_tail():
    found = build([[0, 0, 0, 5]], [50]).tail(5 * np.arange(51))
    np.testing.assert_allclose(found, binom.sf(np.arange(51) - 1, 50, 0.25), rtol=1e-9)
    assert found[-1] < 1e-29


@pytest.mark.parametrize(
    ("patterns", "n"),
    [
        ([[0, 0, 0, 9], [0, 0, 9, 9]], [700, 300]),
        ([[0, 0, 0, 3], [0, 0, 2, 4], [1, 2, 3, 4]], [300, 150, 200]),
        ([[0, 2, 5, 7]], [400]),
    ],
)
def test_the_approximation_meets_the_exact_tail(monkeypatch, patterns, n):
    exact = convolved(patterns, n)
    monkeypatch.setattr(significance, "_BUDGET", 0)
    x = np.flatnonzero((exact > 1e-12) & (exact < 0.999))[:: max(1, len(exact) // 60)]
    lattice = np.gcd.reduce(np.concatenate([np.subtract(p, min(p)) for p in patterns]))
    x = x - x % lattice
    np.testing.assert_allclose(build(patterns, n).tail(x), exact[x], rtol=2e-3)


def test_ends_of_the_approximation(monkeypatch):
    monkeypatch.setattr(significance, "_BUDGET", 0)
    total = build([[0, 1, 2]], [30])
    np.testing.assert_allclose(total.tail(np.array([-1, 0, 60, 61])), [1, 1, 3.0**-30, 0], rtol=1e-9)
