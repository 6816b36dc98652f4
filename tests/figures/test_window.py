"""The visible part of a matrix, averaged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.figures.window import window


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.integers(0, 999), st.data())
def test_cells_are_means_of_what_is_visible(n_rows, n_columns, most, seed, data):
    rng = np.random.default_rng(seed)
    matrix = rng.random((n_rows, n_columns))
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    r0 = data.draw(st.integers(0, n_rows - 1))
    r1 = data.draw(st.integers(r0, n_rows - 1))
    c0 = data.draw(st.integers(0, n_columns - 1))
    c1 = data.draw(st.integers(c0, n_columns - 1))
    part = window(matrix, (r1 + 0.4, r0 - 0.4), (c0 - 0.4, c1 + 0.4), most)  # row axes run downwards
    assert (part.row_start, part.column_start) == (r0, c0)
    assert max(part.values.shape) <= most
    seen = matrix[r0 : r1 + 1, c0 : c1 + 1]
    for i, j in np.ndindex(part.values.shape):
        block = seen[i * part.row_step : (i + 1) * part.row_step, j * part.column_step : (j + 1) * part.column_step]
        known = block[~np.isnan(block)]
        assert part.values[i, j] == pytest.approx(known.mean() if len(known) else np.nan, nan_ok=True, abs=1e-6)
    covered = part.values.shape[0] * part.row_step, part.values.shape[1] * part.column_step
    assert covered[0] >= seen.shape[0] > covered[0] - part.row_step
    assert covered[1] >= seen.shape[1] > covered[1] - part.column_step


def test_a_range_beyond_the_matrix_is_cut():
    part = window(np.eye(4), (-7, 9), (3.4, 20), 10)
    assert part.values.tolist() == [[0], [0], [0], [1]]
    assert (part.row_start, part.column_start) == (0, 3)
