"""Fig. 1 of CoNAL: how many workers made each mistake, and which of them more than chance would have it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.mistakes.shared_mistakes import SharedMistakes
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.heatmap import MAX_CELLS, MAX_LABELS, heatmap

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
        _power_ticks(fig, _top(shown))
    if hover is not None:
        _underlay(fig, shown, hover)
    if significance and n <= MAX_CELLS:
        _mark(fig, result.q_value <= level, f"shared beyond chance (q ≤ {level:g})", n)
    return fig


def _top(shown: FloatArray) -> float:
    some = shown[np.isfinite(shown)]
    return float(some.max()) if len(some) and some.max() > 0 else 1.0


def _numbers(values: FloatArray, shown: FloatArray, layer: str) -> AnyArray:
    """What is written into the cells; whole numbers without a point, tiny q-values as powers of ten."""
    if layer == "q-value":
        text = [f"{v:.2f}" if v >= 0.005 else f"{v:.0e}".replace("e-0", "e-") for v in values.ravel()]
    elif layer == "percent":
        digits = 1 if len(values) <= _WIDE else 0
        text = [f"{v:.{digits}f}" for v in values.ravel()]
    else:
        text = [f"{v:.0f}" if v == round(v) else f"{v:.1f}" for v in values.ravel()]
    return np.where(np.isnan(shown).ravel(), "", text).reshape(values.shape)


def _hover(result: SharedMistakes) -> AnyArray:
    """(C, C) what the pointer shows on each cell."""
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
    """Faint cells where there is nothing to show, so that the grid stays visible, hoverable and clickable."""
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
    """A dot in the upper right corner of the cells, explained in the legend."""
    true, given = np.nonzero(cells)
    dot = {"color": theme.WARN, "size": 8 if n_classes <= 20 else 5, "line": {"color": "white", "width": 1}}
    fig.add_trace(
        go.Scatter(
            x=given + 0.36,
            y=true - 0.32,
            mode="markers",
            marker=dot,
            name=meaning if len(true) else f"no cell: {meaning}",
            hoverinfo="skip",
            showlegend=True,
        )
    )
    fig.update_layout(margin_t=94, legend={"x": 0, "itemclick": False, "itemdoubleclick": False})


def _power_ticks(fig: go.Figure, top: float) -> None:
    """Label the colour bar of -log10 q with q."""
    steps = np.arange(0, int(top) + 1, max(1, int(top) // 6))
    fig.update_layout(coloraxis_colorbar={"tickvals": steps, "ticktext": [f"1e-{s}" if s else "1" for s in steps]})
