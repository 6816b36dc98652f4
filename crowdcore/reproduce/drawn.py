"""Figures of reproductions, drawn by the exhibits and figures that pages show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import plotly.graph_objects as go

from crowdcore import analysis, exhibits, figures
from crowdcore.analysis.recovery.seeds import band, seeds_in_words
from crowdcore.core.drawable import escaped
from crowdcore.core.types import FloatArray
from crowdcore.exhibits import Exhibit, View
from crowdcore.exhibits.recovered import RunView, of_run
from crowdcore.figures import theme
from crowdcore.learning.comparison.summary import curve_bands
from crowdcore.learning.recovery.study import learnt_of, true_effective
from crowdcore.reproduce.entry import Found, Measure

Draw: TypeAlias = Callable[[Sequence[Found]], Mapping[str, go.Figure]]
_WORKERS = 3  # of those that made most annotations


def _by_column(found: Sequence[Found], measure: Measure | None = None) -> dict[str, list[Found]]:
    columns: dict[str, list[Found]] = {}
    for one in found:
        if (one.result is not None) if measure is None else (measure in one.ours):
            columns.setdefault(one.part.column, []).append(one)
    return columns


def along(x: str, measure: Measure) -> Draw:
    """Accuracy of every row along what varies, a figure per column."""

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for column, those in _by_column(found, measure).items():
            bands = []
            for row in dict.fromkeys(one.part.row for one in those):
                points = [one for one in those if one.part.row == row]
                at = np.array([one.part.at for one in points], np.float64)
                bands.append(band(row, points[0].part.method, at, [one.ours[measure] / 100 for one in points]))
            drawn[column] = figures.accuracy_along(bands, x, title=measure.title.capitalize(), subtitle=column)
        return drawn

    return draw


def dots(measure: Measure) -> Draw:
    """Every seed of every row, a figure per column."""

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for column, those in _by_column(found, measure).items():
            values = [one.ours[measure] / 100 for one in those]
            bands = [band(one.part.row, one.part.method, [0], [v]) for one, v in zip(those, values, strict=True)]
            subtitle = f"{column} · {seeds_in_words(map(len, values))}"
            drawn[column] = figures.seed_accuracies(values, bands, title=measure.title.capitalize(), subtitle=subtitle)
        return drawn

    return draw


def matrices(average: bool = False) -> Draw:
    """True confusions, of simulated crowds, or observed ones beside the learnt ones of the first seed.

    Args:
        average: draw the mean over the workers; else the common confusion and the busiest workers.
    """

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for one in found:
            if one.result is None or one.dataset is None or (learnt := learnt_of(one.result, one.dataset)).own is None:
                continue
            ds = one.dataset
            truth, own = ds.truth, learnt.own[0]
            known = truth is not None and truth.worker_confusion is not None
            real = truth.worker_confusion if known and truth else analysis.worker_confusion(ds, "gold").matrices
            assert real is not None
            pairs: list[tuple[str, FloatArray]] = []
            if average:
                pairs += [("mean<br>true", np.nanmean(real, 0)), ("mean<br>learnt", own.mean(0))]
            else:
                if learnt.common is not None:
                    if truth is not None and truth.common_confusion is not None:
                        pairs.append(("common<br>true", truth.common_confusion))
                    pairs.append(("common<br>learnt", learnt.common[0]))
                for r in np.argsort(-ds.labels_per_worker, kind="stable")[:_WORKERS]:
                    name = f"worker {r + 1}"
                    pairs += [(f"{name}<br>{'true' if known else 'seen'}", real[r]), (f"{name}<br>learnt", own[r])]
            name = f"{one.part.row}, {one.part.column}" + (f", {one.part.at:g}" if one.part.at is not None else "")
            first = 4 - len(pairs) % 2  # no pair is torn apart where the common confusion stands alone
            parts = [pairs[:first], *(pairs[k : k + 4] for k in range(first, len(pairs), 4))]
            for k, part in enumerate(parts, 1):
                drawn[name + (f" ({k})" if len(parts) > 1 else "")] = figures.confusion(
                    [matrix for _, matrix in part],
                    [escaped(c) for c in ds.classes],
                    names=[called for called, _ in part],
                    scale_max=1.0,
                    title="Confusions",
                    subtitle=escaped(name),
                )
        return drawn

    return draw


def curves(metric: str, words: str) -> Draw:
    """A metric of every row by epoch, a figure per column."""

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for column, those in _by_column(found).items():
            bands = curve_bands({one.part.row: one.result for one in those if one.result is not None}, metric)
            if bands:
                drawn[column] = figures.learning_curves(bands, words, title=words, subtitle=column)
        return drawn

    return draw


def of_dataset(exhibit: Callable[[View], Exhibit]) -> Draw:
    """An exhibit of each column's dataset, by gold, under pseudonyms."""

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        seen = {one.part.column: one.dataset for one in found if one.dataset is not None}
        drawn = {name: exhibit(exhibits.view(ds, "gold", hidden=True)).figure for name, ds in seen.items()}
        return {name: _of(name, figure) for name, figure in drawn.items() if figure is not None}

    return draw


def of_result(exhibit: Callable[[RunView], Exhibit]) -> Draw:
    """An exhibit of each column's run, by gold, under pseudonyms."""

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for column, those in _by_column(found).items():
            one = those[0]
            assert one.dataset is not None and one.result is not None
            seen = exhibits.view(one.dataset, "gold", hidden=True)
            figure = exhibit(of_run(seen, one.result, one.part.row)).figure
            if figure is not None:
                drawn[column] = _of(column, figure)
        return drawn

    return draw


def _of(column: str, figure: go.Figure) -> go.Figure:
    """A copy of a figure whose subtitle begins with the column that it is of."""
    said = figure.layout.title.subtitle.text
    return theme.copied(figure).update_layout(title_subtitle_text=" · ".join([column, *([said] if said else [])]))


def scatter(weights: Callable[[Found], FloatArray], words: str) -> Draw:
    """What a run learnt of each worker and class against the diagonal of the true confusion.

    Args:
        weights: (R·C,) of a run.
        words: what they are.
    """

    def draw(found: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for column, those in _by_column(found).items():
            one = those[0]
            truth = None if one.dataset is None else true_effective(one.dataset)
            if truth is None:
                continue
            figure = theme.figure(
                go.Scatter(x=np.diagonal(truth, axis1=1, axis2=2).ravel(), y=weights(one), mode="markers"),
                title=words,
                subtitle=f"{column}, first seed; a point per worker and class",
            )
            drawn[column] = figure.update_xaxes(title="true sensitivity or specificity").update_yaxes(title=words)
        return drawn

    return draw
