"""Figure of metrics by epoch, one line per run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import plotly.graph_objects as go

from crowdcore.analysis.recovery.seeds import Band, Trained, smoothed
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.figures import theme
from crowdcore.figures.theme import dots

if TYPE_CHECKING:
    import pandas as pd


_BAND, _RAW = 0.16, 0.3  # opacity of mean ± standard deviation, and of the line before smoothing
_FEW = 4  # runs that have bands and a legend; more have their names at the ends of their lines
_FIRST = 0.1  # share of the epochs that may not stretch the axis of values
_STRETCH = 1.8  # how much taller the axis may be on their account
_LINE, _PLOT = 16, 250  # pixels: a name at the end of a line, the plot with few of them
_LONG = 34  # characters of a name at the end of a line
_BESIDE = 1.03  # where names stand, in terms of the last epoch
_WRAP = 78  # characters in a line of remarks


@dataclass(frozen=True, eq=False)
class _Line:
    """Drawing data of one run.

    Args:
        band: its name and style, positions without values left out.
        drawn: the same, smoothed.
        color: of the line.
        dash: of the line.
        selected: (S,) its selected epochs, or None.
    """

    band: Band
    drawn: Band
    color: str
    dash: str
    selected: IntArray | FloatArray | None

    @property
    def mark(self) -> tuple[float, float]:
        """Place of the diamond: the (lower) median of the selected epochs, which one seed has, on what was measured."""
        at = float(np.quantile(self.selected, 0.5, method="lower")) if self.selected is not None else np.nan
        return at, float(np.interp(at, self.band.x, self.band.mean))


_COMPARED = ("test_accuracy", "test_rmse", "valid_accuracy", "valid_rmse")


def learning_curves(
    bands: Sequence[Band] | Trained | Sequence[Trained],
    metric: str = "",
    *,
    selected: Sequence[IntArray | FloatArray] = (),
    percent: bool = True,
    smooth: int = 1,
    log_epochs: bool = False,
    log_values: bool = False,
    all_values: bool = False,
    until: int = 0,
    title: str = "Learning curves",
    subtitle: str = "",
) -> go.Figure:
    """Plot means over seeds by epoch, of up to four runs with one standard deviation, of more with names at line ends.

    First epochs that would squash the rest are left off the axis by default, and the subtitle says so. A logarithmic
    axis of values needs values above 0; otherwise it stays linear, and the subtitle says so.

    Args:
        bands: over epochs, one per run; the first run of a method has the method's colour. Or trained results.
        metric: name of the metric in words; of results the name of a curve, by default the test score.
        selected: (S,) epochs per run, drawn as one mark at their median.
        percent: whether the values are shares.
        smooth: epochs around each whose mean is drawn, with the measured line faint behind it; 1: none.
        log_epochs: a logarithmic axis of epochs.
        log_values: a logarithmic axis of values.
        all_values: an axis that holds every value, those of the first epochs too.
        until: epoch that the axis reaches at least, for unfinished runs.
        subtitle: data, remarks.
    """
    results: Any = [one for one in (bands if isinstance(bands, Sequence) else [bands]) if hasattr(one, "curves")]
    if results:
        common = [name for name in results[0].curves if all(name in one.curves for one in results)]
        metric = metric or next((name for name in (*_COMPARED, *common) if name in common), "")
        selected, percent = selected or [one.selected_epoch for one in results], metric.endswith(("accuracy", "f1"))
        bands, metric = [one.curve(metric) for one in results], metric.replace("_", " ").capitalize()
    lines = _lines(cast("Sequence[Band]", bands), selected, smooth)
    shown = bool(lines) and len(lines) <= _FEW
    means = np.concatenate([line.band.mean for line in lines]) if lines else np.zeros(0)
    positive = bool((means > 0).all())
    log_values, refused = log_values and positive, log_values and not positive
    seeds = {int(n) for line in lines for n in line.band.n}
    limits = (float(means.min()) / 10 if log_values else 0.0 if percent else -np.inf, 1.0 if percent else np.inf)
    window, hidden = (None, 0) if log_values else _window(lines, shown, percent, all_values)
    remarks = [
        subtitle,
        _of_seeds(seeds, shown),
        f"smoothed: mean of {smooth} epochs around each, faint: as measured" if smooth > 1 else "",
        f"diamond: {_diamond(seeds)}{', as measured' if smooth > 1 else ''}" if len(selected) else "",
        f"{'epoch 1' if hidden == 1 else f'epochs 1–{hidden}'} partly off the axis" if hidden else "",
        "not logarithmic: some values are not above 0" if refused else "",
    ]
    rows = _rows([remark for remark in remarks if remark])
    fig = theme.figure(title=title, subtitle="<br>".join(rows), margin_t=60 + _LINE * (len(rows) - 1))
    for line in lines:
        _draw(fig, line, shown, smooth > 1, percent, limits)
    last = max([until, 2, *(int(line.band.x[-1]) for line in lines)])
    fig.update_xaxes(title="epoch", showgrid=False, type="log" if log_epochs else "linear")
    fig.update_xaxes(range=[0, np.log10(last)] if log_epochs else [0, last])
    fig.update_yaxes(title=metric, type="log" if log_values else "linear", **(theme.PERCENT if percent else {}))
    if log_values:
        window = (float(means.min()) / 1.1, float(means.max()) * 1.1) if len(means) else None
    if window:
        fig.update_yaxes(range=np.log10(window).tolist() if log_values else list(window))
    if shown or window is None:
        theme.legend_below(fig, len(lines))
        return fig.update_layout(height=fig.layout.height + _LINE * (len(rows) - 1))
    _name_ends(fig, lines, window, log_epochs, log_values)
    return fig.update_layout(height=max(_PLOT, _LINE * len(lines)) + 130 + _LINE * (len(rows) - 1), showlegend=False)


def _lines(bands: Sequence[Band], selected: Sequence[IntArray | FloatArray], smooth: int) -> list[_Line]:
    """Runs with at least one value, in colours and dashes of which no two are alike."""
    lines = []
    for k, (b, look) in enumerate(zip(bands, theme.looks([b.method for b in bands]), strict=True)):
        some = ~np.isnan(b.mean)
        if some.any():
            cut = replace(b, x=b.x[some], mean=b.mean[some], std=np.nan_to_num(b.std[some]), n=b.n[some])
            drawn = smoothed(cut, smooth)
            lines.append(_Line(cut, drawn, look.color, look.dash, selected[k] if len(selected) else None))
    return lines


def _rows(remarks: Sequence[str]) -> list[str]:
    """Remarks in as few rows as have room for them; none is broken."""
    rows = [""]
    for remark in remarks:
        joined = f"{rows[-1]} · {remark}" if rows[-1] else remark
        if len(joined) <= _WRAP or not rows[-1]:
            rows[-1] = joined
        else:
            rows.append(remark)
    return rows


def _of_seeds(seeds: set[int], shown: bool) -> str:
    """Label of a line, with ± where known."""
    if seeds <= {1}:
        return "one seed each" if seeds else ""
    return "mean over seeds ± standard deviation" if shown else "mean over seeds"


def _diamond(seeds: set[int]) -> str:
    return "median of the selected epochs" if max(seeds, default=1) > 1 else "the selected epoch"


def _window(lines: Sequence[_Line], shown: bool, percent: bool, whole: bool) -> tuple[tuple[float, float] | None, int]:
    """The range of values to show, and how many first epochs it does not hold in full; None without any line.

    Only the side on which runs begin is cut: a peak among the first epochs stays in sight.
    """
    if not lines:
        return None, 0
    first = np.ceil(_FIRST * max(float(line.band.x[-1]) for line in lines))
    x, low, high = (np.concatenate(parts) for parts in zip(*(_reach(line, shown) for line in lines), strict=True))
    late = x > first
    bottom, top = float(low.min()), float(high.max())
    if late.any() and not whole:
        began = float(np.median([line.band.mean[0] for line in lines]))
        settled_bottom, settled_top = float(low[late].min()), float(high[late].max())
        cut = [began < settled_bottom, began > settled_top]
        new_bottom, new_top = (settled_bottom if cut[0] else bottom), (settled_top if cut[1] else top)
        marks = [line.mark[1] for line in lines if line.selected is not None]
        new_bottom, new_top = min([new_bottom, *marks]), max([new_top, *marks])
        if new_top > new_bottom and top - bottom > _STRETCH * (new_top - new_bottom):
            bottom, top = new_bottom, new_top
    outside = x[(low < bottom) | (high > top)]
    room = 0.06 * ((top - bottom) or abs(top) or 1.0)
    bottom, top = bottom - room, top + room
    if percent:
        bottom, top = max(bottom, 0.0), min(top, 1.0)
    return (bottom, top), int(outside.max()) if len(outside) else 0


def _reach(line: _Line, shown: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Epochs, and the lowest and highest that is drawn at each."""
    b, spread = line.drawn, line.drawn.std if shown else 0.0
    low, high = np.minimum(line.band.mean, b.mean - spread), np.maximum(line.band.mean, b.mean + spread)
    return b.x.astype(float), low, high


