"""Small confusions on one colour scale: truth, learnt and observed side by side, or the seeds of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme
from crowdcore.figures.colors import UNKNOWN, Scale, on_scale, probability_axis
from crowdcore.figures.heatmap import MAX_LABELS, MAX_NUMBERS
from crowdcore.figures.window import window

__all__ = ["confusion_grid", "grid_cell"]

_ABOVE, _BELOW = 24, 20  # pixels of a matrix's name, and of the line beneath it
_LINES = 12_000  # cells up to which each brings a line for the pointer
_HIGH = 0.5  # largest value from which on the colours reach to 1
_NAME = 52  # characters that fit above the matrices of a row


def confusion_grid(
    matrices: FloatArray,
    classes: Sequence[str],
    *,
    names: Sequence[str],
    below: Sequence[str] = (),
    columns: int = 3,
    spread: FloatArray | None = None,
    counts: FloatArray | None = None,
    diagonal: bool = True,
    scale: Scale = "linear",
    scale_max: float | None = None,
    title: str = "Confusion",
    subtitle: str = "",
) -> go.Figure:
    """Draw K confusion matrices in rows of a few; true classes downwards, given labels to the right.

    All lie in one coordinate system, so that a click tells matrix and cell: see `grid_cell`. Above 60 classes blocks
    of cells are averaged.

    Args:
        matrices: (K, C, C); a matrix of NaN only leaves its place empty, rows of NaN are grey.
        classes: (C,) names.
        names: (K,) what stands above each matrix.
        below: (K,) what stands beneath each matrix, such as its error.
        columns: matrices in a row.
        spread: (K, C, C) standard deviations of the cells, shown by the pointer; NaN = none.
        counts: (K, C, C) annotations behind the cells, shown by the pointer; NaN = none.
        diagonal: draw it too; without it the colours reach to the most frequent mistake.
        scale: of the colours; "log" tells small probabilities apart.
        scale_max: value of the last colour; default 1, or the largest value shown if that is below 0.5.
        subtitle: seeds, reference, dataset, remarks.

    Raises:
        SettingError: shapes that do not fit together.
    """
    matrices = np.asarray(matrices, np.float64)
    n = len(classes)
    for key, values in (("matrices", matrices), ("spread", spread), ("counts", counts)):
        if values is not None and np.shape(values) != (len(names), n, n):
            raise SettingError(key, f"have the shape {(len(names), n, n)}", np.shape(values))
    side, step = _side(n)
    shown = matrices if diagonal else np.where(np.eye(n, dtype=bool), np.nan, matrices)
    place = _places(len(names), columns)
    across, down = _strides(side)
    plane = np.full(((place[-1][0] + 1) * down, min(columns, len(names)) * across), np.nan)
    grey = plane.copy()
    hover = np.full(plane.shape, "", object) if step == 1 and matrices.size <= _LINES else None
    for k, (row, column) in enumerate(place):
        if np.isnan(matrices[k]).all():
            continue
        part, known = (window(m[k], (-0.5, n - 0.5), (-0.5, n - 0.5), side).values for m in (shown, matrices))
        at = slice(row * down, row * down + side), slice(column * across, column * across + side)
        plane[at] = part
        grey[at] = np.where(np.isnan(known), 1.0, np.nan)
        if hover is not None:
            lines = [None if values is None else values[k] for values in (spread, counts)]
            hover[at] = _hover(matrices[k], classes, names[k], *lines)
    top = float(np.nanmax(shown)) if np.isfinite(shown).any() else 1.0
    top = scale_max if scale_max is not None else top if top > 0 and (top < _HIGH or not diagonal) else 1.0
    fig = theme.figure(*_traces(plane, grey, hover, scale, side), title=title, subtitle=subtitle, margin_t=88)
    _axes(fig, [str(c) for c in classes] if step == 1 else [], side, plane.shape)
    _label(fig, names, below, place, side)
    pixels = (plane.shape[0] - down + side) * _pixels(side)
    return fig.update_layout(coloraxis=probability_axis(top, scale), height=pixels + (200 if n <= MAX_NUMBERS else 120))


def grid_cell(row: int, column: int, n_classes: int, columns: int = 3) -> tuple[int, int, int] | None:
    """Where a click on `confusion_grid` landed: number of the matrix, true class, given label.

    Of averaged blocks the first class counts. None between the matrices.
    """
    side, step = _side(n_classes)
    across, down = _strides(side)
    p, a = divmod(row, down)
    k, b = divmod(column, across)
    return (p * columns + k, a * step, b * step) if a < side and b < side and k < columns else None


def _side(n_classes: int) -> tuple[int, int]:
    """Cells on a matrix's side, and classes in each."""
    step = -(-n_classes // MAX_LABELS)
    return -(-n_classes // step), step


def _pixels(side: int) -> int:
    """Height of a cell."""
    return int(np.clip(136 // side, 3, 24))


def _strides(side: int) -> tuple[int, int]:
    """From one matrix to the next, to the right and downwards, in cells."""
    return side + max(1, round(side / 10)), side + -(-(_ABOVE + _BELOW) // _pixels(side))


def _places(n: int, columns: int) -> list[tuple[int, int]]:
    """Row and column of each matrix."""
    return [divmod(k, columns) for k in range(n)]


def _traces(plane: FloatArray, grey: FloatArray, hover: AnyArray | None, scale: Scale, side: int) -> list[go.Heatmap]:
    """The cells, and grey ones where a row is unknown."""
    common = {
        "customdata": (100 * plane).astype(np.float32) if hover is None else hover,
        "hovertemplate": ("%{customdata:.1~f} %" if hover is None else "%{customdata}") + "<extra></extra>",
        "hoverongaps": False,
        "xgap": 1 if side <= MAX_NUMBERS else 0,
        "ygap": 1 if side <= MAX_NUMBERS else 0,
    }
    one = {"colorscale": [[0, UNKNOWN], [1, UNKNOWN]], "showscale": False}
    shown = go.Heatmap(z=on_scale(plane, scale).astype(np.float32), coloraxis="coloraxis", **common)
    return [shown, go.Heatmap(z=grey.astype(np.float32), **one, **common)]


def _hover(
    matrix: FloatArray, classes: Sequence[str], name: str, spread: FloatArray | None, counts: FloatArray | None
) -> AnyArray:
    """(C, C) what the pointer shows."""
    lines = np.empty(matrix.shape, object)
    for a, b in np.ndindex(matrix.shape):
        words = f"<b>{classes[a]} → {classes[b]}</b><br>"
        words += f"no labels on {classes[a]}" if np.isnan(matrix[a, b]) else f"{100 * matrix[a, b]:.1f} %"
        if spread is not None and spread[a, b] == spread[a, b]:
            words += f" ± {100 * spread[a, b]:.1f}"
        if counts is not None and counts[a, b] == counts[a, b]:
            words += f" ({counts[a, b]:.4g} of {counts[a].sum():.4g})"
        lines[a, b] = f"{words}<br>{name}"
    return lines


def _axes(fig: go.Figure, classes: Sequence[str], side: int, shape: tuple[int, ...]) -> None:
    """Class names at the left of every row and beneath every column."""
    across, down = _strides(side)
    n_rows, n_columns = shape[0] // down, shape[1] // across
    plain = {"showgrid": False, "showline": False, "ticklabelstandoff": 4, "tickmode": "array"}
    small = {"tickfont": {"size": 11 if side <= 10 else 9}}
    named = len(classes) if side <= MAX_NUMBERS else 0
    fig.update_xaxes(
        **plain,
        **small,
        tickvals=[k * across + b for k in range(n_columns) for b in range(named)],
        ticktext=[theme.short(c, 14) for c in classes[:named]] * n_columns,
        tickangle=-90,
        range=(-0.5, n_columns * across - (across - side) - 0.5),
        showticklabels=named > 0,
    )
    fig.update_yaxes(
        **plain,
        **small,
        tickvals=[p * down + a for p in range(n_rows) for a in range(named)],
        ticktext=[theme.short(c, 14) for c in classes[:named]] * n_rows,
        range=(shape[0] - 0.5 - (down - side) + _BELOW / _pixels(side), -0.5),
        showticklabels=named > 0,
    )


def _label(
    fig: go.Figure, names: Sequence[str], below: Sequence[str], place: Sequence[tuple[int, int]], side: int
) -> None:
    """The name of each matrix above it, and a line beneath."""
    across, down = _strides(side)
    left = {"showarrow": False, "xanchor": "left", "xshift": -2}
    room = _NAME // max(2, 1 + max(column for _, column in place))
    for k, (row, column) in enumerate(place):
        x, y = column * across - 0.5, row * down - 0.5
        fig.add_annotation(x=x, y=y, text=f"<b>{theme.short(names[k], room)}</b>", yanchor="bottom", **left)
        if below and below[k]:
            fig.add_annotation(x=x, y=y + side, text=below[k], yanchor="top", font={"size": 12}, **left)
