"""Confusions recovered by a run, beside the truth of a simulation, the observed ones, or another run's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.recovered import EACH, RunView, observed, recovered, recovered_in_words, shares
from crowdcore.exhibits.view import View, cached
from crowdcore.figures.theme import Scale


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
    every, n, called = [confusions(view, of) for of in sources], view.dataset.n_classes, who_names(view)[who]
    n_labels = view.dataset.n_annotations if who < 0 else int(view.dataset.labels_per_worker[who])
    columns = 2 if len(sources) in {2, 4} else 3
    figure = figures.confusion_grid(
        _stack(every, who, "common", "matrices", n),
        [escaped(c) for c in view.classes],
        names=[escaped(_matrix_title(c, of, beside)) for c, of in zip(every, sources, strict=True)],
        below=[error_in_words(view, of, who) for of in sources],
        columns=columns,
        spread=_stack(every, who, "common_spread", "spread", n),
        counts=_stack(every, who, "common_counts", "counts", n),
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

    alt = f"{_owner(called, who)}, from every source on one colour scale: true classes downwards"
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
        beside: another run that is shown beside, so that titles name the run.
        scale: of the colours.
    """
    source = view if source is None else source
    shown, called = confusions(view, source), who_names(view)[who]
    matrix = pick(shown, who)
    if matrix is None:
        return None
    title = f"{called}: {_matrix_title(shown, source, beside)}"
    if source == "observed" and who < 0:
        title += ", labels that it explains" if commons(view) else ", all workers"
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
    alt = f"{_owner(called, who)}: true classes downwards, given labels to the right"
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
    pair = [confusions(view, of) for of in (view, other)]
    matrix, compared = (pick(of, who) for of in pair)
    if matrix is None or compared is None:
        return None
    figure = figures.confusion(
        [matrix, compared],
        [escaped(c) for c in view.classes],
        difference="only",
        dark=dark,
        title="Difference",
        subtitle=escaped(" − ".join(of.title for of in pair)),
    )
    table = cells(view.classes, share=matrix, beside=compared, difference=matrix - compared)
    alt = "The run's confusion minus the other one"
    return Exhibit("confusion-difference", "Difference", figure, table, (), alt, view.clicked)


def every_confusion(view: RunView) -> Exhibit:
    """All cells of all matrices of a run, as a table."""
    confusions = view.renamed(recovered(view))

    def table() -> pd.DataFrame:
        return view.in_order(confusions.matrices_frame(), "who")

    return Exhibit("confusions", f"Every worker's confusion by {view.run_name}", None, table)


def largest_mistake(view: RunView, shown: Sequence[int], beside: RunView | None = None) -> float:
    """Largest share off the diagonal of these matrices from all sources: the end of their colours without it."""
    sources = [confusions(view, source) for source in side_by_side(view, beside)]
    matrices = [m for number in shown for source in sources if (m := pick(source, number)) is not None]
    off = ~np.eye(view.dataset.n_classes, dtype=bool)
    return max((float(np.nan_to_num(m[off]).max()) for m in matrices), default=1.0) or 1.0


@cached
def largest_confusions(view: RunView) -> Exhibit:
    """The largest confusions in the labels, and which a run recovered; one a row. A click on a row chooses the cell.

    Recovered is what lies within the interval of the labels' share. The run's share of all labels is compared with
    that in all labels, its common confusion with that in the labels that it explains.
    """
    largest = shares(view)
    table = (largest if view.shown_seed is None else shares(replace(view, seed=view.shown_seed))).frame()
    pairs = [(int(a), int(b)) for a, b in largest.cells]
    table.insert(2, "tasks", [len(tasks_behind(view, a, b)) for a, b in pairs])
    truth = confusions(view, "truth").common if has_truth(view) else None
    if truth is not None and len(truth) == 1 and "common" in table:
        table["true common"] = truth[0][largest.cells[:, 0], largest.cells[:, 1]]
    notes = recovered_in_words(view, largest) if pairs else ()
    title = "Largest confusions"
    return Exhibit("largest-confusions", title, None, table, notes, click=lambda row: view.clicked(*pairs[row]))


def tasks_behind(view: View, true: int, given: int, worker: int | None = None) -> IntArray:
    """Tasks of a true class that a worker, or anyone, gave a label."""
    data = view.dataset
    rows = (data.label == given) & (view.truth.labels[data.task] == true)
    if worker is not None:
        rows &= data.worker == worker
    return np.unique(data.task[rows])


def _owner(called: str, number: int) -> str:
    return called if number < 0 else f"Confusion of {called}"


def _matrix_title(of: Confusions, source: Source, beside: RunView | None) -> str:
    """Title of a matrix; with two runs, their names."""
    if beside is not None and isinstance(source, RunView):
        return source.run_name + ("" if of.name == "learnt" else f", {of.name}")
    return of.name