def _draw(fig: go.Figure, line: _Line, shown: bool, faint: bool, percent: bool, limits: tuple[float, float]) -> None:
    """Band (within limits), measured line, drawn line, diamond; all go with the line's entry in the legend."""
    b, group = line.drawn, {"legendgroup": line.band.name, "name": line.band.name}
    if shown and (b.n > 1).any():
        low, high = np.clip([b.mean - b.std, b.mean + b.std], *limits)
        fig.add_scatter(
            x=np.concatenate([b.x, b.x[::-1]]),
            y=np.concatenate([high, low[::-1]]),
            fill="toself",
            fillcolor=_faded(line.color, _BAND),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            **group,
        )
    if faint:
        theme.line(fig, b.x, line.band.mean, _faded(line.color, _RAW), 1, showlegend=False, **group)
    times, form, unit = (100, ".1f", " %") if percent else (1, ".4g", "")
    measured = f"<br>as measured %{{customdata[2]:{form}}}{unit}" if faint else ""
    spread = theme.spreads(times * b.std, b.n, "seed", form, unit)
    fig.add_scatter(
        x=b.x,
        y=b.mean,
        mode="lines" if len(b.x) > 1 else "markers",
        line={"color": line.color, "width": 2, "dash": line.dash},
        marker={"color": line.color},
        customdata=np.stack([spread, times * b.mean, times * line.band.mean], 1),
        hovertemplate=f"<b>{b.name}</b>, epoch %{{x}}<br>%{{customdata[1]:{form}}}{unit}%{{customdata[0]}}{measured}"
        "<extra></extra>",
        **group,
    )
    if line.selected is not None:
        at, value = line.mark
        hover = f"<b>{b.name}</b><br>selected epochs {', '.join(str(int(e)) for e in line.selected)}"
        look = {"marker_symbol": "diamond", "marker_line": {"width": 1.5, "color": "white"}, "size": 10}
        dots(fig, [at], [value], line.color, hover, showlegend=False, **look, **group)


