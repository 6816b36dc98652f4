"""Confusion matrices: side by side on one colour scale, the difference of two, and a grid of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme
from crowdcore.figures.heatmap import MAX_CELLS, MAX_LABELS, MAX_NUMBERS, window
from crowdcore.figures.theme import (
    UNKNOWN,
    Scale,
    bar,
    named,
    on_scale,
    percent_ticks,
    probability_axis,
    readable,
    room_below,
)

_GAP = 0.03  # of the width, between two matrices
_BAR = 0.1  # of the width, between two colour bars
_LEAST_REACH = 0.005  # of the colours of a difference


def confusion(
    matrix: FloatArray | Sequence[FloatArray],
    classes: Sequence[str],
    *,
    counts: FloatArray | Sequence[FloatArray] | None = None,
    spread: FloatArray | Sequence[FloatArray] | None = None,
    names: Sequence[str] = (),
    difference: bool | Literal["only"] = False,
    scale_max: float | None = None,
    scale: Scale = "linear",
    dark: bool = False,
    title: str = "Confusion",
    subtitle: str = "",
) -> go.Figure:
    """Draw one or several confusion matrices: true classes downwards, given labels to the right, in percent.

    Rows and columns lie at 0, 1, 2, …; rows without evidence (NaN) are grey. Above 300 classes blocks of cells are
    averaged.

    Args:
        matrix: (C, C) or (K, C, C) rows sum to 1.
        classes: (C,) names.
        counts: (C, C) or (K, C, C) annotations behind the cells, shown on hover.
        spread: (C, C) or (K, C, C) standard deviations of the cells, shown on hover; NaN = none.
        names: (K,) titles above the matrices.
        difference: add a panel with the first matrix minus the second, or draw it alone.
        scale_max: value of the last colour; default 1, or the largest value if that is below 0.5.
        scale: of the colours; "log" distinguishes small probabilities.
        dark: whether the page is dark, where a difference of zero is dark too.
        subtitle: reference, dataset, remarks.

    Raises:
        SettingError: shapes that do not fit together.

    Examples:
        >>> import crowdcore as cc
        >>> ds = cc.load_dataset("demo")
        >>> crowd = cc.analysis.worker_confusion(ds).crowd
        >>> cc.figures.confusion(crowd, ds.classes, title="Everybody").layout.title.text
        'Everybody'
    """
    matrices = np.asarray(matrix, np.float64)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    n = len(classes)
    if matrices.ndim != 3 or matrices.shape[1:] != (n, n):
        raise SettingError("matrix", f"have the shape ({n}, {n}) or (K, {n}, {n})", np.shape(matrix))
    behind, around = _aligned("counts", counts, matrices), _aligned("spread", spread, matrices)
    if names and len(names) != len(matrices):
        raise SettingError("names", f"hold {len(matrices)} names", len(names))
    if difference and len(matrices) != 2:
        raise SettingError("difference", "compare two matrices", f"{len(matrices)} matrices")
    fig = theme.figure(title=title, subtitle=subtitle)
    alone = difference == "only"
    top = float(np.nanmax(matrices)) if np.isfinite(matrices).any() else 1.0
    top = scale_max if scale_max is not None else 1.0 if top >= 0.5 or top <= 0 else top
    if not alone:
        fig.update_layout(coloraxis=probability_axis(top, scale))
    for k, values in enumerate([] if alone else matrices):
        hover = _hover(values, classes, None if behind is None else behind[k], None if around is None else around[k])
        _panel(fig, k, values, hover, scale)
    if difference:
        change = matrices[0] - matrices[1]
        fig.update_layout(coloraxis2=_change_axis(change, alone, dark))
        _panel(fig, 0 if alone else 2, change, _hover(change, classes, signed=True), None)
    above = [*names, f"{names[0]} − {names[1]}"] if difference and names else list(names)
    _layout(fig, 1 if alone else len(matrices) + bool(difference), classes, above[-1:] if alone else above)
    return fig


def _aligned(name: str, values: FloatArray | Sequence[FloatArray] | None, matrices: FloatArray) -> FloatArray | None:
    """Return ``values`` in the shape of the matrices."""
    n = matrices.shape[-1]
    if values is None:
        return None
    out = np.asarray(values, np.float64).reshape(-1, n, n)
    if out.shape != matrices.shape:
        raise SettingError(name, f"have the shape {matrices.shape}", out.shape)
    return out


def _panel(fig: go.Figure, k: int, values: FloatArray, hover: AnyArray | None, scale: Scale | None) -> None:
    """Add the k-th matrix, grey where it is unknown; without a scale it is a difference."""
    n = len(values)
    part = window(values, (-0.5, n - 0.5), (-0.5, n - 0.5), MAX_CELLS)
    signed = scale is None
    shown = part.values if scale is None else on_scale(part.values, scale)
    axis = fig.layout.coloraxis2 if signed else fig.layout.coloraxis
    common = {
        "xaxis": f"x{k + 1}" if k else "x",
        "x0": (part.column_step - 1) / 2,
        "dx": part.column_step,
        "y0": (part.row_step - 1) / 2,
        "dy": part.row_step,
        "xgap": 2 if n <= MAX_NUMBERS else 1 if n <= MAX_LABELS else 0,
        "ygap": 2 if n <= MAX_NUMBERS else 1 if n <= MAX_LABELS else 0,
        "customdata": 100 * part.values if hover is None else hover,
        "hovertemplate": ("%{y} → %{x}: %{customdata:.1~f} %" if hover is None else "%{customdata}")
        + "<extra></extra>",
        "hoverongaps": False,
    }
    words = {}
    if n <= MAX_NUMBERS:
        text = np.array([[_number(v, signed) for v in row] for row in part.values], object)
        text = readable(text, shown, axis.colorscale, axis.cmin, axis.cmax)
        words = {"text": text, "texttemplate": "%{text}", "textfont": {"size": 13 if n <= 6 else 11 if n <= 10 else 10}}
    fig.add_trace(go.Heatmap(z=shown, coloraxis="coloraxis2" if signed else "coloraxis", **words, **common))
    unknown = np.where(np.isnan(part.values), 1.0, np.nan).astype(np.float32)
    if n <= MAX_CELLS and not np.isnan(unknown).all():
        grey = {"colorscale": [[0, UNKNOWN], [1, UNKNOWN]], "showscale": False}
        fig.add_trace(go.Heatmap(z=unknown, **grey, **common))


def _number(value: float, signed: bool) -> str:
    """Format whole percents; zeros stay empty."""
    if np.isnan(value):
        return "–"
    return "" if abs(value) < 0.005 else f"{100 * value:{'+' if signed else ''}.0f}".replace("-", "−")


def _hover(
    values: FloatArray,
    classes: Sequence[str],
    counts: FloatArray | None = None,
    spread: FloatArray | None = None,
    signed: bool = False,
) -> AnyArray | None:
    """(C, C) hover texts; None if they are too many to send."""
    if len(classes) > MAX_LABELS:
        return None
    lines = np.empty(values.shape, object)
    for a, true in enumerate(classes):
        total = 0.0 if counts is None else counts[a].sum()
        for b, given in enumerate(classes):
            words = f"<b>{true} → {given}</b><br>"
            if np.isnan(values[a, b]):
                words += "not comparable" if signed else f"no labels on {true}"
            else:
                value = f"{100 * values[a, b]:{'+' if signed else ''}.1f}".replace("-", "−")
                words += f"{value} {'percentage points' if signed else '%'}"
                words += f" ± {100 * spread[a, b]:.1f}" if spread is not None and spread[a, b] == spread[a, b] else ""
                words += f" ({counts[a, b]:.4g} of {total:.4g})" if counts is not None else ""
            lines[a, b] = words
    return lines


def _layout(fig: go.Figure, n_panels: int, classes: Sequence[str], names: Sequence[str]) -> None:
    """Place panels side by side over one row axis, each with its name above."""
    n = len(classes)
    labels = named(classes)
    axis = {**labels, "showticklabels": n <= MAX_LABELS} if n <= MAX_CELLS else {}
    axis |= {"showgrid": False, "showline": False, "ticklabelstandoff": 5}
    width = (1 - _GAP * (n_panels - 1)) / n_panels
    for k in range(n_panels):
        left = k * (width + _GAP)
        below = {"title": {"text": "given label"}, "domain": [left, left + width], "autotickangles": [0, -40, -90]}
        fig.update_layout({f"xaxis{k + 1 if k else ''}": {**axis, **below, "range": [-0.5, n - 0.5], "anchor": "y"}})
        if names:
            place = {"x": left, "xanchor": "left", "y": 1, "yanchor": "bottom", "xref": "paper", "yref": "paper"}
            fig.add_annotation(text=f"<b>{names[k]}</b>", showarrow=False, **place)
    fig.update_yaxes(**axis, title="true class", range=[n - 0.5, -0.5])
    cell, room = max(2, min(44, 640 // n)), room_below(classes) if n <= MAX_LABELS else 0
    fig.update_layout(height=int(np.clip(n * cell, 160, 700)) + 160 + room, margin_t=88 if names else 64)


def _change_axis(difference: FloatArray, alone: bool, dark: bool) -> dict[str, object]:
    """Colour axis of a difference, symmetric about zero, which has the background's lightness."""
    reach = float(np.nanmax(np.abs(difference))) if np.isfinite(difference).any() else 1.0
    reach = max(reach, _LEAST_REACH)
    place = {"x": 1.02 if alone else 1 + _BAR}
    ends = {"cmin": -reach, "cmax": reach, "colorbar": bar(**percent_ticks(-reach, reach, sign=True), **place)}
    return {"colorscale": theme.DIVERGING_ON_DARK if dark else theme.DIVERGING, **ends}


