"""Sorting annotations by task, against NumPy's stable sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from crowdcore.data.reading.numbering import Annotations


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), max_size=30), st.booleans())
def test_sorting_is_stable(triples, numbered):
    table = np.array(triples, np.int32).reshape(-1, 3)
    rows = np.arange(len(table)) * 10 if numbered else None
    given_ = Annotations(rows, *table.T)
    order = np.argsort(table[:, 0], kind="stable")
    want, got = given_.at(order), given_.sort(6)
    for part in ("task", "worker", "label"):
        np.testing.assert_array_equal(getattr(got, part), getattr(want, part), part)
        assert getattr(got, part).dtype == np.int32
    np.testing.assert_array_equal(np.arange(len(table)) if got.rows is None else got.rows, want.rows)
