"""Sums by codes, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.data import lookups


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_sums_are_those_of_bincount_to_the_last_bit_however_long_the_blocks(monkeypatch, block):
    monkeypatch.setattr(lookups, "_SUMMED", block)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, 500).astype(np.int32)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-9, 9, 500)
    assert np.array_equal(lookups.summed(codes, values, 12), np.bincount(codes, values, 12))
    assert lookups.summed(codes[:0], values[:0], 3).tolist() == [0, 0, 0]
    assert np.array_equal(lookups.summed(codes, lambda at: values[at], 12), np.bincount(codes, values, 12))


@pytest.mark.parametrize("n", [0, 1, 127, 129, 1000, 4099, 70_001])
def test_a_sum_of_pieces_is_that_of_numpy_to_the_last_bit(monkeypatch, n):
    monkeypatch.setattr(lookups, "_SUMMED", 128)
    values = np.random.default_rng(0).standard_normal(n) * 10.0 ** np.random.default_rng(1).integers(-9, 9, n)
    assert lookups.sum_of(lambda at: values[at], 0, n) == values.sum()
