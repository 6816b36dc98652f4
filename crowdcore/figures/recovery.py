"""Who recovered what on simulated crowds: errors of every method, and how they change with the crowd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from crowdcore.core.errors import SettingError
from crowdcore.figures import theme
from crowdcore.figures.axes import named

__all__ = ["recovery_along", "recovery_errors"]

_ROW, _HEAD, _FOOT = 30, 130, 80  # pixels
_PANEL = 250  # pixels, height of a panel with a curve
_LINES = ("dot", "dash")  # of the bounds


def recovery_errors(
    table: pd.DataFrame,
    measures: Mapping[str, str],
    *,
    methods: Mapping[str, str],
    bounds: Sequence[str] = (),
    title: str = "Who recovered what",
    subtitle: str = "",
) -> go.Figure:
    """A row per method and a panel per measure: a point for every crowd and seed, a bar at their mean.

    Args:
        table: a row per method, crowd and seed: ``method``, ``crowd``, ``seed`` and the measures.
        measures: column -> what it is.
        methods: what each is called -> registered name, which settles its colour; the first one on top.
        bounds: methods drawn as lines through the panel.
        subtitle: data, remarks.

    Raises:
        SettingError: no such measure.
    """
    _check(table, measures)
    names = list(methods)
    fig = make_subplots(rows=1, cols=len(measures), shared_yaxes=True, horizontal_spacing=0.05)
    for column, (measure, words) in enumerate(measures.items(), 1):
        reach = [0.0]
        for row, name in enumerate(names):
            part = table[(table["method"] == name) & table[measure].notna()]
            values = part[measure].to_numpy(float)
            if not len(values):
                fig.add_annotation(text="–", x=0, y=row, xanchor="left", showarrow=False, row=1, col=column)
                continue
            color = theme.method_color(methods[name])
            reach.append(float(values.max()))
            fig.add_scatter(
                x=values,
                y=np.full(len(values), row),
                mode="markers",
                marker={"color": color, "size": 8, "opacity": 0.55},
                customdata=np.stack([part["crowd"], part["seed"], _written(measure, values)], 1),
                hovertemplate=f"<b>{name}</b>, crowd %{{customdata[0]}}, seed %{{customdata[1]}}<br>{words}: "
                "%{customdata[2]}<extra></extra>",
                showlegend=False,
                row=1,
                col=column,
            )
            fig.add_scatter(
                x=[values.mean()],
                y=[row],
                mode="markers",
                marker={"symbol": "line-ns", "size": 20, "line": {"color": color, "width": 3}},
                hovertemplate=f"<b>{name}</b>, mean of {len(values)}<br>{words}: "
                f"{_written(measure, [values.mean()])[0]}<extra></extra>",
                showlegend=False,
                row=1,
                col=column,
            )
        for dash, name in zip(_LINES, bounds, strict=False):
            value = float(table.loc[table["method"] == name, measure].mean())
            if not np.isnan(value):
                reach.append(value)
                line = {"color": theme.INK, "width": 1.5, "dash": dash}
                fig.add_scatter(
                    x=[value, value],
                    y=[-0.6, len(names) - 0.4],
                    mode="lines",
                    line=line,
                    name=name,
                    legendgroup=name,
                    showlegend=not any(t.name == name for t in fig.data),
                    hovertemplate=f"<b>{name}</b><br>{words}: {_written(measure, [value])[0]}<extra></extra>",
                    row=1,
                    col=column,
                )
        fig.update_xaxes(
            title=_wrapped(words),
            range=[-0.03 * max(reach), 1.08 * max(reach) or 1],
            row=1,
            col=column,
            **_axis(measure),
        )
    fig.update_yaxes(**named(names, 40), range=[len(names) - 0.4, -0.6])
    return _titled(fig, title, subtitle, _HEAD + _FOOT + _ROW * len(names))


def recovery_along(
    table: pd.DataFrame,
    x: str,
    measures: Mapping[str, str],
    *,
    methods: Mapping[str, str],
    columns: str = "",
    bounds: Sequence[str] = (),
    title: str = "Who recovered what",
    subtitle: str = "",
) -> go.Figure:
    """A curve per method along a setting of the crowd, means over crowds and seeds; a row of panels per measure.

    Args:
        table: a row per method, crowd and seed: what varies, ``method`` and the measures.
        x: the column along which curves go.
        measures: column -> what it is.
        methods: what each is called -> registered name, which settles its colour.
        columns: another column that varies; one column of panels for each of its values.
        bounds: methods drawn thin and grey.
        subtitle: data, remarks.

    Raises:
        SettingError: no such measure.
    """
    _check(table, measures)
    values = list(dict.fromkeys(table[columns])) if columns else [""]
    heads = [f"{columns}: {v}" for v in values] if columns else []
    fig = make_subplots(
        rows=len(measures),
        cols=len(values),
        shared_xaxes=True,
        shared_yaxes=True,
        vertical_spacing=0.06,
        horizontal_spacing=0.04,
        column_titles=[f"<b>{h}</b>" for h in heads],
    )
    looks = dict(zip(methods, theme.looks(list(methods.values())), strict=True))
    for row, (measure, words) in enumerate(measures.items(), 1):
        for column, value in enumerate(values, 1):
            part = table if not columns else table[table[columns] == value]
            for name in [*methods, *bounds]:
                mine = part[(part["method"] == name) & part[measure].notna()].groupby(x, sort=False)[measure]
                if not len(mean := mine.mean()):
                    continue
                bound = name in bounds
                color = theme.INK if bound else looks[name].color
                dash = _LINES[list(bounds).index(name) % 2] if bound else looks[name].dash
                fig.add_scatter(
                    x=mean.index.to_numpy(),
                    y=mean.to_numpy(),
                    error_y=None if bound else {"array": np.nan_to_num(mine.std()), "thickness": 1, "width": 3},
                    mode="lines" if bound else "lines+markers",
                    line={"color": color, "width": 1.2 if bound else 2, "dash": dash},
                    marker={"size": 7, "symbol": "circle" if bound else looks[name].symbol},
                    name=name,
                    legendgroup=name,
                    showlegend=not any(t.name == name for t in fig.data),
                    customdata=_written(measure, mean),
                    hovertemplate=f"<b>{name}</b>, {x} %{{x}}<br>{words}: %{{customdata}}<extra></extra>",
                    row=row,
                    col=column,
                )
        fig.update_yaxes(title=_wrapped(words, 24), row=row, col=1)
        fig.update_yaxes(rangemode="tozero", row=row, **_axis(measure))
    fig.update_xaxes(title=x, row=len(measures))
    legend = 24 * -(-(len(methods) + len(bounds)) // 6)
    return _titled(fig, title, subtitle, _HEAD + _FOOT + legend + _PANEL * len(measures))


def _check(table: pd.DataFrame, measures: Mapping[str, str]) -> None:
    missing = [name for name in measures if name not in table]
    if missing or not measures:
        raise SettingError("measures", f"name columns of the table: {', '.join(map(str, table))}", missing)


def _titled(fig: go.Figure, title: str, subtitle: str, height: int) -> go.Figure:
    legend = {"orientation": "h", "x": 0, "y": -_FOOT / (height - _HEAD), "yanchor": "top"}
    fig.update_layout(template=theme.TEMPLATE, height=height, margin_t=84, legend=legend)
    return fig.update_layout(title={"text": title, "subtitle": {"text": subtitle, "font": {"size": 12}}})


def _wrapped(words: str, most: int = 30) -> str:
    """Words on as many lines as they need."""
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def _axis(measure: str) -> Mapping[str, object]:
    return theme.PERCENT if "accuracy" in measure else {}


def _written(measure: str, values: Iterable[float]) -> list[str]:
    """The values as the pointer shows them."""
    return [f"{100 * value:.1f} %" if "accuracy" in measure else f"{value:.3f}" for value in values]
