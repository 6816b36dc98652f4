"""Cells that spreadsheets would run are made harmless, and read back."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, strategies as st

from crowdcore.data import neutralise
from crowdcore.data.dictionary import escape, strings, unescape

CELLS = st.one_of(st.text(max_size=6), st.text("'=+-@\t\r1.e", max_size=6))


@given(st.lists(CELLS, max_size=20))
def test_unescaping_undoes_escaping(cells):
    assert unescape(escape(strings(cells))).to_pylist() == cells


@given(CELLS)
def test_nothing_that_runs_is_left(cell):
    (safe,) = escape(strings([cell])).to_pylist()
    if safe[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(safe)  # a plain number is all that may begin so
    assert safe in (cell, f"'{cell}")


def test_the_rule():
    risky = ["=1+1", "+31 6", "-cmd", "@SUM(A1)", "\tx", "\rx", "-1+1", "'=1", "''"]
    plain = ["-1", "+1.5e-3", "it's", "'tis", ""]
    assert escape(strings([*risky, *plain])).to_pylist() == [*(f"'{cell}" for cell in risky), *plain]


def test_frames():
    frame = pd.DataFrame(
        {"=name": ["=1", "x", None], "n": [-1, -2.5, 3], "c": pd.Categorical(["+a", "b", "b"])}, index=[5, 6, 7]
    )
    safe = neutralise(frame)
    assert list(safe.columns) == ["'=name", "n", "c"]
    assert safe["'=name"].fillna("-").tolist() == ["'=1", "x", "-"]
    assert safe["n"].tolist() == [-1, -2.5, 3]
    assert safe["c"].tolist() == ["'+a", "b", "b"]
    assert list(safe.index) == [5, 6, 7]
    assert list(frame.columns) == ["=name", "n", "c"]