_ABOVE, _BELOW = 24, 20  # pixels of a matrix's name, and of the line beneath it
_LINES = 12_000  # cells up to which each has a hover text
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

    All lie in one coordinate system, so that a click determines matrix and cell: see `grid_cell`. Above 60 classes
    blocks of cells are averaged.

    Args:
        matrices: (K, C, C); a matrix of NaN only leaves its place empty, rows of NaN are grey.
        classes: (C,) names.
        names: (K,) titles above the matrices.
        below: (K,) lines beneath the matrices, such as their errors.
        columns: matrices in a row.
        spread: (K, C, C) standard deviations of the cells, shown on hover; NaN = none.
        counts: (K, C, C) annotations behind the cells, shown on hover; NaN = none.
        diagonal: draw it too; without it the colours reach to the most frequent mistake.
        scale: of the colours; "log" distinguishes small probabilities.
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
    place = [divmod(k, columns) for k in range(len(names))]  # row and column of each matrix
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
            hover[at] = _grid_hover(matrices[k], classes, names[k], *lines)
    top = float(np.nanmax(shown)) if np.isfinite(shown).any() else 1.0
    top = scale_max if scale_max is not None else top if top > 0 and (top < _HIGH or not diagonal) else 1.0
    fig = theme.figure(*_traces(plane, grey, hover, scale, side), title=title, subtitle=subtitle, margin_t=88)
    _axes(fig, [str(c) for c in classes] if step == 1 else [], side, plane.shape)
    _label(fig, names, below, place, side)
    pixels = (plane.shape[0] - down + side) * _pixels(side)
    return fig.update_layout(coloraxis=probability_axis(top, scale), height=pixels + (200 if n <= MAX_NUMBERS else 120))


