"""Ties of the majority vote are told, and a draw between them does not depend on the order of the classes."""

from __future__ import annotations

import numpy as np

import crowdcore as cc
from testkit.crowds import simulate_crowd


def test_soft_votes_draw_ties_too_and_say_how_many_there_are():
    crowd = simulate_crowd(200, 8, 4, per_task=2, accuracy=0.5)
    lowest, drawn, other = (
        cc.aggregation.get("majority-vote", ties=ties, seed=seed).fit(crowd)
        for ties, seed in (("lowest", 0), ("random", 0), ("random", 1))
    )
    tied = (lowest.posterior == 0.5).any(1)
    np.testing.assert_array_equal(drawn.labels[~tied], lowest.labels[~tied])
    assert 0.3 < (drawn.labels == lowest.labels)[tied].mean() < 0.7
    assert (drawn.labels != other.labels).any()
    assert f"{tied.sum()} of 200 tasks are tied" in lowest.notes[0]
    assert "with seed 1" in other.notes[0]
    assert "“ties”" in lowest.notes[0]
    assert "`" not in lowest.notes[0]


def test_votes_without_a_tie_have_no_note():
    assert cc.aggregation.get("majority-vote").fit(simulate_crowd(50, 3, 2, per_task=3)).notes == ()