def _name_ends(
    fig: go.Figure, lines: Sequence[_Line], window: tuple[float, float], log_epochs: bool, log_values: bool
) -> None:
    """Every run's name at the end of its line, moved apart where ends are close, and joined to it."""
    bottom, top = np.log10(window) if log_values else window
    gap = _LINE * (top - bottom) / max(_PLOT, _LINE * len(lines))
    ends = np.array([line.drawn.mean[-1] for line in lines])
    ends = np.clip(np.log10(ends) if log_values else ends, bottom + gap / 2, top - gap / 2)
    beside = max(float(line.band.x[-1]) for line in lines) * (_BESIDE**2 if log_epochs else _BESIDE)
    for line, end, place in zip(lines, ends, _spread_out(ends, gap, top - gap / 2), strict=True):
        ends_at = [10**end, 10**place] if log_values else [end, place]
        theme.line(fig, [float(line.band.x[-1]), beside], ends_at, line.color, 1, "dot", name=line.band.name)
        fig.add_annotation(
            x=np.log10(beside) if log_epochs else beside,
            y=place,
            text=f"<span style='color:{line.color}'>●</span> {theme.short(line.band.name, _LONG)}",
            font={"size": 12},
            showarrow=False,
            xanchor="left",
        )
    longest = max(min(len(line.band.name), _LONG) for line in lines)
    fig.update_layout(margin_r=30 + round(6.6 * longest))
    first, last = fig.layout.xaxis.range
    fig.update_xaxes(range=[first, max(last, np.log10(beside) if log_epochs else beside)])


