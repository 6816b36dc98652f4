"""Sources of confusions that stand side by side: a run or its seeds, the labels, the truth of a simulation."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from crowdcore import analysis
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.recovered import EACH, RunView, observed, recovered
from crowdcore.exhibits.view import View, cached

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
        name: what the source is, in a word or two.
        title: the same with its run, its seeds or its reference.
        matrices: (R, C, C) of the workers.
        spread: (R, C, C) over seeds.
        counts: (R, C, C) annotations behind them.
        common: (G, C, C) what workers share; of the labels, those of all workers together.
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


def has_truth(view: View) -> bool:
    """Whether a simulation says which confusions generated the labels."""
    return view.dataset.truth is not None and view.dataset.truth.worker_confusion is not None


def side_by_side(view: RunView, beside: RunView | None = None) -> list[Source]:
    """What stands side by side: the truth if it is known, the run or each of its seeds, the labels, another run."""
    truth: list[Source] = ["truth"] if has_truth(view) else []
    return [*truth, *view.one_by_one(), "observed", *([] if beside is None else [beside])]


def confusions(view: RunView, source: Source) -> Confusions:
    """The confusions of a run, of the labels, or of the truth.

    Args:
        view: says of which part of a worker's labels the truth is shown.
        source: a run or one of the others.
    """
    if source == "observed":
        seen = observed(view)
        crowd = seen.crowd[None], None, seen.crowd_counts[None]
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
    found = recovered(source)
    common, around = (
        part if part is None or part.ndim == 3 else part[None] for part in (found.common, found.common_spread)
    )
    name = "learnt" if source.shown_seed is None else f"seed {source.shown_seed}"
    title = f"{source.run_name}, {found.combined}"
    return Confusions(name, title, found.matrices, found.spread, None, common, around, None)


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


def pick(of: Confusions, who: int, common: str = "common", own: str = "matrices") -> FloatArray | None:
    """A matrix of a source (-1 - g is a common one, others are workers), or its spread, or its counts."""
    values = getattr(of, common if who < 0 else own)
    if values is None or (who < 0 and -1 - who >= len(values)):
        return None
    return np.asarray(values[-1 - who if who < 0 else who], np.float64)


def commons(view: RunView) -> list[str]:
    """What the common confusions of a run are called; empty where it has none to show."""
    common = recovered(view).common
    if common is None or (common.ndim == 3 and view.seed == EACH):  # groups of two seeds are not the same groups
        return []
    if common.ndim == 2:
        return ["Common confusion"]
    return [f"Common confusion {g + 1}" for g in range(len(common))]


def who_names(view: RunView) -> dict[int, str]:
    """What each matrix of a run is called: the common confusions (-1 - g), then the workers."""
    workers = {view.worker_number(name): name for name in view.listed}
    return {-1 - g: name for g, name in enumerate(commons(view))} | workers


def sorts(view: RunView) -> dict[str, str]:
    """The orders that a run's workers can be shown in."""
    found = recovered(view)
    without = ({"far", "near"} if found.distance is None else set()) | (
        {"common", "own"} if found.common_share is None else set()
    )
    return {key: words for key, words in SORTS.items() if key not in without}


def order(view: RunView, sort: str) -> IntArray:
    """(R,) workers in an order of `SORTS`; those without the number last."""
    found = recovered(view)
    values = {
        "skilled": found.skill,
        "unskilled": found.skill,
        "far": found.distance,
        "near": found.distance,
        "common": found.common_share,
        "own": found.common_share,
    }.get(sort)
    if values is None:
        return np.argsort(-found.n_annotations, kind="stable")
    signed = values if sort in {"unskilled", "near", "own"} else -values
    return np.lexsort((-found.n_annotations, np.where(np.isnan(signed), np.inf, signed)))


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
    if shown.common is None or compared.common is None or len(compared.common) > 1:  # groups have no order to go by
        return own, none
    if source == "observed" and has_truth(view):  # labels show no common confusion by itself
        return own, none
    return own, analysis.confusion_error(shown.common, compared.common)


def error_in_words(view: RunView, source: Source, who: int) -> str:
    """What stands beneath a matrix; empty where it has nothing to be compared with."""
    own, common = errors(view, source)
    if who < 0 and confusions(view, source).common is None:
        return "no common confusion"
    value = float(own[who] if who >= 0 else common[-1 - who])
    return "" if value != value else f"{'error' if has_truth(view) else 'distance'} {value:.4f}"


def errors_in_words(view: RunView) -> str:
    """What the errors are, and their means over workers."""
    some = view.dataset.labels_per_worker > 0
    means = {}
    for source in side_by_side(view):
        own = errors(view, source)[0][some]
        if not np.isnan(own).all():
            means[confusions(view, source).name] = float(np.nanmean(own))
    kind, basis = ("Error", "the simulation's truth") if has_truth(view) else ("Distance", "the observed one")
    listed = ", ".join(f"{words} {value:.4f}" for words, value in means.items())
    mean = f" Mean over {int(some.sum())} workers: {listed}." if listed else ""
    return f"{kind}: mean over the rows of the squared distance from {basis}.{mean}"
