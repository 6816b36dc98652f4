"""Ranges cover the work once, in order, whatever the number of cores."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, strategies as st

from crowdcore.core import compiled


@pytest.mark.parametrize("cores", [1, 3])
def test_ranges_cover_the_work_in_order(monkeypatch, cores):
    monkeypatch.setattr(compiled, "cores", lambda: cores)
    seen = compiled.run_ranges(10, 4, lambda k, first, last: (k, *range(first, last)))
    assert seen == [(0, 0, 1), (1, 2, 3, 4), (2, 5, 6), (3, 7, 8, 9)]


def test_threads_share_the_ranges(monkeypatch):
    monkeypatch.setattr(compiled, "cores", lambda: 2)
    meet = threading.Barrier(2, timeout=20)  # passes only if two ranges run at once
    assert compiled.run_ranges(2, 2, lambda k, first, last: meet.wait() >= 0) == [True, True]


@given(st.integers(0, 10**9), st.integers(1, 10**7))
def test_number_of_ranges_is_a_small_power_of_two_that_keeps_accumulators_small(work, accumulator):
    parts = compiled.n_ranges(work, accumulator)
    assert parts in {1, 2, 4, 8, 16}
    assert parts == 1 or parts * accumulator * 4 <= work
