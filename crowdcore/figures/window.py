"""The visible part of a large matrix, averaged over blocks so that it never has more cells than a browser can take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import FloatArray, IntArray

__all__ = ["Window", "window"]


@dataclass(frozen=True, eq=False)
class Window:
    """Part of a matrix; cell (i, j) is the mean of ``step`` rows from ``row_start + i * row_step`` on, and so on.

    Attributes:
        values: (at most max_cells, at most max_cells) float32 means, NaN where a block holds nothing known.
        row_start: first row shown.
        row_step: rows in a block (the last block may hold fewer).
        column_start: first column shown.
        column_step: columns in a block.
    """

    values: FloatArray
    row_start: int
    row_step: int
    column_start: int
    column_step: int


def window(matrix: FloatArray, rows: tuple[float, float], columns: tuple[float, float], max_cells: int = 300) -> Window:
    """Cut a visible range out of a matrix and average it down, NaN left out.

    Args:
        matrix: (n_rows, n_columns), its cells centred at 0, 1, 2, …
        rows: the visible range of the row axis, in either order, e.g. ``(-0.5, n_rows - 0.5)`` for all.
        columns: the visible range of the column axis.
        max_cells: most rows and most columns of the result.
    """
    row_start, row_end = _visible(rows, matrix.shape[0])
    column_start, column_end = _visible(columns, matrix.shape[1])
    row_step = -(-(row_end - row_start) // max_cells)
    column_step = -(-(column_end - column_start) // max_cells)
    part = matrix[row_start:row_end, column_start:column_end]
    if row_step > 1 or column_step > 1:
        at = np.arange(0, part.shape[0], row_step), np.arange(0, part.shape[1], column_step)
        known = ~np.isnan(part)
        total, n = _sums(np.where(known, part, 0), *at), _sums(known.astype(np.float64), *at)
        part = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    return Window(part.astype(np.float32), row_start, row_step, column_start, column_step)


def _visible(ends: tuple[float, float], size: int) -> tuple[int, int]:
    """First cell and end of the cells that a range touches; at least one."""
    first = int(np.clip(np.floor(min(ends) + 0.5), 0, size - 1))
    return first, int(np.clip(np.ceil(max(ends) + 0.5), first + 1, size))


def _sums(values: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    return np.asarray(np.add.reduceat(np.add.reduceat(values, columns, axis=1), rows, axis=0))
