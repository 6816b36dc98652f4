"""Recovery by methods: errors on simulated crowds, learnt skills and biases beside the observed ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from crowdcore.analysis.recovery.planted import RatingBiases
from crowdcore.analysis.recovery.recovered import SkillComparison
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme
from crowdcore.figures.theme import dots, equal_line, named, percent_ticks, ring

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
    """Plot a row per method and a panel per measure: a point for every crowd and seed, a bar at their mean.

    Args:
        table: a row per method, crowd and seed: ``method``, ``crowd``, ``seed`` and the measures.
        measures: column -> title.
        methods: name -> registered method, which sets its colour; the first one on top.
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
            place = {"showlegend": False, "row": 1, "col": column}
            about = np.stack([part["crowd"], part["seed"], _format_values(measure, values)], 1)
            hover = f"<b>{name}</b>, crowd %{{customdata[0]}}, seed %{{customdata[1]}}<br>{words}: %{{customdata[2]}}"
            dots(fig, values, np.full(len(values), row), color, hover, about, size=8, marker_opacity=0.55, **place)
            hover = f"<b>{name}</b>, mean of {len(values)}<br>{words}: {_format_values(measure, [values.mean()])[0]}"
            bar = {"size": 20, "marker_symbol": "line-ns", "marker_line": {"color": color, "width": 3}}
            dots(fig, [values.mean()], [row], None, hover, **bar, **place)
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
                    hovertemplate=f"<b>{name}</b><br>{words}: {_format_values(measure, [value])[0]}<extra></extra>",
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
    """Plot a curve per method along a setting of the crowd, means over crowds and seeds; a row of panels per measure.

    Args:
        table: a row per method, crowd and seed: the settings, ``method`` and the measures.
        x: column of the horizontal axis.
        measures: column -> title.
        methods: name -> registered method, which sets its colour.
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
                    customdata=_format_values(measure, mean),
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
    """Wrap words to lines of fewer than ``most`` letters."""
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def _axis(measure: str) -> Mapping[str, object]:
    return theme.PERCENT if "accuracy" in measure else {}


def _format_values(measure: str, values: Iterable[float]) -> list[str]:
    """Format values for hover texts."""
    return [f"{100 * value:.1f} %" if "accuracy" in measure else f"{value:.3f}" for value in values]


_BARS = 80  # workers up to which each has a bar; beyond, learnt against observed as points


def skills(
    comparisons: Mapping[str, SkillComparison],
    *,
    colors: Sequence[str] = (),
    highlight: int | None = None,
    title: str = "Skill of each worker",
) -> go.Figure:
    """Draw observed skills as bars, the best first, and the learnt ones of each run as points on them.

    With more than 80 workers, learnt skills are drawn against observed ones.

    Args:
        comparisons: name of each run -> its comparison; all with the same reference.
        colors: of the runs.
        highlight: number of a worker to mark.

    Raises:
        SettingError: nothing to draw, or different references.
    """
    runs = list(comparisons.values())
    if not runs or len({run.reference for run in runs}) > 1:
        raise SettingError("comparisons", "hold one run or more, with one reference", list(comparisons))
    first = runs[0]
    known = np.flatnonzero(~np.isnan(first.observed))
    order = known[np.lexsort((known, -first.observed[known]))]
    colors = list(colors) or [theme.PALETTE[k % len(theme.PALETTE)] for k in range(len(runs))]
    combined = " · ".join(dict.fromkeys(run.combined for run in runs))
    subtitle = (
        f"mean of the diagonal over the classes that a worker labelled · {len(known)} of {len(first.observed)} workers"
        f" · {combined} · reference: {first.reference}"
    )
    fig = theme.figure(title=title, subtitle=subtitle, height=430, margin_t=94)
    bars = len(known) <= _BARS
    if bars:
        fig.add_trace(_bars(first, order))
    for color, (name, run) in zip(colors, comparisons.items(), strict=True):
        fig.add_trace(_points(name, run, order, color, bars))
    if highlight is not None and highlight in order:
        at = int(np.flatnonzero(order == highlight)[0])
        x = at if bars else first.observed[highlight]
        fig.add_trace(ring(x, first.learned[highlight], name=str(first.worker_ids[highlight])))
    if bars:
        ticks = {"tickvals": np.arange(len(order)), "ticktext": first.worker_ids[order], "tickangle": -90}
        fig.update_xaxes(**ticks, tickfont_size=10, showgrid=False, range=[-0.7, len(order) - 0.3])
    else:
        equal_line(fig, 0, 1)
        fig.update_xaxes(title=f"observed skill ({first.reference})", range=[-0.02, 1.02], **percent_ticks(0, 1))
    return fig.update_yaxes(title="skill" if bars else "learnt skill", range=[0, 1.02], **percent_ticks(0, 1))


def _bars(run: SkillComparison, order: AnyArray) -> go.Bar:
    return go.Bar(
        x=np.arange(len(order)),
        y=run.observed[order],
        name=f"observed ({run.reference})",
        marker={"color": "rgba(128, 136, 150, 0.45)", "cornerradius": 2},
        customdata=_hover_columns(run, order, run.observed),
        hovertemplate="<b>%{customdata[0]}</b><br>observed %{customdata[3]:.1f} %, %{customdata[1]:.4~g} labels, "
        "%{customdata[2]} classes<extra></extra>",
    )


def _points(name: str, run: SkillComparison, order: AnyArray, color: str, bars: bool) -> go.Scatter:
    spread, learned = np.nan_to_num(run.learned_spread[order]), run.learned[order]
    some = np.isfinite(run.learned_spread[order]).any()
    ends = {"array": np.minimum(spread, 1 - learned), "arrayminus": np.minimum(spread, learned)}  # within 0 to 100 %
    error = {"type": "data", "symmetric": False, **ends, "color": color, "thickness": 1.5, "width": 0}
    return go.Scatter(
        x=np.arange(len(order)) if bars else run.observed[order],
        y=learned,
        mode="markers",
        name=f"{name}: r = {run.correlation:z.2f}",
        marker={"color": color, "size": 8 if len(order) <= 200 else 5, "line": {"width": 0}},
        error_y=error if some and len(order) <= 300 else None,
        customdata=np.column_stack([_hover_columns(run, order, run.learned), 100 * spread]),
        hovertemplate="<b>%{customdata[0]}</b><br>learnt %{customdata[3]:.1f} %"
        + (" ± %{customdata[4]:.1f}" if some else "")
        + f"<extra>{name}</extra>",
    )


def _hover_columns(run: SkillComparison, order: AnyArray, skill: FloatArray) -> AnyArray:
    """(n, 4) name, labels, classes and skill in percent of each worker."""
    columns = np.asarray(run.worker_ids, object), run.n_annotations, run.n_classes, 100 * skill
    return np.stack([column[order] for column in columns], axis=1)


def rating_biases(biases: RatingBiases, *, title: str = "Learnt and true biases", subtitle: str = "") -> go.Figure:
    """Plot a point per worker with enough ratings, larger for more; bars are one standard deviation over seeds.

    Args:
        biases: from `exhibits.ratings`; names in it are escaped.
        subtitle: data, method; the correlation is appended.
    """
    least = max(biases.least, 1)
    table = biases.frame()
    table = table[table["ratings"] >= least]
    r = biases.mean_correlation
    words = f"r = {r:z.2f} over " if r == r else ""
    words += f"{len(table)} workers with {least} ratings or more"
    fig = theme.figure(title=title, subtitle=" · ".join(filter(None, [subtitle, words])), height=460)
    values = np.concatenate([table["true"], table["learnt"], [0.0]])
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low or 1.0)
    ends = [low - room, high + room]
    equal_line(fig, *ends)
    spread = table["std"].to_numpy()
    bars = {"type": "data", "array": spread, "thickness": 1, "width": 0} if np.isfinite(spread).all() else None
    about = np.stack([table["worker"].to_numpy(object), table["ratings"].to_numpy(object)], 1)
    hover = "<b>%{customdata[0]}</b>, %{customdata[1]} ratings<br>true %{x:.3f}, learnt %{y:.3f}"
    look = {"size": 5 + 2 * np.log2(table["ratings"] / least + 1), "marker_opacity": 0.75, "error_y": bars}
    dots(fig, table["true"], table["learnt"], theme.ACCENT, hover, about, showlegend=False, **look)
    fig.update_xaxes(title="true bias: mean of rating − gold", range=ends)
    return fig.update_yaxes(title="learnt bias", range=ends)
