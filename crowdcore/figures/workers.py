"""Workers: ranking, pairs, coordinated groups, accuracy and speed over time, and two rounds of labelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import plotly.graph_objects as go

from crowdcore import analysis
from crowdcore.analysis.coordinated.groups import Group, in_one_group
from crowdcore.analysis.coordinated.workers import CoordinatedWorkers
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes
from crowdcore.analysis.spans import SPAN_ERRORS, SpanScores
from crowdcore.analysis.two_rounds.compare import Rounds
from crowdcore.analysis.workers.quality import WorkerQuality
from crowdcore.analysis.workers.speed import WorkerOverTime, WorkerSpeedOverTime
from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray
from crowdcore.data.report import plural
from crowdcore.figures import theme
from crowdcore.figures.doors import draws
from crowdcore.figures.theme import dots, equal_line, interval, ranked, ring

Measure = Literal["accuracy", "skill", "information", "agreement", "agreement_kappa", "majority_agreement"]
_MEASURES: dict[str, str] = {
    "accuracy": "accuracy",
    "skill": "skill (mean of the confusion's diagonal)",
    "information": "bits about the truth per label",
    "agreement": "agreement with other workers",
    "agreement_kappa": "agreement with other workers, beyond chance",
    "majority_agreement": "agreement with the others' majority",
}
_INTERVALS = 300  # workers up to which each has its interval


@draws(analysis.worker_quality)
def worker_ranking(
    quality: WorkerQuality,
    by: Measure = "accuracy",
    *,
    names: Sequence[str] | None = None,
    highlight: int | None = None,
    guessing: BoolArray | None = None,
    together: BoolArray | None = None,
    worse: BoolArray | None = None,
    title: str = "",
) -> go.Figure:
    """Draw one dot per worker, the suspect first, then the best first; larger dots gave more labels.

    Args:
        quality: from `analysis.worker_quality`.
        by: what to rank by (`WorkerQuality.ranking`); accuracy has its interval.
        names: (n_workers,) of the workers; default: their ids.
        highlight: number of a worker to mark.
        guessing: (n_workers,) whether a worker is no better than guessing (`analysis.worker_verdicts`).
        together: (n_workers,) whether a worker acts with others.
        worse: (n_workers,) whether a worker becomes worse over time.

    Raises:
        SettingError: no such measure.
    """
    if by not in get_args(Measure):
        raise SettingError("by", f"be one of {', '.join(get_args(Measure))}", by)
    values = getattr(quality, by)
    none = np.zeros(len(values), bool)
    guessing, together, worse = (none if flag is None else flag for flag in (guessing, together, worse))
    suspect = guessing | together | worse
    order = quality.ranking(suspect, by)
    order = order[~np.isnan(values[order])]
    called = np.asarray(quality.worker_ids if names is None else names, object)
    size = 5 + 9 * np.sqrt(quality.n_annotations / max(quality.n_annotations.max(initial=1), 1))
    size *= 1 if len(order) <= _INTERVALS else 0.6
    ranks = "lower end of accuracy's interval" if by == "accuracy" else _MEASURES[by]
    subtitle = f"{len(order)} of {plural(len(values), 'worker')}, by {ranks} · reference: {quality.reference}"
    title = title or ("Workers: flagged first, then best first" if suspect.any() else "Workers, best first")
    fig = theme.figure(title=title, subtitle=subtitle, height=380, margin_t=92)
    odd = (single := quality.answers_single) | guessing
    linked, falls = together & ~odd, worse & ~odd & ~together
    share = by not in ("information", "agreement_kappa")
    shown, form = (100 * values, ".1f} %") if share else (values, ".3~f}")
    hover = f"<b>%{{customdata[0]}}</b>: %{{customdata[2]:{form}<br>%{{customdata[1]}} labels"
    for name, color, which in (
        ("ordinary", theme.ACCENT, ~(odd | linked | falls)),
        ("act with others", theme.PALETTE[7], linked),
        ("become worse", theme.PALETTE[3], falls),
        ("one answer for nearly everything", theme.PALETTE[1], single),
        ("no better than guessing", theme.WARN, guessing & ~single),
    ):
        of = order[at := np.flatnonzero(which[order])]
        if len(of):
            about = np.stack([called[of], quality.n_annotations[of], shown[of], of], axis=1)
            look = {"size": size[of], "marker_line": {"width": 0}, "cliponaxis": False}
            if by == "accuracy" and len(order) <= _INTERVALS:
                ends = quality.accuracy_low[of], quality.accuracy[of], quality.accuracy_high[of]
                look["error_y"] = interval(*ends, color=theme.FAINT, thickness=2, width=0)
            dots(fig, at, values[of], color, hover, about, name=f"{name} ({len(of)})", **look)
    if highlight is not None and not np.isnan(values[highlight]):
        fig.add_trace(
            ring(int(np.flatnonzero(order == highlight)[0]), float(values[highlight]), name=str(called[highlight]))
        )
    if by == "information" and len(order):
        limit = float(np.nanmax(quality.information_limit))
        fig.add_hline(y=limit, line=theme.DOTTED)
        fig.add_annotation(x=1, xref="paper", y=limit, text="a faultless worker", showarrow=False, yanchor="bottom")
    fig.update_yaxes(title=_MEASURES[by], rangemode="tozero", **(theme.PERCENT if share else {}))
    return fig.update_xaxes(**ranked(called[order]))


@draws(analysis.pair_mistakes)
def pair_mistakes(
    pairs: PairMistakes,
    *,
    groups: tuple[Group, ...] = (),
    names: Sequence[str] | None = None,
    level: float = 0.05,
    most: int = 2000,
    title: str = "Who is wrong together?",
) -> go.Figure:
    """Draw one dot per pair of workers: observed against expected tasks on which both are wrong alike.

    Args:
        pairs: from `analysis.pair_mistakes`.
        groups: workers who act together, from `analysis.worker_verdicts(…).groups`: their pairs are marked, as on the
            page *Pairs*.
        names: (n_workers,) of the workers; default: their ids.
        level: ``q_value`` up to which a pair is wrong alike more often than independent workers on equally hard tasks.
        most: most pairs drawn, the least probable ones; those never wrong alike are left out.
    """
    called = np.asarray(pairs.worker_ids if names is None else names, object)
    rows = np.flatnonzero(pairs.wrong_alike)
    p = np.nan_to_num(pairs.p_value[rows], nan=1.0)
    shown = rows[np.argpartition(p, most)[:most]] if len(p) > most else rows
    words = [f"{len(pairs.p_value):,} pairs share a task, {len(rows):,} were wrong alike"]
    words += [f"the {most:,} least probable are drawn"] if len(p) > most else []
    subtitle = " · ".join([*words, f"reference: {pairs.reference}"])
    fig = theme.figure(title=title, subtitle=subtitle, height=480, margin_t=64)
    together, chance = in_one_group(pairs, groups), pairs.q_value <= level
    for name, color, which, size in (
        ("as often as chance has it", theme.INK, ~chance & ~together, 5),
        ("more often than independent workers", theme.ACCENT, chance & ~together, 8),
        ("act together", theme.WARN, together, 9),
    ):
        of = shown[which[shown]]
        look = {"size": size, "marker_opacity": 0.5 if color == theme.INK else 0.9}
        about, entry = _pair_words(pairs, called, of), f"{name} ({int(which[rows].sum()):,})"
        dots(fig, pairs.expected[of], pairs.wrong_alike[of], color, "%{customdata}", about, name=entry, **look)
    if len(shown):
        low, high = float(pairs.expected[shown].min()), float(pairs.expected[shown].max())
        top = float(pairs.wrong_alike[shown].max())
        equal_line(fig, 0.8, 1.3 * top)
        fig.update_xaxes(range=[np.log10(low / 1.3), np.log10(1.3 * max(high, 1.0))])
        fig.update_yaxes(range=[np.log10(0.8), np.log10(1.4 * top)])
    corner = {"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
    fig.update_layout(legend={"orientation": "v", **corner})
    fig.update_xaxes(title="tasks wrong alike, expected of independent workers", type="log", dtick="D2")
    return fig.update_yaxes(title="tasks wrong alike", type="log", dtick="D2")


def _pair_words(pairs: PairMistakes, called: AnyArray, of: AnyArray) -> list[str]:
    """Hover text of a pair."""
    return [
        f"<b>{called[pairs.worker_a[k]]}</b> and <b>{called[pairs.worker_b[k]]}</b><br>"
        f"{pairs.both_labelled[k]} tasks in common, {pairs.both_wrong[k]} both wrong, {pairs.wrong_alike[k]} alike<br>"
        f"expected: {pairs.expected[k]:.2f}, given the tasks {pairs.expected_beyond[k]:.2f}<br>"
        f"{pairs.agreed[k]} times the same label, expected {pairs.expected_agreed[k]:.1f}<br>"
        f"q = {pairs.q_value[k]:.2g}, beyond skills and tasks {pairs.q_beyond[k]:.2g}"
        for k in of
    ]


_ROW = 44  # pixels of a group
_NAMES = 4  # members named on the axis


@draws(analysis.coordinated_workers)
def coordinated_workers(
    result: CoordinatedWorkers, *, most: int = 30, title: str = "Labels that change without each group"
) -> go.Figure:
    """Draw a bar per group: labels of the majority vote that become right, become wrong or change otherwise.

    Without gold or marks it is unknown which become right, and a bar has one colour.

    Args:
        result: from `analysis.coordinated_workers`.
        most: groups drawn, the surest.
    """
    groups = result.groups[:most]
    subtitle = f"majority vote without the group · reference: {result.reference}"
    subtitle += f" · the {most} surest of {len(result.groups)} groups" if len(result.groups) > most else ""
    fig = theme.figure(title=title, subtitle=subtitle, height=170 + _ROW * len(groups), margin_t=90)
    changed = np.array([len(group.influence.changed) for group in groups], int)
    right, wrong = (
        np.array([getattr(group.influence, name) for group in groups], int) for name in ("become_right", "become_wrong")
    )
    judged = bool((right >= 0).all())
    parts = [("become right", theme.ACCENT, right), ("become wrong", theme.WARN, wrong)] if judged else []
    parts.append(("change otherwise" if judged else "change", theme.FAINT, changed - (right + wrong if judged else 0)))
    called = [_group_names(result, group.members.tolist()) for group in groups]
    for name, color, count in parts:
        fig.add_bar(
            x=count,
            y=np.arange(len(groups)),
            orientation="h",
            name=name,
            marker={"color": color, "line": {"color": theme.INK, "width": 0.5}},
            customdata=[[*words, number] for number, words in enumerate(called)],
            hovertemplate=f"%{{x}} labels {name} without<br><b>%{{customdata[1]}}</b><extra></extra>",
        )
    fig.update_layout(
        barmode="stack",
        bargap=0.35,
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    )
    fig.update_xaxes(title="labels", rangemode="tozero")
    ticks = {"tickvals": np.arange(len(groups)), "ticktext": [short for short, _ in called]}
    return fig.update_yaxes(**ticks, showgrid=False, range=[len(groups) - 0.4, -0.6])


def _group_names(result: CoordinatedWorkers, members: list[int]) -> tuple[str, str]:
    """Names of some members of a group, and of all."""
    names = sorted(str(result.worker_ids[member]) for member in members)
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more, ", ".join(names)


def worker_over_time(result: WorkerOverTime, *, title: str = "") -> go.Figure:
    """Draw a point with its interval for each block of labels.

    Args:
        result: from `analysis.worker_over_time`; names in it are escaped.
    """
    fig = theme.figure(
        title=title or f"{result.name} over time", subtitle=f"reference: {result.reference}", height=300, margin_t=80
    )
    hover = "labels %{customdata[1]} to %{customdata[2]}, from %{customdata[3]}: %{customdata[0]:.1f} %"
    fig.add_trace(_blocks(result, result.accuracy, 100 * result.accuracy, hover))
    fig.update_xaxes(title_text="the worker's labels, in order of time")
    fig.update_yaxes(**theme.PERCENT, range=[0, 1.02])
    return fig


def worker_speed_over_time(result: WorkerSpeedOverTime, *, title: str = "") -> go.Figure:
    """Draw the median of each block with its quartiles, the others' speed as a line, and a change of speed.

    Args:
        result: from `analysis.worker_speed_over_time`; names in it are escaped.
    """
    subtitle = "median of each block, with quartiles; 1 = as long as the others on the same tasks"
    fig = theme.figure(title=title or f"Speed of {result.name}", subtitle=subtitle, height=300, margin_t=80)
    about = "answers %{customdata[1]} to %{customdata[2]}, from %{customdata[3]}"
    hover = f"{about}: %{{y:.2f}} times the others, %{{customdata[0]:.3~g}} s"
    fig.add_trace(_blocks(result, result.ratio, result.seconds, hover))
    fig.add_hline(y=1, line=theme.DOTTED)
    if result.change >= 0:
        fig.add_vline(x=result.change + 0.5, line={"color": theme.WARN, "dash": "dash", "width": 1.5})
    fig.update_xaxes(title_text="the worker's answers, in order of time")
    top, bottom = (float(np.log10(end)) for end in (max(result.high.max(), 2.0), min(result.low.min(), 0.5)))
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    shown = {"tickvals": ticks, "ticktext": [f"×{tick:g}" for tick in ticks]}
    return fig.update_yaxes(type="log", range=[bottom - 0.05, top + 0.05], title="time of an answer", **shown)


def _blocks(
    result: WorkerOverTime | WorkerSpeedOverTime, height: FloatArray, beside: FloatArray, hover: str
) -> go.Scatter:
    """Points with intervals in the middle of the blocks; custom data: ``beside``, first and last label, begin."""
    return go.Scatter(
        x=(result.first + result.last) / 2,
        y=height,
        mode="lines+markers",
        line={"color": theme.ACCENT, "width": 2},
        marker={"size": 8, "color": theme.ACCENT},
        error_y=interval(result.low, height, result.high, thickness=1, width=0, color=theme.ACCENT),
        customdata=np.stack([beside, result.first, result.last, result.begins], axis=1),
        hovertemplate=f"{hover}<extra></extra>",
        showlegend=False,
    )


_LEVEL = 0.05


@draws(analysis.rounds)
def round_workers(result: Rounds, *, title: str = "Who changed") -> go.Figure:
    """Draw a point per worker of both rounds: the second round against the first; surely changed ones are marked.

    Args:
        result: from `analysis.rounds`; names in it are escaped.
    """
    first, second = result.workers.first, result.workers.second
    known = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    surely = (result.q_workers <= _LEVEL)[known]
    subtitle = f"{len(known):,} worker{'s' * (len(known) != 1)} of both rounds · reference: {result.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=400, margin_t=92)
    hover = "<b>%{customdata[0]}</b>: %{customdata[1]:.1f} % of %{customdata[3]} labels → "
    hover += "%{customdata[2]:.1f} % of %{customdata[4]}"
    for name, color, which in (
        ("no surer than noise", theme.ACCENT, ~surely),
        ("better", theme.PALETTE[2], surely & (second > first)[known]),
        ("worse", theme.WARN, surely & (second < first)[known]),
    ):
        of = known[which]
        if len(of):
            columns = result.worker_ids[of], 100 * first[of], 100 * second[of], *result.labels[:, of], of
            about = np.stack([np.asarray(column, object) for column in columns], axis=1)
            dots(fig, first[of], second[of], color, hover, about, name=name)
    equal_line(fig, 0, 1)
    fig.update_xaxes(**theme.PERCENT, title_text=f"right labels: {result.names[0]}", range=[-0.02, 1.02])
    fig.update_yaxes(**theme.PERCENT, title_text=f"right labels: {result.names[1]}", range=[-0.02, 1.02])
    return fig


_WORDS = {
    "exact": "found",
    "type": "other type",
    "boundary": "other boundary",
    "both": "other type and boundary",
    "missed": "missed",
}
_COLORS = {"exact": theme.PALETTE[2], "type": theme.PALETTE[3], "boundary": theme.PALETTE[1], "both": theme.PALETTE[6]}


@draws(analysis.span_scores)
def span_f1(scores: SpanScores, *, title: str = "Spans: F1 of each worker") -> go.Figure:
    """Draw F1 of each worker, the best first, with its interval where there is one.

    Args:
        scores: from `analysis.span_scores`.
    """
    order = _order(scores)
    value = scores.value[2, order]
    error = None
    if scores.low is not None and scores.high is not None:
        error = interval(scores.low[2, order], value, scores.high[2, order], width=0)
    names = np.asarray(scores.worker_ids, object)[order]
    about = np.stack([names, *(100 * scores.value[:, order]), scores.n_true[order]], axis=1)
    hover = (
        "<b>%{customdata[0]}</b><br>F1 %{customdata[3]:.1f} %<br>precision %{customdata[1]:.1f} %, "
        "recall %{customdata[2]:.1f} %<br>%{customdata[4]} true spans"
    )
    subtitle = f"{plural(len(order), 'worker')} · same tokens and same type · reference: {scores.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=380, margin_t=80)
    dots(fig, np.arange(len(order)), value, theme.ACCENT, hover, about, error_y=error, showlegend=False)
    fig.update_xaxes(**ranked(names))
    return fig.update_yaxes(title="F1 of spans", range=[0, 1.02], **theme.PERCENT)


@draws(analysis.span_scores)
def span_errors(scores: SpanScores, *, title: str = "What became of the true spans") -> go.Figure:
    """Draw a bar for each worker: true spans found, with another type or boundary, and missed.

    Args:
        scores: from `analysis.span_scores`.
    """
    order = _order(scores)
    share = scores.outcomes[order] / np.maximum(scores.n_true[order], 1)[:, None]
    subtitle = f"share of the true spans in the sentences that each worker tagged · reference: {scores.reference}"
    fig = theme.figure(title=title, subtitle=subtitle, height=420, margin_t=96, barmode="stack")
    names = np.asarray(scores.worker_ids, object)[order]
    for kind in reversed(SPAN_ERRORS):
        k = SPAN_ERRORS.index(kind)
        about = np.stack([names, scores.outcomes[order, k], 100 * share[:, k]], axis=1)
        fig.add_bar(
            x=np.arange(len(order)),
            y=share[:, k],
            name=_WORDS[kind],
            marker={"color": _COLORS.get(kind, theme.FAINT)},
            customdata=about,
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{_WORDS[kind]}: %{{customdata[1]}} (%{{customdata[2]:.1f}} %)"
            "<extra></extra>",
        )
    fig.update_xaxes(**ranked(names))
    return fig.update_yaxes(title="true spans", range=[0, 1], **theme.PERCENT)


def _order(scores: SpanScores) -> np.ndarray:
    """Workers who tagged a sentence, the best F1 first."""
    seen = np.flatnonzero(scores.sentences)
    return seen[np.lexsort((seen, -scores.value[2, seen]))]
