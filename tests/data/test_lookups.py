"""Sums by codes, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.data import lookups


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_sums_are_those_of_bincount_to_the_last_bit_however_long_the_blocks(monkeypatch, block):
    monkeypatch.setattr(lookups, "BLOCK", block)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, 500).astype(np.int32)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-9, 9, 500)
    assert np.array_equal(lookups.summed(codes, values, 12), np.bincount(codes, values, 12))
    assert lookups.summed(codes[:0], values[:0], 3).tolist() == [0, 0, 0]
