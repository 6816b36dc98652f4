"""Confusions that a run recovered, beside the truth of a simulation, what the labels show, or another run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.core.drawable import escaped
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.exhibits.confusion_sources import (
    Confusions,
    Source,
    commons,
    confusions,
    error_in_words,
    has_truth,
    pick,
    side_by_side,
    who_names,
)
from crowdcore.exhibits.exhibit import Exhibit, cells
from crowdcore.exhibits.recovered import RunView, recovered
from crowdcore.exhibits.view import View, cached
from crowdcore.figures.colors import Scale


@cached
def confusion_grid(
    view: RunView,
    who: int = -1,
    beside: RunView | None = None,
    scale: Scale = "linear",
    largest_mistake: float | None = None,
) -> Exhibit:
    """One worker's confusion, or (-1 - g) a common one: truth, learnt and observed side by side, errors beneath.

    A click chooses the matrix and its cell.

    Args:
        who: number of the worker, or of a common confusion.
        beside: another run.
        scale: of the colours.
        largest_mistake: leaves the diagonal out; colours end at this share.
    """
    sources = side_by_side(view, beside)
    found, n, called = [confusions(view, of) for of in sources], view.dataset.n_classes, who_names(view)[who]
    n_labels = view.dataset.n_annotations if who < 0 else int(view.dataset.labels_per_worker[who])
    columns = 2 if len(sources) in {2, 4} else 3
    figure = figures.confusion_grid(
        _stack(found, who, "common", "matrices", n),
        [escaped(c) for c in view.classes],
        names=[escaped(_named(c, of, beside)) for c, of in zip(found, sources, strict=True)],
        below=[error_in_words(view, of, who) for of in sources],
        columns=columns,
        spread=_stack(found, who, "common_spread", "spread", n),
        counts=_stack(found, who, "common_counts", "counts", n),
        diagonal=largest_mistake is None,
        scale=scale,
        scale_max=1.0 if largest_mistake is None else largest_mistake,
        title=escaped(called),
        subtitle=f"{n_labels:,} label{'' if n_labels == 1 else 's'}" + (", of all workers" if who < 0 else ""),
    )

    def click(row: int, column: int) -> dict[str, str]:
        place = figures.grid_cell(row, column, n, columns)
        if place is None or place[0] >= len(sources):
            return {}
        return {"worker": called, "true": view.classes[place[1]], "given": view.classes[place[2]]}

    alt = f"{_whose(called, who)}, from every source on one colour scale: true classes downwards"
    return Exhibit(f"confusion-{called}", called, figure, lambda: _table(view, sources, who, called), (), alt, click)


@cached
def recovered_confusion(
    view: RunView,
    who: int = -1,
    source: Source | None = None,
    beside: RunView | None = None,
    scale: Scale = "linear",
) -> Exhibit | None:
    """One matrix with its numbers, or None where the source has none; a click chooses the cell.

    Args:
        who: number of the worker, or (-1 - g) of a common confusion.
        source: whose matrix; default: the run's.
        beside: another run, from which the matrix's name tells it.
        scale: of the colours.
    """
    source = view if source is None else source
    shown, called = confusions(view, source), who_names(view)[who]
    matrix = pick(shown, who)
    if matrix is None:
        return None
    title = f"{called}: {_named(shown, source, beside)}"
    if source == "observed" and who < 0:
        title += ", all workers"
    figure = figures.confusion(
        matrix,
        [escaped(c) for c in view.classes],
        counts=pick(shown, who, "common_counts", "counts"),
        spread=pick(shown, who, "common_spread", "spread"),
        scale_max=1.0,
        scale=scale,
        title=escaped(title),
        subtitle=escaped(" · ".join(filter(None, [shown.title, error_in_words(view, source, who)]))),
    )
    alt = f"{_whose(called, who)}: true classes downwards, given labels to the right"
    of = source
    return Exhibit(f"confusion-{called}", title, figure, lambda: _table(view, [of], who, called), (), alt, view.clicked)


@cached
def confusion_difference(
    view: RunView, who: int = -1, beside: RunView | None = None, *, dark: bool = False
) -> Exhibit | None:
    """The run's matrix minus that of the other run, else the truth's, else the observed one.

    Rows that either lacks stay empty; None where either has no such matrix. A click chooses the cell.
    """
    other: Source = beside or ("truth" if has_truth(view) else "observed")
    found = [confusions(view, of) for of in (view, other)]
    matrix, compared = (pick(of, who) for of in found)
    if matrix is None or compared is None:
        return None
    figure = figures.confusion(
        [matrix, compared],
        [escaped(c) for c in view.classes],
        difference="only",
        dark=dark,
        title="Difference",
        subtitle=escaped(" − ".join(of.title for of in found)),
    )
    table = cells(view.classes, share=matrix, beside=compared, difference=matrix - compared)
    alt = "The run's confusion minus the other one"
    return Exhibit("confusion-difference", "Difference", figure, table, (), alt, view.clicked)


def every_confusion(view: RunView) -> Exhibit:
    """Every cell of every matrix of a run, as a table."""
    found = view.renamed(recovered(view))

    def table() -> pd.DataFrame:
        return view.in_order(found.matrices_frame(), "who")

    return Exhibit("confusions", f"Every worker's confusion by {view.run_name}", None, table)


def largest_mistake(view: RunView, shown: Sequence[int], beside: RunView | None = None) -> float:
    """The largest share off the diagonal of these matrices from all sources: where their colours end without it."""
    sources = [confusions(view, of) for of in side_by_side(view, beside)]
    found = [m for who in shown for of in sources if (m := pick(of, who)) is not None]
    off = ~np.eye(view.dataset.n_classes, dtype=bool)
    return max((float(np.nan_to_num(m[off]).max()) for m in found), default=1.0) or 1.0


@cached
def largest_confusions(view: RunView) -> Exhibit:
    """The largest confusions that a run recovered for all workers, beside those of the labels; one a row.

    Those of the run's common confusion, or where it has none of the mean over workers by their labels. A click on a
    row chooses the cell.
    """
    learnt, seen = confusions(view, view), confusions(view, "observed").common
    one_common = learnt.common is not None and len(learnt.common) == 1
    if learnt.common is not None and one_common:
        shared = learnt.common[0]
    else:
        shared = np.average(learnt.matrices, axis=0, weights=view.dataset.labels_per_worker)
    assert seen is not None
    found = analysis.largest_confusions(shared, seen[0], view.classes)
    true, given = found.recovered.T if len(found.recovered) else np.empty((2, 0), np.int64)
    classes = np.array(view.classes, object)
    columns: dict[str, object] = {
        "true": classes[true],
        "given": classes[given],
        "tasks": [len(tasks_behind(view, a, b)) for a, b in zip(true, given, strict=True)],
        "share": found.recovered_share[true, given],
        "observed share": found.observed_share[true, given],
    }
    truth = confusions(view, "truth").common if has_truth(view) else None
    if truth is not None and len(truth) == 1:
        columns["true share"] = truth[0][true, given]
    whose = "The model's common confusion" if commons(view) else "The workers' mean confusion"
    whose += f" ({recovered(view).combined})"
    n, own = len(found.observed), len(found.recovered)
    words = f"{whose}: its {own} largest confusions."
    if n:
        words = (
            f"{whose} has {found.both} of the {n} largest confusions that the labels show among its own {own} largest:"
        )

    def click(row: int) -> dict[str, str]:
        return {"true": view.classes[true[row]], "given": view.classes[given[row]]}

    return Exhibit("largest-confusions", "Largest confusions", None, pd.DataFrame(columns), (words,), "", click)


def tasks_behind(view: View, true: int, given: int, worker: int | None = None) -> IntArray:
    """Tasks of a true class that a worker, or anyone, gave a label."""
    data = view.dataset
    rows = (data.label == given) & (view.truth.labels[data.task] == true)
    if worker is not None:
        rows &= data.worker == worker
    return np.unique(data.task[rows])


def _whose(called: str, who: int) -> str:
    return called if who < 0 else f"Confusion of {called}"


def _named(of: Confusions, source: Source, beside: RunView | None) -> str:
    """What a matrix is called; two runs go by their names."""
    if beside is not None and isinstance(source, RunView):
        return source.run_name + ("" if of.name == "learnt" else f", {of.name}")
    return of.name


def _stack(found: Sequence[Confusions], who: int, common: str, own: str, n: int) -> FloatArray:
    matrices = [pick(of, who, common, own) for of in found]
    return np.stack([np.full((n, n), np.nan) if m is None else m for m in matrices])


def _table(view: RunView, sources: Sequence[Source], who: int, called: str) -> pd.DataFrame:
    """Matrices side by side: source, who, true, given, share, share_std, annotations."""
    frames = []
    for of in (confusions(view, source) for source in sources):
        matrix = pick(of, who)
        if matrix is None:
            continue
        frame = cells(view.classes, share=matrix)
        frame.insert(0, "source", of.title)
        frame.insert(1, "who", called)
        spread, counts = (pick(of, who, f"common_{key}", key) for key in ("spread", "counts"))
        if spread is not None and np.isfinite(spread).any():
            frame["share_std"] = spread.ravel()
        if counts is not None:
            frame["annotations"] = counts.ravel()
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
