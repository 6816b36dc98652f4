"""A fall between two sessions is found, and sessions that differ among all are no fall."""

from __future__ import annotations

from testkit.planted import DRIFTING, PLANTED, falling, honest_crowd, in_sessions, planted_crowd, uneven


def test_a_fall_at_the_only_break_is_found() -> None:
    found = [falling(in_sessions(planted_crowd(s, **PLANTED["4 classes, dense"]), 2)[0], "gold") for s in range(10)]
    assert sum(one[DRIFTING] for one in found) >= 9
    assert sum(one.sum() - one[DRIFTING] for one in found) <= 1


def test_sessions_that_differ_among_all_are_no_fall() -> None:
    honest = [in_sessions(honest_crowd(s), 4) for s in range(20)]
    assert sum(falling(uneven(crowd, session, s), "gold").any() for s, (crowd, session) in enumerate(honest)) <= 1
