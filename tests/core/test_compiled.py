"""Functions that Numba compiles at their first call, and ranges that cover the work once."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from hypothesis import given, strategies as st

from crowdcore.core.compiled import LARGE, compiled, is_large, n_ranges, run_ranges


@compiled
def double(n: int) -> int:
    """2n."""
    return 2 * n


@compiled
def quadruple(n: int) -> int:
    return double(double(n))


def test_compiled_functions_call_each_other_and_keep_their_names():
    assert double.__doc__ == "2n." and quadruple.__name__ == "quadruple"
    assert quadruple(3) == 12
    assert hasattr(quadruple, "signatures") and hasattr(double, "signatures")  # Numba's


def test_large_starts_at_the_limit():
    assert is_large(LARGE) and not is_large(LARGE - 1)


def test_small_inputs_never_load_numba():
    code = (
        "import sys, numpy as np, crowdcore.core.latent_loops; from crowdcore.core import counts;"
        "counts.vote_counts(np.arange(9), np.zeros(9, int), 9, 2); print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("cores", [1, 3])
def test_ranges_cover_the_work_in_order(monkeypatch, cores):
    monkeypatch.setattr("crowdcore.core.compiled.cores", lambda: cores)
    seen = run_ranges(10, 4, lambda k, first, last: (k, *range(first, last)))
    assert seen == [(0, 0, 1), (1, 2, 3, 4), (2, 5, 6), (3, 7, 8, 9)]


def test_threads_share_the_ranges(monkeypatch):
    monkeypatch.setattr("crowdcore.core.compiled.cores", lambda: 2)
    meet = threading.Barrier(2, timeout=20)  # passes only if two ranges run at once
    assert run_ranges(2, 2, lambda k, first, last: meet.wait() >= 0) == [True, True]


@given(st.integers(0, 10**9), st.integers(1, 10**7))
def test_number_of_ranges_is_a_small_power_of_two_that_keeps_accumulators_small(work, accumulator):
    parts = n_ranges(work, accumulator)
    assert parts in {1, 2, 4, 8, 16}
    assert parts == 1 or parts * accumulator * 4 <= work
