"""A confusion to train on stands out among all other mistakes of the worker, those on the same class included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betainc

from crowdcore.analysis import worker_verdicts
from tests.analysis.crowds import make_crowd

N = 20  # labels on each of three classes


def by_gold(mistakes: dict[tuple[int, int], int]):
    """Three workers on 60 tasks; the first makes these mistakes (true, given): times, the others none."""
    gold = np.repeat([0, 1, 2], N)
    first = gold.copy()
    for true in range(3):
        wrong = [given for (a, given), times in mistakes.items() if a == true for _ in range(times)]
        first[N * true : N * true + len(wrong)] = wrong
    label = np.stack([first, gold, gold], 1).ravel()
    crowd = make_crowd(np.repeat(np.arange(3 * N), 3), np.tile([0, 1, 2], 3 * N), label, 3 * N, 3, 3, gold)
    return worker_verdicts(crowd, "gold").confused


def test_the_p_value_compares_the_cell_with_all_other_mistakes() -> None:
    found = by_gold({(0, 1): 9, (1, 2): 4, (2, 1): 4})
    assert (found.true[0], found.given[0]) == (0, 1)
    assert (found.times[0], found.of[0]) == (9, N)
    k, m, cells = 9, 8, 4  # all but 0 called 1, and 1 called 0, which mixes up the same pair
    v = 1 - (k + m) / (N + cells * N)
    own = betainc(k / v, m / v + 1, 1 / (1 + cells))
    assert found.q_value[0] == pytest.approx(3 * 6 * own, rel=1e-9)  # the smallest of six cells of three workers


def test_other_labels_of_the_same_class_speak_for_one_mistake() -> None:
    one, spread = (by_gold({(0, 1): 10, (0, 2): also, (1, 2): 5, (2, 1): 5}).q_value[0] for also in (0, 5))
    assert one <= 0.05 < spread
