"""Many confusions at once: the common one beside those of workers, one row per run (CoNAL, Figs. 5 and 7 to 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme
from crowdcore.figures.confusion import NEXT_TO_ZERO, UNKNOWN
from crowdcore.figures.heatmap import MAX_LABELS, MAX_NUMBERS
from crowdcore.figures.window import window

__all__ = ["confusion_grid", "grid_cell"]

_HEADER = 46  # pixels above a row: its name, then those of the matrices
_LINES = 12_000  # cells up to which each brings a line for the pointer
_HIGH = 0.5  # largest value from which on the colours reach to 1
_NAME = 16  # characters of a worker's name that fit above a matrix


def confusion_grid(
    matrices: FloatArray,
    classes: Sequence[str],
    *,
    names: Sequence[Sequence[str]],
    rows: Sequence[str] = ("",),
    spread: FloatArray | None = None,
    counts: FloatArray | None = None,
    diagonal: bool = True,
    title: str = "Common and individual confusions",
    subtitle: str = "",
) -> go.Figure:
    """Draw (P, K) confusion matrices on one colour scale; true classes downwards, given labels to the right.

    All lie in one coordinate system, so that a click tells matrix and cell: see `grid_cell`. Above 60 classes blocks
    of cells are averaged.

    Args:
        matrices: (P, K, C, C); a matrix of NaN only leaves its place empty.
        classes: (C,) names.
        names: (P, K) what stands above each matrix.
        rows: (P,) what stands above the rows: runs, the labels, the truth.
        spread: (P, K, C, C) standard deviations of the cells, shown by the pointer; NaN = none.
        counts: (P, K, C, C) annotations behind the cells, shown by the pointer; NaN = none.
        diagonal: draw it too; without it the colours reach to the most frequent mistake.
        title: title of the figure.
        subtitle: seeds, reference, dataset, remarks.

    Raises:
        SettingError: shapes that do not fit together.
    """
    matrices = np.asarray(matrices, np.float64)
    shape = (len(rows), len(names[0]) if names else 0, len(classes), len(classes))
    for key, values in (("matrices", matrices), ("spread", spread), ("counts", counts)):
        if values is not None and np.shape(values) != shape:
            raise SettingError(key, f"have the shape {shape}", np.shape(values))
    side, step = _side(len(classes))
    across, down = _strides(side)
    plane = np.full((shape[0] * down, shape[1] * across), np.nan)
    missing = np.asarray(np.isnan(matrices).all((2, 3)))
    shown = matrices if diagonal else np.where(np.eye(len(classes), dtype=bool), 0.0, matrices)
    for p, k in np.argwhere(~missing).tolist():
        part = window(shown[p, k], (-0.5, len(classes) - 0.5), (-0.5, len(classes) - 0.5), side).values
        plane[p * down : p * down + side, k * across : k * across + side] = part
    inside = _inside(missing, side)
    hover = None
    if step == 1 and matrices.size <= _LINES:
        hover = _place(_hover(matrices, classes, names, rows, spread, counts), side)
    fig = theme.figure(*_traces(plane, inside, hover, side), title=title, subtitle=subtitle)
    _axes(fig, [str(c) for c in classes] if step == 1 else [], side, missing)
    _label(fig, names, rows, side, missing)
    top = float(np.nanmax(shown)) if np.isfinite(shown).any() else 1.0
    top = top if top > 0 and (top < _HIGH or not diagonal) else 1.0
    bar = {"thickness": 12, "outlinewidth": 0, "len": 1.0, "y": 0.5, "xpad": 8, "tickformat": ".0%"}
    return fig.update_layout(
        coloraxis={"colorscale": theme.SEQUENTIAL, "cmin": 0, "cmax": top, "colorbar": bar},
        height=plane.shape[0] * _pixels(side) + 150,
    )


def grid_cell(row: int, column: int, n_classes: int) -> tuple[int, int, int, int] | None:
    """Where a click on `confusion_grid` landed: row and column of the matrix, true class, given label.

    Of averaged blocks the first class counts. None between the matrices.
    """
    side, step = _side(n_classes)
    across, down = _strides(side)
    p, a = divmod(row, down)
    k, b = divmod(column, across)
    return (p, k, a * step, b * step) if a < side and b < side else None


def _side(n_classes: int) -> tuple[int, int]:
    """Cells on a matrix's side, and classes in each."""
    step = -(-n_classes // MAX_LABELS)
    return -(-n_classes // step), step


def _pixels(side: int) -> int:
    """Height of a cell."""
    return int(np.clip(150 // side, 3, 24))


def _strides(side: int) -> tuple[int, int]:
    """From one matrix to the next, to the right and downwards, in cells."""
    return side + max(1, round(side / 10)), side + -(-_HEADER // _pixels(side))


def _inside(missing: AnyArray, side: int) -> AnyArray:
    """Which cells of the plane belong to a matrix."""
    across, down = _strides(side)
    one = np.zeros((down, across), bool)
    one[:side, :side] = True
    return np.kron(~missing, one).astype(bool)


def _place(parts: AnyArray, side: int) -> AnyArray:
    """(P, K, side, side) onto the plane."""
    across, down = _strides(side)
    out = np.full((parts.shape[0] * down, parts.shape[1] * across), "", object)
    for p, k in np.ndindex(parts.shape[:2]):
        out[p * down : p * down + side, k * across : k * across + side] = parts[p, k]
    return out


def _traces(plane: FloatArray, inside: AnyArray, hover: AnyArray | None, side: int) -> list[go.Heatmap]:
    """The cells, and beneath them faint ones where a matrix is next to zero or unknown."""
    shown = np.where(np.abs(plane) < NEXT_TO_ZERO, np.nan, plane)
    empty = np.where(inside & np.isnan(plane), 1.0, np.where(inside & np.isnan(shown), 0.0, np.nan))
    gap = 1 if side <= MAX_NUMBERS else 0
    common = {
        "customdata": hover,
        "hovertemplate": ("%{customdata}" if hover is not None else "%{y} → %{x}: %{z:.1~%}") + "<extra></extra>",
        "hoverongaps": False,
        "xgap": gap,
        "ygap": gap,
    }
    faint = {"zmin": 0, "zmax": 1, "colorscale": [[0, theme.FAINT], [1, UNKNOWN]], "showscale": False}
    return [
        go.Heatmap(z=shown.astype(np.float32), coloraxis="coloraxis", **common),
        go.Heatmap(z=empty.astype(np.float32), **faint, **common),
    ]


def _hover(
    matrices: FloatArray,
    classes: Sequence[str],
    names: Sequence[Sequence[str]],
    rows: Sequence[str],
    spread: FloatArray | None,
    counts: FloatArray | None,
) -> AnyArray:
    """(P, K, C, C) what the pointer shows."""
    lines = np.empty(matrices.shape, object)
    for p, k, a, b in np.ndindex(matrices.shape):
        at = p, k, a, b
        words = f"<b>{classes[a]} → {classes[b]}</b><br>"
        words += f"no labels on {classes[a]}" if np.isnan(matrices[at]) else f"{matrices[at]:.1%}"
        if spread is not None and spread[at] == spread[at]:
            words += f" ± {spread[at]:.1%}"
        if counts is not None and counts[at] == counts[at]:
            words += f" ({counts[at]:.4g} of {counts[p, k, a].sum():.4g})"
        lines[at] = words + f"<br>{names[p][k]}" + (f", {rows[p]}" if rows[p] else "")
    return lines


def _axes(fig: go.Figure, classes: Sequence[str], side: int, missing: AnyArray) -> None:
    """Class names at the left of every row and below every column."""
    across, down = _strides(side)
    n_rows, n_columns = missing.shape
    plain = {"showgrid": False, "showline": False, "ticklabelstandoff": 4, "tickmode": "array"}
    small = {"tickfont": {"size": 11 if side <= 10 else 9}, "showticklabels": 0 < len(classes) <= MAX_NUMBERS}
    ends = -0.5, n_columns * across - (across - side) - 0.5
    fig.update_xaxes(
        **plain,
        **small,
        tickvals=[k * across + b for k in range(n_columns) for b in range(len(classes))],
        ticktext=list(map(theme.short, classes)) * n_columns,
        tickangle=-90,
        range=ends,
        title="given label",
    )
    fig.update_yaxes(
        **plain,
        **small,
        tickvals=[p * down + a for p in range(n_rows) for a in range(len(classes))],
        ticktext=list(map(theme.short, classes)) * n_rows,
        range=[n_rows * down - (down - side) - 0.5, -0.5 - (down - side)],
        title="true class",
    )


def _label(fig: go.Figure, names: Sequence[Sequence[str]], rows: Sequence[str], side: int, missing: AnyArray) -> None:
    """The name of each matrix above it, and that of each row above those."""
    across, down = _strides(side)
    left = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "xshift": -2}
    for p, row in enumerate(rows):
        top = p * down - 0.5
        if row:
            fig.add_annotation(x=-0.5, y=top, text=f"<b>{row}</b>", yshift=17, **left)
        for k in np.flatnonzero(~missing[p]).tolist():
            short = theme.short(names[p][k], _NAME)
            fig.add_annotation(x=k * across - 0.5, y=top, text=short, font={"size": 12}, **left)