def _spread_out(ends: FloatArray, gap: float, top: float) -> FloatArray:
    """Places at or near the ends, a gap apart or more, none above the top."""
    order, k = np.argsort(ends, kind="stable"), np.arange(len(ends))
    placed = np.empty_like(ends)
    raised = np.maximum.accumulate(ends[order] - gap * k) + gap * k
    placed[order] = np.minimum(raised, top - gap * k[::-1])
    return placed


def _faded(color: str, opacity: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def search_history(
    trials: pd.DataFrame,
    method: str,
    score: str = "validation_accuracy",
    words: str = "validation accuracy",
    *,
    title: str = "Trials",
    subtitle: str = "line: the best so far",
) -> go.Figure:
    """Plot the validation score of every trial, and the best so far.

    Args:
        trials: a row per trial: trial (from 1), run, state, its score (NaN while unknown), best, then its settings.
        method: gives the colour.
        score: its column.
        words: its name; all but errors are shares.
    """
    fig = theme.figure(title=title, subtitle=subtitle)
    color, share = theme.method_color(method), not score.endswith("rmse")
    known = trials.dropna(subset=score)
    names = [c for c in trials.columns if c not in {"trial", "run", "state", score, "best"}]
    settings = ["<br>".join(f"{n} {_short(row[n])}" for n in names) for _, row in known.iterrows()]
    theme.line(fig, known["trial"], known["best"], color, line_shape="hv")
    about = np.array([settings, [f"{100 * v:.2f} %" if share else f"{v:.4g}" for v in known[score]]], object).T
    hover = "<b>trial %{x}</b>: %{customdata[1]}<br>%{customdata[0]}"
    dots(fig, known["trial"], known[score], color, hover, about, size=8)
    fig.update_xaxes(title="trial", showgrid=False, rangemode="tozero")
    fig.update_yaxes(title=words, **(theme.PERCENT if share else {}))
    return fig.update_layout(showlegend=False, height=360)


def search_importance(
    shares: Mapping[str, float],
    method: str,
    *,
    title: str = "Which settings matter",
    subtitle: str = "share of the variance of the validation score (fANOVA)",
) -> go.Figure:
    """Draw a bar per setting.

    Args:
        shares: setting -> share, they sum to 1.
        method: gives the colour.
    """
    ordered = sorted(shares.items(), key=lambda item: item[1])
    bars = go.Bar(
        x=[share for _, share in ordered],
        y=[name.replace("_", " ") for name, _ in ordered],
        orientation="h",
        marker={"color": theme.method_color(method)},
        customdata=[100 * share for _, share in ordered],
        hovertemplate="<b>%{y}</b>: %{customdata:.1f} %<extra></extra>",
    )
    fig = theme.figure(bars, title=title, subtitle=subtitle, showlegend=False, height=360)
    fig.update_xaxes(**theme.PERCENT, rangemode="tozero")
    return fig.update_yaxes(showgrid=False)


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value), quote=False)