def grid_cell(row: int, column: int, n_classes: int, columns: int = 3) -> tuple[int, int, int] | None:
    """Resolve a click on `confusion_grid` to the number of the matrix, true class and given label.

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
    """Distance from one matrix to the next, to the right and downwards, in cells."""
    return side + max(1, round(side / 10)), side + -(-(_ABOVE + _BELOW) // _pixels(side))


def _traces(plane: FloatArray, grey: FloatArray, hover: AnyArray | None, scale: Scale, side: int) -> list[go.Heatmap]:
    """Traces of the cells, and of grey ones where a row is unknown."""
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


def _grid_hover(
    matrix: FloatArray, classes: Sequence[str], name: str, spread: FloatArray | None, counts: FloatArray | None
) -> AnyArray:
    """(C, C) hover texts."""
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
    """Write class names at the left of every row and beneath every column."""
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
    """Write the name of each matrix above it, and a line beneath."""
    across, down = _strides(side)
    left = {"showarrow": False, "xanchor": "left", "xshift": -2}
    room = _NAME // max(2, 1 + max(column for _, column in place))
    for k, (row, column) in enumerate(place):
        x, y = column * across - 0.5, row * down - 0.5
        fig.add_annotation(x=x, y=y, text=f"<b>{theme.short(names[k], room)}</b>", yanchor="bottom", **left)
        if below and below[k]:
            fig.add_annotation(x=x, y=y + side, text=below[k], yanchor="top", font={"size": 12}, **left)
