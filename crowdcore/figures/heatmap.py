"""The heatmap under every matrix figure: cells with numbers when small, plain cells, blocks or an image when large."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.figures import theme
from crowdcore.figures.theme import bar, named, readable, room_below

MAX_NUMBERS = 20  # rows or columns up to which a number is written into each cell
MAX_LABELS = 60  # ... up to which rows and columns are labelled
MAX_CELLS = 300  # ... up to which cells are cells; above it the matrix is an image
IMAGE_SIDE = 900  # pixels an image has at most on a side; larger matrices are averaged down to it


def heatmap(
    values: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    text: AnyArray | None = None,
    hover: str = "%{y}, %{x}: %{z}",
    customdata: AnyArray | None = None,
    scale: list[list[float | str]] = theme.SEQUENTIAL,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    suffix: str = "",
    row_title: str = "",
    column_title: str = "",
    title: str = "",
    subtitle: str = "",
    cell: int | None = None,
) -> go.Figure:
    """Draw a matrix, row 0 at the top; rows and columns lie at 0, 1, 2, … so that a click gives their numbers.

    NaN stays empty. Each cell's ``text`` is written while there are at most `MAX_NUMBERS`; ``hover`` is Plotly's
    template (``%{y}`` row, ``%{x}`` column, ``%{z}`` value, ``%{customdata[k]}``). ``low`` and ``high`` are the values
    of the first and the last colour, ``unit`` and ``suffix`` those of the colour bar, ``cell`` the height of a cell in
    pixels.
    """
    values = np.asarray(values, np.float64)
    n_rows, n_columns = values.shape
    some = values[np.isfinite(values)]
    low = low if low is not None else float(some.min()) if len(some) else 0.0
    high = high if high is not None else float(some.max()) if len(some) else 1.0
    high = high if high > low else low + 1.0
    about = {"title": {"text": unit, "side": "right", "font": {"size": 13}}, "ticksuffix": suffix}
    colors = {"colorscale": scale, "cmin": low, "cmax": high, "colorbar": bar(**about)}
    if max(n_rows, n_columns) > MAX_CELLS:
        fig = theme.figure(*_image(values, scale, low, high), title=title, subtitle=subtitle, coloraxis=colors)
    else:
        numbers = text is not None and max(n_rows, n_columns) <= MAX_NUMBERS
        gap = 2 if max(n_rows, n_columns) <= MAX_NUMBERS else 1 if max(n_rows, n_columns) <= MAX_LABELS else 0
        trace = go.Heatmap(
            z=values,
            text=readable(np.asarray(text), values, scale, low, high) if numbers else None,
            texttemplate="%{text}" if numbers else None,
            textfont={"size": 13 if max(n_rows, n_columns) <= 12 else 10},
            customdata=customdata,
            hovertemplate=f"{hover}<extra></extra>",
            hoverongaps=False,
            coloraxis="coloraxis",
            xgap=gap,
            ygap=gap,
        )
        fig = theme.figure(trace, title=title, subtitle=subtitle, coloraxis=colors)
    height = cell if cell is not None else max(2, min(44, 640 // max(n_rows, 1)))
    room = room_below(columns, 40) if n_columns <= MAX_LABELS else 0
    fig.update_layout(height=int(np.clip(n_rows * height, 160, 700)) + 150 + room)
    fig.update_xaxes(**_axis(columns, column_title), range=[-0.5, n_columns - 0.5], autotickangles=[0, -40, -90])
    fig.update_yaxes(**_axis(rows, row_title), range=[n_rows - 0.5, -0.5])
    return fig


def _axis(names: Sequence[str], title: str) -> dict[str, object]:
    axis: dict[str, object] = {"title": {"text": title}, "showgrid": False, "showline": False, "ticklabelstandoff": 5}
    if len(names) > MAX_CELLS:  # an image: row numbers, so that a zoomed view shows where it is
        return axis
    return {**axis, **named(names, 40), "showticklabels": len(names) <= MAX_LABELS}


def _image(values: FloatArray, scale: list[list[float | str]], low: float, high: float) -> list[object]:
    """Draw a matrix as one small PNG (256 colours, NaN transparent), and an invisible point with the colour bar."""
    from PIL import Image  # only large matrices need it

    n_rows, n_columns = values.shape
    values = _average_down(values)
    shown = np.where(np.isnan(values), low, values)
    level = np.clip((shown - low) / (high - low) * 254, 0, 254).round().astype(np.uint8) + 1
    level[np.isnan(values)] = 0
    colors = [unlabel_rgb(c) for c in sample_colorscale(scale, np.linspace(0, 1, 255), colortype="rgb")]
    picture = Image.fromarray(level)
    picture.putpalette([0, 0, 0, *(round(part) for color in colors for part in color)])
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True, transparency=0)
    source = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    step_x, step_y = n_columns / values.shape[1], n_rows / values.shape[0]
    image = go.Image(source=source, x0=step_x / 2 - 0.5, dx=step_x, y0=step_y / 2 - 0.5, dy=step_y, hoverinfo="skip")
    owner = go.Scatter(
        x=[None], y=[None], mode="markers", marker={"color": [low], "coloraxis": "coloraxis"}, showlegend=False
    )
    return [image, owner]


def _average_down(values: FloatArray) -> FloatArray:
    """Average blocks of cells (NaN left out) until no side is longer than `IMAGE_SIDE`."""
    for axis in (0, 1):
        size = values.shape[axis]
        if size > IMAGE_SIDE:
            edges = np.linspace(0, size, IMAGE_SIDE + 1).astype(int)[:-1]
            known = np.add.reduceat(~np.isnan(values), edges, axis=axis)
            total = np.add.reduceat(np.nan_to_num(values), edges, axis=axis)
            values = np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)
    return values


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
