"""Drawing labels and workers, against exact probabilities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from crowdcore.core.errors import SettingError
from crowdcore.data.simulate.base import _keyed, assign, choose_workers, draw_labels


def successive(weights: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """P(ordered draw without replacement), by enumeration."""
    out = {}
    for order in permutations(range(len(weights)), k):
        p, left = 1.0, weights.sum()
        for r in order:
            p *= weights[r] / left
            left -= weights[r]
        out[order] = p
    return out


def test_labels_have_the_rows_probabilities_and_impossible_ones_never_come() -> None:
    rng = np.random.default_rng(0)
    confusion = np.array(
        [[[0.2, 0.0, 0.8], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]]
    )
    which, true = rng.integers(2, size=60_000), rng.integers(3, size=60_000)
    label = draw_labels(confusion, which, true, rng)
    counts = np.zeros((2, 3, 3))
    np.add.at(counts, (which, true, label), 1)
    assert counts[confusion == 0].sum() == 0
    p = [
        chisquare(c[e > 0], c.sum() * e[e > 0]).pvalue
        for c, e in zip(counts.reshape(-1, 3), confusion.reshape(-1, 3), strict=True)
        if (e > 0).sum() > 1
    ]
    assert len(p) == 4 and min(p) > 1e-3


def test_rounding_cannot_leave_the_row() -> None:
    class Edge:
        def random(self, n: int) -> np.ndarray:
            return np.full(n, np.nextafter(1, 0))

    confusion = np.tile(np.array([[0.3, 0.7, 0.0]] * 3), (50_000, 1, 1))
    which = np.full(10, 49_999)
    label = draw_labels(confusion, which, np.full(10, 2), Edge())  # type: ignore[arg-type]
    np.testing.assert_array_equal(label, 1)


@pytest.mark.parametrize("draw", [choose_workers, _keyed])
def test_weighted_workers_are_drawn_one_after_the_other(draw) -> None:
    weights = np.array([5.0, 1.0, 2.0, 0.5, 1.5, 1.0, 1.0, 3.0, 1.0])
    n = 40_000
    chosen = draw(n, len(weights), 2, np.random.default_rng(1), weights)
    assert (chosen[:, 0] != chosen[:, 1]).all()
    exact = successive(weights, 2)
    sets = {}
    for order, p in exact.items():  # `_keyed` gives no order, so compare sets
        sets[tuple(sorted(order))] = sets.get(tuple(sorted(order)), 0.0) + p
    pair = np.sort(chosen, 1)
    counts = np.array([((pair[:, 0] == a) & (pair[:, 1] == b)).sum() for a, b in sets])
    assert chisquare(counts, n * np.array(list(sets.values()))).pvalue > 1e-3


@pytest.mark.parametrize("per_task", [1, 3, 5, 20])
def test_workers_of_a_task_are_distinct_and_uniform(per_task: int) -> None:
    chosen = choose_workers(9_000, 20, per_task, np.random.default_rng(2))
    assert (np.diff(np.sort(chosen, 1), axis=1) > 0).all()
    counts = np.bincount(chosen.ravel(), minlength=20)
    assert counts.sum() == 9_000 * per_task
    # Draws without replacement vary less than independent ones, so the plain chi-square is conservative.
    assert chisquare(counts).pvalue > 1e-3


def test_more_workers_a_task_than_there_are() -> None:
    with pytest.raises(SettingError, match="at most the number of workers, 3, but got 4"):
        choose_workers(5, 3, 4, np.random.default_rng(0))
    with pytest.raises(SettingError, match="at most the number of workers, 3"):
        assign(np.arange(5), 3, 3.5, "even", np.random.default_rng(0))


def test_even_assignment_mixes_the_two_numbers_next_to_a_fraction() -> None:
    task, worker = assign(np.arange(100, 10_100), 30, 2.5, "even", np.random.default_rng(4))
    count = np.bincount(task)[100:]
    assert set(count) == {2, 3}
    assert abs(count.mean() - 2.5) < 4 * 0.5 / 100
    assert len(np.unique(task * 30 + worker)) == len(task)
    whole, _ = assign(np.arange(50), 30, 3.0, "even", np.random.default_rng(4))
    np.testing.assert_array_equal(np.bincount(whole), 3)


def test_binomial_assignment_counts() -> None:
    task, worker = assign(np.arange(20_000), 30, 3.0, "binomial", np.random.default_rng(5))
    count = np.bincount(np.bincount(task, minlength=20_000), minlength=31)
    expected = 20_000 * binom.pmf(np.arange(31), 30, 0.1)
    common = expected > 10
    observed, wanted = count[common], expected[common]
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3
    assert len(np.unique(task * 30 + worker)) == len(task)
