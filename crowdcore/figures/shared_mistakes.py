"""Fig. 1 of CoNAL, the workers who made each mistake and the mistakes beyond chance; distances between workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from crowdcore import analysis
from crowdcore.analysis.mistakes.shared_mistakes import SharedMistakes
from crowdcore.analysis.workers.distance import WorkerDistance, WorkerOrder
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.doors import draws
from crowdcore.figures.heatmap import MAX_CELLS, MAX_LABELS, heatmap, window
from crowdcore.figures.theme import named

Layer = Literal["percent", "workers", "tasks", "annotations", "q-value"]
_UNITS: dict[str, tuple[str, str, str]] = {  # title of the colour bar, suffix of its numbers, what the figure shows
    "percent": ("% of all workers", " %", "share of all {workers} who gave the label at least once"),
    "workers": ("workers", "", "number of workers who gave the label at least once, of {n}"),
    "tasks": ("tasks", "", "number of tasks that got the label from somebody"),
    "annotations": ("annotations", "", "number of annotations"),
    "q-value": ("q-value", "", "chance by individual mistakes and misleading tasks, adjusted for all cells"),
}
_LEAST_Q = 1e-12
_WIDE = 12  # classes from which cells have no room for a decimal


@draws(analysis.shared_mistakes)
def shared_mistakes(
    result: SharedMistakes,
    layer: Layer = "percent",
    *,
    significance: bool = True,
    level: float = 0.05,
    diagonal: bool = False,
    title: str = "Shared mistakes",
) -> go.Figure:
    """Draw the matrix of shared mistakes: true classes downwards, given labels to the right.

    Args:
        result: from `analysis.shared_mistakes`.
        layer: what the colours and numbers are.
        significance: mark the cells that more workers share, on more tasks, than chance explains.
        level: q-value up to which a cell is marked.
        diagonal: show correct labels too (they take most of the colour scale).

    Raises:
        SettingError: no such layer.

    Examples:
        >>> import crowdcore as cc
        >>> shared = cc.analysis.shared_mistakes(cc.load_dataset("demo"))
        >>> cc.figures.shared_mistakes(shared, title="Digits").layout.title.text
        'Digits'
    """
    if layer not in _UNITS:
        raise SettingError("layer", f"be one of {', '.join(_UNITS)}", layer)
    n = len(result.classes)
    values = result.q_value if layer == "q-value" else getattr(result, layer)
    shown = np.array(values, np.float64)
    if layer == "q-value":
        shown = -np.log10(np.maximum(shown, _LEAST_Q))
    else:
        shown[shown == 0] = np.nan
    if not diagonal:
        np.fill_diagonal(shown, np.nan)
    unit, suffix, what = _UNITS[layer]
    what = what.format(n=result.n_workers, workers=plural(result.n_workers, "worker"))
    hover = _hover(result) if n <= MAX_LABELS else None
    fig = heatmap(
        shown,
        result.classes,
        result.classes,
        text=_numbers(values, shown, layer),
        hover="%{customdata}" if hover is not None else "%{y} → %{x}: %{z:.3~g}" + suffix,
        customdata=hover,
        low=0.0,
        high=_top(shown),
        unit=unit,
        suffix=suffix,
        row_title="true class",
        column_title="given label",
        title=title,
        subtitle=f"{what} · reference: {result.reference}",
    )
    if layer == "q-value":
        steps = np.arange(0, int(_top(shown)) + 1, max(1, int(_top(shown)) // 6))  # of -log10 q
        ticks = [f"1e-{s}" if s else "1" for s in steps]
        fig.update_layout(coloraxis_colorbar={"tickvals": steps, "ticktext": ticks})
    if hover is not None:
        _underlay(fig, shown, hover)
    if significance and n <= MAX_CELLS:
        _mark(fig, result.q_value <= level, f"shared beyond chance (q ≤ {level:g})", n)
    return fig


def _top(shown: FloatArray) -> float:
    some = shown[np.isfinite(shown)]
    return float(some.max()) if len(some) and some.max() > 0 else 1.0


def _numbers(values: FloatArray, shown: FloatArray, layer: str) -> AnyArray:
    """Texts of the cells; whole numbers without a point, tiny q-values as powers of ten."""
    if layer == "q-value":
        text = [f"{v:.2f}" if v >= 0.005 else f"{v:.0e}".replace("e-0", "e-") for v in values.ravel()]
    elif layer == "percent":
        digits = 1 if len(values) <= _WIDE else 0
        text = [f"{v:.{digits}f}" for v in values.ravel()]
    else:
        text = [f"{v:.0f}" if v == round(v) else f"{v:.1f}" for v in values.ravel()]
    return np.where(np.isnan(shown).ravel(), "", text).reshape(values.shape)


def _hover(result: SharedMistakes) -> AnyArray:
    """(C, C) hover text of each cell."""
    lines = np.empty(result.percent.shape, dtype=object)
    for a, true in enumerate(result.classes):
        for b, given in enumerate(result.classes):
            words = [
                f"<b>{true} → {given}</b>" if a != b else f"<b>{true}</b>, labelled correctly",
                f"{result.percent[a, b]:.1f} % of {plural(result.n_workers, 'worker')} ({result.workers[a, b]:.4g})",
                f"annotations: {result.annotations[a, b]:.4g}, tasks: {result.tasks[a, b]:.4g}",
            ]
            if result.low is not None and result.high is not None:
                words[1] += f", interval {result.low[a, b]:.1f} – {result.high[a, b]:.1f} %"
            if not np.isnan(result.q_value[a, b]):
                words.append(f"by chance: {result.expected[a, b]:.1f} workers; q = {result.q_value[a, b]:.2g}")
                words.append(f"the evidence is spread over about {result.carriers[a, b]:.0f} tasks")
            lines[a, b] = "<br>".join(words)
    return lines


def _underlay(fig: go.Figure, shown: FloatArray, hover: AnyArray) -> None:
    """Add faint cells where there is nothing to show, so that the grid stays visible, hoverable and clickable."""
    empty = np.isnan(shown)
    under = go.Heatmap(
        z=np.where(empty, 0.0, np.nan),
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        colorscale=[[0, theme.FAINT], [1, theme.FAINT]],
        showscale=False,
        xgap=fig.data[0].xgap,
        ygap=fig.data[0].ygap,
    )
    fig.add_trace(under)


def _mark(fig: go.Figure, cells: AnyArray, meaning: str, n_classes: int) -> None:
    """Mark cells by a dot in the upper right corner, explained in the legend."""
    true, given = np.nonzero(cells)
    dot = {"color": theme.WARN, "size": 8 if n_classes <= 20 else 5, "line": {"color": "white", "width": 1}}
    name = meaning if len(true) else f"no cell: {meaning}"
    place = {"x": given + 0.36, "y": true - 0.32, "mode": "markers"}
    fig.add_scatter(**place, marker=dot, name=name, hoverinfo="skip", showlegend=True)
    fig.update_layout(margin_t=94, legend={"x": 0, "itemclick": False, "itemdoubleclick": False})


_KINDS = {
    "shrunken-mse": "Mean squared difference between two workers' confusion matrices beyond what chance explains",
    "mse": "Mean squared difference between two workers' confusion matrices; classes never labelled count as 0",
    "shared-mse": "Mean squared difference between two workers' confusion matrices, over classes that both labelled",
    "jensen-shannon": "Jensen-Shannon distance over the classes both have labelled",
}
_CROWDED = 25  # names from which they are written smaller
_NAMED = 40  # ... up to which they are written
_LONGEST = 20  # letters of a name: on both axes they take room from the cells, which are squares
_HEIGHT = 490  # pixels
_FINEST = 300  # brackets of the tree narrower than this part of the height are not drawn
_TREE = 0.14  # share of the width


@draws(analysis.worker_distance)
def worker_distance(
    distance: WorkerDistance,
    order: WorkerOrder | None = None,
    *,
    names: Sequence[str] | None = None,
    view: tuple[tuple[float, float], tuple[float, float]] | None = None,
    title: str = "Distance between workers",
) -> go.Figure:
    """Draw the distances, similar workers side by side, groups apart, the tree on the right.

    Rows and columns lie at their positions in the order: 0, 1, 2, … Up to 300 workers every pair is a cell; of
    more, the visible part is averaged over blocks, and zooming in (``view``) gets finer ones.

    Args:
        distance: from `analysis.worker_distance`.
        order: from `analysis.order_workers`; None draws the dataset's order without tree and groups.
        names: (n_workers,) of the workers; default: their ids.
        view: visible range of the x axis and of the y axis; default everything.

    Examples:
        >>> import crowdcore as cc
        >>> distance = cc.analysis.worker_distance(cc.load_dataset("demo"))
        >>> cc.figures.worker_distance(distance).layout.title.text
        'Distance between workers'
    """
    n = len(distance.matrix)
    places = order.order if order is not None else np.arange(n)
    called = np.asarray(distance.worker_ids if names is None else names, object)[places]
    columns, rows = view or ((-0.5, n - 0.5), (-0.5, n - 0.5))
    matrix = distance.matrix[np.ix_(places, places)]
    part = window(matrix, rows, columns, MAX_CELLS)
    y = _centres(part.row_start, part.row_step, part.values.shape[0])
    x = _centres(part.column_start, part.column_step, part.values.shape[1])
    single = part.row_step == part.column_step == 1
    of_rows, of_columns = (_spans(called, c, s) for c, s in ((y, part.row_step), (x, part.column_step)))
    overlap = distance.overlap[np.ix_(places[y], places[x])] if single else None
    fig = heatmap(
        part.values,
        of_rows,
        of_columns,
        hover="%{y}<br>%{x}<br><b>%{z:.3~g}</b>"
        + (f", %{{customdata}} of {len(distance.classes)} classes shared" if single else " (mean of the block)"),
        customdata=None if overlap is None else overlap.astype(np.int16),
        low=0.0,
        high=_worker_distance_top(distance.matrix),
        title=title,
        subtitle=f"{_KINDS[distance.kind]} · reference: {distance.reference}",
    )
    fig.data[0].update(x0=float(x[0]), dx=part.column_step, y0=float(y[0]), dy=part.row_step)
    names_of = {"tickfont_size": 9 if len(y) > _CROWDED else 12, "showticklabels": len(y) <= _NAMED}
    square = {"constrain": "domain", "constraintoward": "right"}, {"constrain": "domain", "constraintoward": "top"}
    fig.update_xaxes(tickvals=x, range=[min(columns), max(columns)], **names_of, **square[0])
    fig.update_yaxes(tickvals=y, range=[max(rows), min(rows)], scaleanchor="x", **names_of, **square[1])
    if len(y) <= _NAMED:
        fig.update_xaxes(ticktext=named(of_columns, _LONGEST)["ticktext"])
        fig.update_yaxes(ticktext=named(of_rows, _LONGEST)["ticktext"])
    fig.update_layout(height=_HEIGHT)
    # Invisible corners, so that zooming out by a double click shows everything again.
    fig.add_trace(go.Scatter(x=[-0.5, n - 0.5], y=[-0.5, n - 0.5], mode="none", hoverinfo="skip", showlegend=False))
    if order is not None:
        _separate(fig, order)
        _plant(fig, order, (max(rows) - min(rows)) / _FINEST)
    return fig


def _worker_distance_top(matrix: FloatArray) -> float:
    """Upper end of the colours: above nearly all distances, so that a few outliers do not take the whole scale."""
    some = matrix[:: max(1, len(matrix) // 300)]
    some = some[np.isfinite(some) & (some > 0)]
    return float(np.quantile(some, 0.99)) if len(some) else 1.0


def _centres(start: int, step: int, count: int) -> IntArray | FloatArray:
    """Centres of the blocks on an axis."""
    return start + step * np.arange(count) if step == 1 else start + step * np.arange(count) + (step - 1) / 2


def _spans(names: FloatArray, centres: IntArray | FloatArray, step: int) -> list[str]:
    """The name of each row, or the first and the last one of its block."""
    first = np.round(centres - (step - 1) / 2).astype(int)
    last = np.minimum(first + step, len(names)) - 1
    return [str(names[a]) if a == b else f"{names[a]} … {names[b]}" for a, b in zip(first, last, strict=True)]


def _separate(fig: go.Figure, order: WorkerOrder) -> None:
    """Add lines between the groups."""
    n = len(order.order)
    cuts = np.flatnonzero(np.diff(order.groups[order.order])) + 0.5
    line = {"color": theme.WARN, "width": 1.5}
    for cut in cuts:
        fig.add_shape(type="line", x0=cut, x1=cut, y0=-0.5, y1=n - 0.5, line=line, layer="above")
        fig.add_shape(type="line", x0=-0.5, x1=n - 0.5, y0=cut, y1=cut, line=line, layer="above")


def _plant(fig: go.Figure, order: WorkerOrder, finest: float) -> None:
    """Add the tree of merges to the right, groups in their colours, without brackets too narrow to be seen."""
    x, y, merge_group = _branches(order)
    visible = np.abs(y[:, 2] - y[:, 1]) >= finest
    for group in range(-1, order.n_groups):
        of = visible & (merge_group == group)
        if not of.any():
            continue
        color = theme.PALETTE[group % len(theme.PALETTE)] if group >= 0 else theme.INK
        theme.line(fig, x[of].ravel(), y[of].ravel(), color, 1.2, showlegend=False, xaxis="x2")
    top = float(order.linkage[-1, 2]) if len(order.linkage) else 1.0
    fig.update_layout(
        xaxis={"domain": [0, 1 - _TREE - 0.01]},
        xaxis2={
            "domain": [1 - _TREE, 1],
            "range": [-0.02 * top, 1.04 * top or 1.0],
            "anchor": "y",
            "side": "top",  # where no names of workers are
            "showgrid": False,
            "showticklabels": False,
            "fixedrange": True,
            "title": {"text": plural(order.n_groups, "group"), "standoff": 6},
        },
    )


def _branches(order: WorkerOrder) -> tuple[FloatArray, FloatArray, IntArray]:
    """(n_merges, 5) x and y of each merge's bracket, a gap (NaN) last; (n_merges,) its group, -1 across groups."""
    n = len(order.order)
    height, place = np.zeros((2, 2 * n - 1))
    place[order.order] = np.arange(n)
    group = np.concatenate([order.groups, np.full(n - 1, -1)])
    children = order.linkage[:, :2].astype(np.int64)
    for merge, (a, b) in enumerate(children):
        height[n + merge] = order.linkage[merge, 2]
        place[n + merge] = (place[a] + place[b]) / 2
        group[n + merge] = group[a] if group[a] == group[b] else -1
    a, b = children.T
    gap = np.full(len(children), np.nan)
    top = order.linkage[:, 2]
    x = np.stack([height[a], top, top, height[b], gap], axis=1)
    y = np.stack([place[a], place[a], place[b], place[b], gap], axis=1)
    return x.astype(np.float32), y.astype(np.float32), group[n:]
