"""Aggregators side by side: differences of their labels, calibration of their posteriors, course of their fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis.gold_scores import Calibration
from crowdcore.analysis.labels.disagreement import LabelDisagreement, p_in_words
from crowdcore.analysis.workers.confusion import ConfusionIntervals
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.heatmap import MAX_LABELS, heatmap
from crowdcore.figures.theme import dots, interval

_FEW = 4  # curves up to which their intervals are drawn; hovering always shows them
_LEAST_GAP = 1e-12
_LEAST_TASKS = 10  # groups of fewer tasks are points without a line


def label_disagreement(result: LabelDisagreement, *, title: str = "Where the labels differ") -> go.Figure:
    """Plot the share of tasks that each pair labels differently; rows and columns lie at 0, 1, 2, …"""
    share = np.array(100 * result.share)
    np.fill_diagonal(share, np.nan)
    tasks = int(result.compared.max(initial=0))
    return heatmap(
        share,
        result.names,
        result.names,
        text=np.where(np.isnan(share), "", np.vectorize(lambda v: f"{v:.1f}")(share)),
        hover="%{customdata}",
        customdata=_pairs(result),
        low=0.0,
        high=float(np.nanmax(share)) if np.isfinite(share).any() else 1.0,
        unit="% of the tasks",
        suffix=" %",
        title=title,
        subtitle=f"share of up to {plural(tasks, 'task')} on which two differ",
    )


def _pairs(result: LabelDisagreement) -> AnyArray:
    """(M, M) hover text of each pair."""
    lines = np.empty(result.share.shape, dtype=object)
    for a, row in enumerate(result.names):
        for b, column in enumerate(result.names):
            words = [
                f"<b>{row} and {column}</b>",
                f"differ on {result.differ[a, b]:,} of {plural(result.compared[a, b], 'task')}",
            ]
            if result.n_judged[a] and result.n_judged[b]:
                words.append(
                    f"right there, by {result.reference}: {row} on {result.row_right[a, b]:,}, "
                    f"{column} on {result.row_right[b, a]:,} (McNemar {p_in_words(result.p_value[a, b])})"
                )
            lines[a, b] = "<br>".join(words)
    return lines


def calibration(curves: Mapping[str, Calibration], *, title: str = "Calibration") -> go.Figure:
    """Plot reliability curves: the share of right labels by their probability; the diagonal is perfect calibration.

    Args:
        curves: name -> from `analysis.calibration`; a method keeps its colour, its second curve is dashed.
    """
    fig = theme.figure(title=title, subtitle="below the diagonal: overconfident · in brackets: calibration error")
    theme.line(fig, [0, 1], [0, 1], theme.INK, 1, "dot", showlegend=False)
    looks = theme.looks([curve.reference for curve in curves.values()])
    for look, (name, curve) in zip(looks, curves.items(), strict=True):
        some = curve.n_tasks > 0
        x, y = curve.bin_confidence[some], curve.bin_accuracy[some]
        low, high, n = curve.low[some], curve.high[some], curve.n_tasks[some]
        named = {"legendgroup": name, "name": f"{name} ({100 * curve.error:.1f} %)"}
        many = n >= _LEAST_TASKS
        theme.line(fig, x[many], y[many], look.color, 2, look.dash, **named)
        bars = interval(low, y, high, color=look.color, thickness=1, width=3, visible=len(curves) <= _FEW)
        about = np.stack([n, 100 * low, 100 * high, 100 * y], axis=1)
        hover = f"<b>{name}</b><br>%{{customdata[0]:,}} labels given with probability %{{x:.2f}}<br>"
        hover += "%{customdata[3]:.1f} % are right (%{customdata[1]:.1f} – %{customdata[2]:.1f} %)"
        style = {"size": 4 + 10 * np.sqrt(n / n.sum()), "marker_symbol": look.symbol, "error_y": bars}
        dots(fig, x, y, look.color, hover, about, showlegend=False, **style, **named)
    fig.update_xaxes(title="probability of the label", **theme.PERCENT, range=[0, 1.03])
    fig.update_layout(margin_r=24)  # room for the last tick's words
    fig.update_yaxes(title="share that is right", **theme.PERCENT, range=[0, 1.03])
    return theme.legend_below(fig, len(curves))


def log_likelihood(
    results: Mapping[str, AggregationResult],
    n_annotations: int,
    *,
    gap: bool = False,
    title: str = "Objective by iteration",
) -> go.Figure:
    """Plot the objective of each fit by iteration; closed forms, which have no iterations, are left out.

    Args:
        results: name -> result; a method keeps its colour, its second curve is dashed.
        n_annotations: the objectives are divided by it.
        gap: draw the gap to the final value instead, on a logarithmic scale.
    """
    curves = {name: result for name, result in results.items() if len(result.log_likelihood)}
    subtitle = "How far the objective is from its final value" if gap else "Log-likelihood or its bound, with priors"
    subtitle = f"{subtitle} (nats per annotation). Do not compare between methods."
    fig = theme.figure(title=title, subtitle=subtitle)
    looks = theme.looks([result.method for result in curves.values()])
    for look, (name, result) in zip(looks, curves.items(), strict=True):
        values = result.log_likelihood / max(n_annotations, 1)
        y = values[-1] - values[:-1] if gap else values
        y = np.where(y > _LEAST_GAP, y, np.nan) if gap else y
        fig.add_scatter(
            x=np.arange(1, len(y) + 1),
            y=y,
            name=name,
            mode="lines+markers" if len(y) <= 2 else "lines",
            line={"color": look.color, "width": 2, "dash": look.dash},
            hovertemplate=f"<b>{name}</b>, iteration %{{x}}: %{{y:.6g}}<extra></extra>",
        )
        if not gap:
            end = {"marker_symbol": "diamond" if result.converged else "x", "showlegend": False}
            dots(fig, [len(y)], [y[-1]], look.color, f"<b>{name}</b>: {result.stopped}", **end)
    fig.update_xaxes(title="iteration", rangemode="tozero", showgrid=False)
    decades = {"type": "log", "dtick": 1} if gap else {}
    fig.update_yaxes(title="nats per annotation", exponentformat="power", **decades)
    return theme.legend_below(fig, len(curves))


def confusion_intervals(
    intervals: ConfusionIntervals,
    worker: int,
    classes: Sequence[str],
    counts: FloatArray | None = None,
    *,
    title: str = "Confusion",
) -> go.Figure:
    """Draw one worker's confusion in percent, each cell with its interval below it.

    Args:
        intervals: from `analysis.credible_intervals` or `analysis.bootstrap_confusion`.
        worker: which of its workers.
        classes: (C,) names.
        counts: (C, C) expected annotations behind the cells, shown on hover.
    """
    estimate, low, high = (100 * part[worker] for part in (intervals.estimate, intervals.low, intervals.high))
    cells = list(zip(estimate.ravel(), low.ravel(), high.ravel(), strict=True))
    text = ["" if np.isnan(e) else f"{e:.0f}<br><sub>{a:.0f} – {b:.0f}</sub>" for e, a, b in cells]
    lines = np.empty(estimate.shape, dtype=object)
    for a, true in enumerate(classes if len(classes) <= MAX_LABELS else ()):
        for b, given in enumerate(classes):
            words = f"<b>{true} → {given}</b><br>{estimate[a, b]:.1f} % ({low[a, b]:.1f} – {high[a, b]:.1f} %)"
            behind = "" if counts is None else f"<br>{counts[a, b]:.3g} of {counts[a].sum():.3g} expected labels"
            lines[a, b] = words + behind
    known = f"{len(classes)} classes, {int(np.isfinite(estimate).any(1).sum())} with evidence"
    return heatmap(
        estimate,
        classes,
        classes,
        text=np.array(text, object).reshape(estimate.shape),
        hover="%{customdata}" if len(classes) <= MAX_LABELS else "%{y} → %{x}: %{z:.1f} %",
        customdata=lines if len(classes) <= MAX_LABELS else None,
        low=0.0,
        high=100.0,
        unit="% of the labels",
        suffix=" %",
        row_title="true class",
        column_title="given label",
        title=title,
        subtitle=f"{intervals.reference}, {100 * intervals.level:g} % intervals · {known}",
    )
