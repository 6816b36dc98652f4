"""Numbers in boxes side by side."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st


def numbers(cells: Iterable[tuple[str, str, str | None]], width: int = 150, columns: int = 0) -> None:
    """Draw them.

    Args:
        cells: label, value and what is shown when it is pointed at, of each.
        width: pixels of a box at least.
        columns: boxes side by side at most; default: all.
    """
    listed = list(cells)
    grid = st.grid(columns or len(listed), min_column_width=width, gap="xsmall")
    for label, value, hint in listed:
        with grid.cell():
            st.metric(label, value, border=True, help=hint)
