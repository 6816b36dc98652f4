"""Whether ω ranks anything."""

from __future__ import annotations

import pytest

from crowdcore.analysis import judge_omega


@pytest.mark.parametrize(
    ("spread", "correlation", "agreement", "sentence"),
    [
        (0.2, 0.8, "good", ""),
        (0.2, 0.79, "moderate", "read the ends of the ranking"),
        (0.2, 0.49, "poor", "Seeds rank the tasks differently (rank correlation 0.49): the ranking is not reliable."),
        (0.2, float("nan"), "", ""),
        (0.006, 0.99, "good", "ω hardly varies (standard deviation 0.006 over annotations): tasks cannot be ranked"),
        (float("nan"), float("nan"), "", "tasks cannot be ranked"),
    ],
)
def test_the_ranking_is_judged(spread, correlation, agreement, sentence):
    found = judge_omega(spread, correlation)
    assert found.agreement == agreement
    assert sentence in found.words
    assert bool(found.words) == bool(sentence)