def _stack(sources: Sequence[Confusions], number: int, common: str, own: str, n: int) -> FloatArray:
    matrices = [pick(source, number, common, own) for source in sources]
    return np.stack([np.full((n, n), np.nan) if m is None else m for m in matrices])


def _table(view: RunView, sources: Sequence[Source], number: int, called: str) -> pd.DataFrame:
    """Matrices side by side: source, who, true, given, share, share_std, annotations, low and high (95 %)."""
    frames = []
    for confusion in (confusions(view, source) for source in sources):
        matrix = pick(confusion, number)
        if matrix is None:
            continue
        frame = cells(view.classes, share=matrix)
        frame.insert(0, "source", confusion.title)
        frame.insert(1, "who", called)
        spread, counts = (pick(confusion, number, f"common_{key}", key) for key in ("spread", "counts"))
        if spread is not None and np.isfinite(spread).any():
            frame["share_std"] = spread.ravel()
        if counts is not None:
            frame["annotations"] = counts.ravel()
        if confusion.ends is not None and number >= 0:
            frame["low"], frame["high"] = (end[number].ravel() for end in confusion.ends)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


Source: TypeAlias = RunView | Literal["truth", "observed"]
SORTS = {
    "annotations": "Most labels",
    "skilled": "Most skilled",
    "unskilled": "Least skilled",
    "far": "Farthest from common",
    "near": "Nearest to common",
    "common": "Most common noise",
    "own": "Least common noise",
}
"""Orders of workers, in words."""
_MANY_CLASSES = 20
_PER_PAGE, _PER_PAGE_OF_MANY = 5, 2


class Confusions(NamedTuple):
    """Confusions by one source; parts that it lacks are None.

    Args:
        name: of the source, in a word or two.
        title: name with the run, its seeds or its reference.
        matrices: (R, C, C) of the workers.
        spread: (R, C, C) over seeds.
        counts: (R, C, C) annotations behind them, of a run the expected ones.
        ends: lower and upper ends (R, C, C) of a run's 95 % intervals.
        common: (G, C, C) common ones; of the labels, of those that the run's common confusion explains, or of all.
        common_spread: of ``common``.
        common_counts: of ``common``.
    """

    name: str
    title: str
    matrices: FloatArray
    spread: FloatArray | None
    counts: FloatArray | None
    common: FloatArray | None
    common_spread: FloatArray | None
    common_counts: FloatArray | None
    ends: tuple[FloatArray, FloatArray] | None = None


def has_truth(view: View) -> bool:
    """Return whether a simulation states the confusions that generated the labels."""
    return view.dataset.truth is not None and view.dataset.truth.worker_confusion is not None


def side_by_side(view: RunView, beside: RunView | None = None) -> list[Source]:
    """Sources to compare: the truth if known, the run or each of its seeds, the labels, another run."""
    truth: list[Source] = ["truth"] if has_truth(view) else []
    return [*truth, *view.one_by_one(), "observed", *([] if beside is None else [beside])]


def confusions(view: RunView, source: Source) -> Confusions:
    """The confusions of a run, of the labels, or of the truth.

    Args:
        view: its ``part`` chooses the true confusions: of a worker's own labels, or of all.
        source: a run, ``truth`` or ``observed``.
    """
    if source == "observed":
        seen = observed(view)
        crowd = seen.crowd[None], None, seen.crowd_counts[None]
        if (explained := shares(view).common_labels) is not None:  # a common confusion explains some labels only
            share, counts = (np.mean([getattr(part, name) for part in explained], 0) for name in ("share", "counts"))
            crowd = share[None], None, counts[None]
        return Confusions(
            "observed", f"observed, reference: {view.reference}", seen.matrices, None, seen.counts, *crowd
        )
    if source == "truth":
        truth = view.dataset.truth
        assert truth is not None
        common = truth.common_confusion
        several = common if common is None or common.ndim == 3 else common[None]
        own = _true(view.dataset, view.part)
        return Confusions("truth", "truth of the simulation", own, None, None, several, None, None)
    fit = recovered(source)
    common, around = (
        part if part is None or part.ndim == 3 else part[None] for part in (fit.common, fit.common_spread)
    )
    name = "learnt" if source.shown_seed is None else f"seed {source.shown_seed}"
    title = f"{source.run_name}, {fit.combined}"
    return Confusions(name, title, fit.matrices, fit.spread, fit.counts, common, around, None, fit.interval())


