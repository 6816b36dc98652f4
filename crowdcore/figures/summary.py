"""A dataset at a glance: annotations per worker (CCC, Fig. 1), class balance, entropies, agreement."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from crowdcore import analysis
from crowdcore.analysis.labels.agreement import Agreement
from crowdcore.analysis.labels.summary import AnnotationEntropy, ClassBalance, Summary
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.doors import draws
from crowdcore.figures.theme import named

_BINS = 30
_FEW = 5  # whole numbers up to which every one is a tick
_MANY = 40  # classes from which upright bars go without names
_ROWS = 100  # classes from which those that lie do


@draws(analysis.summary)
def labels_per_worker(summary: Summary, *, title: str = "Annotations per worker") -> go.Figure:
    """Plot a histogram of the workers' numbers of annotations; bins are logarithmic if few workers made most."""
    counts = summary.annotations_per_worker
    active = counts[counts > 0]
    if not len(active):
        return theme.figure(title=title, subtitle="no annotations", height=320)
    low, high, median = int(active.min()), int(active.max()), float(np.median(active))
    skewed = high > 20 * median
    if skewed:
        edges = np.unique(np.round(np.geomspace(low, high + 1, _BINS + 1)))
    else:
        step = max(1, -(-(high + 1 - low) // _BINS))
        edges = np.arange(low, high + 2, step, dtype=np.float64)
        edges = edges if edges[-1] > high else np.append(edges, edges[-1] + step)
    height, shift = np.histogram(active, edges)[0], 0.0 if skewed else 0.5  # bins of whole numbers: centred
    span = [f"{a:.0f}" if b - a == 1 else f"{a:.0f} – {b - 1:.0f}" for a, b in pairwise(edges)]
    bars = go.Bar(
        x=(edges[:-1] + edges[1:]) / 2 - shift,
        y=height,
        width=0.94 * np.diff(edges),
        marker={"color": theme.ACCENT, "cornerradius": 3},
        customdata=span,
        hovertemplate="annotations: %{customdata}<br>workers: %{y}<extra></extra>",
    )
    idle = f", {np.count_nonzero(counts == 0)} without any" if (counts == 0).any() else ""
    subtitle = (
        f"{plural(len(active), 'worker')}{idle}, {plural(summary.n_annotations, 'annotation')}, median {median:g}"
    )
    fig = theme.figure(bars, title=title, subtitle=subtitle, height=320, showlegend=False)
    whole = None if high - low > _FEW else 1  # no ticks between whole numbers
    fig.update_xaxes(
        title="annotations", type="log" if skewed else "linear", dtick="D2" if skewed else whole, showgrid=False
    )
    fig.update_yaxes(title="workers", rangemode="tozero", dtick=None if height.max(initial=0) > _FEW else 1)
    fig.add_vline(x=median, line={"color": theme.WARN, "width": 2, "dash": "dot"})
    return fig


@draws(analysis.summary)
def labels_per_task(summary: Summary, *, title: str = "Annotations per task") -> go.Figure:
    """Plot the number of tasks with 0, 1, 2, … annotations."""
    tasks = summary.tasks_by_annotations
    rows = np.flatnonzero(tasks)
    bars = go.Bar(
        x=rows,
        y=tasks[rows],
        marker={"color": theme.ACCENT, "cornerradius": 3},
        hovertemplate="annotations: %{x}<br>tasks: %{y}<extra></extra>",
    )
    mean = summary.n_annotations / max(summary.n_annotated, 1)
    subtitle = f"{summary.n_annotated:,} of {plural(summary.n_tasks, 'task')} with annotations, {mean:.2f} on average"
    fig = theme.figure(bars, title=title, subtitle=subtitle, height=320, showlegend=False)
    fig.update_xaxes(title="annotations", showgrid=False, dtick=1 if np.ptp(rows) <= 20 else None)
    return fig.update_yaxes(title="tasks", rangemode="tozero", dtick=None if tasks.max(initial=0) > _FEW else 1)


@draws(analysis.class_balance)
def class_balance(balance: ClassBalance, *, title: str = "Class balance") -> go.Figure:
    """Plot how often each class is true (reference) and how often it is given, in percent."""
    bars = [
        go.Bar(
            x=list(range(len(balance.classes))),
            y=100 * share,
            customdata=np.stack([np.array(balance.classes, object), count], axis=1),
            name=name,
            marker={"color": color, "cornerradius": 3},
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>%{{y:.1f}} % of {kind} "
            "(%{customdata[1]:.5~g})<extra></extra>",
        )
        for name, kind, share, count, color in (
            (f"true class ({balance.reference})", "tasks", balance.true_share, balance.tasks, theme.PALETTE[1]),
            ("given label", "annotations", balance.given_share, balance.annotations, theme.ACCENT),
        )
    ]
    subtitle = f"{plural(round(balance.tasks.sum()), 'task')}, {plural(round(balance.annotations.sum()), 'annotation')}"
    fig = theme.figure(*bars, title=title, subtitle=subtitle, height=340, barmode="group", bargap=0.25)
    fig.update_layout(margin_t=94)
    fig.update_yaxes(ticksuffix=" %", rangemode="tozero")
    if len(balance.classes) > _MANY:
        fig.update_xaxes(title=f"{len(balance.classes)} classes, in the order of the table")
    return fig.update_xaxes(**_classes(balance.classes), autotickangles=[0, -40, -90])


@draws(analysis.annotation_entropy)
def annotation_entropy(entropy: AnnotationEntropy, *, title: str = "Entropy of the labels of each class") -> go.Figure:
    """Plot the entropy of the labels of each true class, the most confused classes first."""
    order = np.argsort(-np.nan_to_num(entropy.entropy, nan=-1.0), kind="stable")
    names = [entropy.classes[c] for c in order]
    bars = go.Bar(
        x=entropy.entropy[order],
        y=list(range(len(names))),
        orientation="h",
        customdata=np.stack([np.array(names, object), entropy.annotations[order]], axis=1),
        marker={"color": theme.ACCENT, "cornerradius": 3},
        text=[f"{e:.3f}" for e in entropy.entropy[order]] if len(names) <= _MANY else None,
        textposition="outside",
        cliponaxis=False,
        hovertemplate="<b>%{customdata[0]}</b><br>%{x:.3f} nats, %{customdata[1]:.5~g} annotations<extra></extra>",
    )
    top = float(np.log(max(len(names), 2)))
    scale = f"0 = everyone gives the same label; {top:.2f} nats = spread evenly"
    subtitle = f"{scale} · reference: {entropy.reference}"
    height = int(np.clip(26 * len(names), 120, 900)) + 110
    fig = theme.figure(bars, title=title, subtitle=subtitle, height=height, bargap=0.3, showlegend=False)
    fig.update_xaxes(title="nats", range=[0, top * 1.04])
    return fig.update_yaxes(**_classes(names, _ROWS), autorange="reversed", showgrid=False)


@draws(analysis.agreement)
def agreement(result: Agreement, *, title: str = "Agreement between workers") -> go.Figure:
    """Plot each coefficient with its interval, or the reason why it has none."""
    coefficients = result.coefficients
    known = [k for k, c in enumerate(coefficients) if not np.isnan(c.value)]
    value, low, high = (np.array([getattr(coefficients[k], key) for k in known]) for key in ("value", "low", "high"))
    error = {"type": "data", "array": np.nan_to_num(high - value), "arrayminus": np.nan_to_num(value - low)}
    points = go.Scatter(
        x=value,
        y=known,
        mode="markers+text",
        text=[f"{v:z.3f}" for v in value],
        textposition="top center",
        marker={"size": 11, "color": theme.ACCENT},
        error_x={**error, "color": theme.ACCENT, "thickness": 2, "width": 5},
        hovertemplate="%{x:.4f}<extra></extra>",
    )
    subtitle = (
        f"{plural(result.raw.annotations, 'annotation')} on {plural(result.raw.tasks, 'task')} with two workers or more"
    )
    fig = theme.figure(points, title=title, subtitle=subtitle, height=340, showlegend=False)
    for k, coefficient in enumerate(coefficients):
        if coefficient.state:
            fig.add_annotation(x=0, y=k, text=coefficient.state.split(":")[0], showarrow=False, xanchor="left")
    names = [c.name for c in coefficients]
    fig.update_xaxes(range=[np.nan_to_num(low).min(initial=0.02) - 0.02, 1.0])
    return fig.update_yaxes({**_classes(names), "ticktext": names}, range=[len(names) - 0.4, -0.6])


def _classes(names: tuple[str, ...] | list[str], many: int = _MANY) -> dict[str, object]:
    """Axis of names, which are left out if they are many."""
    return {**named(names), "showticklabels": len(names) <= many, "ticklabelstandoff": 6}