@cached
def _true(dataset: CrowdDataset, part: str) -> FloatArray:
    """(R, C, C) the workers' confusions that generated a simulated crowd."""
    truth = dataset.truth
    assert truth is not None
    own = truth.worker_confusion
    assert own is not None
    if part == "own":
        return own
    mixed = analysis.effective_confusion(dataset, own, truth.common_confusion, truth.omega, truth.group)
    return np.where(np.isnan(mixed), own, mixed)


def pick(of: Confusions, number: int, common: str = "common", own: str = "matrices") -> FloatArray | None:
    """A matrix of a source (-1 - g is a common one, others are workers), or its spread, or its counts."""
    values = getattr(of, common if number < 0 else own)
    if values is None or (number < 0 and -1 - number >= len(values)):
        return None
    return np.asarray(values[-1 - number if number < 0 else number], np.float64)


def commons(view: RunView) -> list[str]:
    """Names of the common confusions of a run; empty without any."""
    common = recovered(view).common
    if common is None or (common.ndim == 3 and view.seed == EACH):  # groups differ between seeds
        return []
    if common.ndim == 2:
        return ["Common confusion"]
    return [f"Common confusion {g + 1}" for g in range(len(common))]


def who_names(view: RunView) -> dict[int, str]:
    """Name of each matrix of a run: the common confusions (-1 - g), then the workers."""
    workers = {view.worker_number(name): name for name in view.listed}
    return {-1 - g: name for g, name in enumerate(commons(view))} | workers


def sorts(view: RunView) -> dict[str, str]:
    """Orders that a run's workers can be shown in -> words."""
    recovery = recovered(view)
    without = ({"far", "near"} if recovery.distance is None else set()) | (
        {"common", "own"} if recovery.common_share is None else set()
    )
    return {key: words for key, words in SORTS.items() if key not in without}


def order(view: RunView, sort: str) -> IntArray:
    """(R,) workers in an order of `SORTS`; those without the number last."""
    recovery = recovered(view)
    values = {
        "skilled": recovery.skill,
        "unskilled": recovery.skill,
        "far": recovery.distance,
        "near": recovery.distance,
        "common": recovery.common_share,
        "own": recovery.common_share,
    }.get(sort)
    if values is None:
        return np.argsort(-recovery.n_annotations, kind="stable")
    signed = values if sort in {"unskilled", "near", "own"} else -values
    return np.lexsort((-recovery.n_annotations, np.where(np.isnan(signed), np.inf, signed)))


def pages(view: RunView, sort: str) -> list[list[int]]:
    """Workers by page, as many as the papers show beside the common confusion."""
    workers = order(view, sort).tolist()
    per_page = _PER_PAGE if view.dataset.n_classes <= _MANY_CLASSES else _PER_PAGE_OF_MANY
    return [workers[k : k + per_page] for k in range(0, len(workers), per_page)]


@cached
def errors(view: RunView, source: Source) -> tuple[FloatArray, FloatArray]:
    """(R,) and (G,) errors of a source's matrices, from the truth where there is one, else from the observed ones."""
    basis: Source = "truth" if has_truth(view) else "observed"
    shown, compared = confusions(view, source), confusions(view, basis)
    none = np.full(len(shown.matrices), np.nan)
    if source == basis:
        return none, none
    alike = view.part != "own" or "observed" not in (source, basis)  # labels show no worker's own part
    own = analysis.confusion_error(shown.matrices, compared.matrices) if alike else none
    if shown.common is None or compared.common is None or len(compared.common) > 1:  # groups cannot be matched
        return own, none
    if source == "observed" and has_truth(view):  # labels show no common confusion by itself
        return own, none
    return own, analysis.confusion_error(shown.common, compared.common)


def error_in_words(view: RunView, source: Source, number: int) -> str:
    """Caption of a matrix with its error; empty without a comparison."""
    own, common = errors(view, source)
    if number < 0 and confusions(view, source).common is None:
        return "no common confusion"
    value = float(own[number] if number >= 0 else common[-1 - number])
    return "" if value != value else f"{'error' if has_truth(view) else 'distance'} {value:.4f}"


def errors_in_words(view: RunView) -> str:
    """Sentence about the meaning of the errors and their means over workers."""
    some = view.dataset.labels_per_worker > 0
    means = {}
    for source in side_by_side(view):
        own = errors(view, source)[0][some]
        if not np.isnan(own).all():
            means[confusions(view, source).name] = float(np.nanmean(own))
    kind, basis = ("Error", "the simulation's truth") if has_truth(view) else ("Distance", "the observed one")
    listed = ", ".join(f"{words} {value:.4f}" for words, value in means.items())
    mean = f" Mean over {int(some.sum())} workers: {listed}." if listed else ""
    if basis == "the observed one" and shares(view).common_labels is not None:
        basis += " (of a common confusion: from the labels that it explains)"
    return f"{kind}: mean over the rows of the squared distance from {basis}.{mean}"
