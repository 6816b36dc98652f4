"""Sources of confusions that can be put side by side: runs, their seeds, the labels, the truth of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import reference
from dashboard.services.recovered import EACH, View, recovered, seed_of
from dashboard.services.runs import result, run as run_of, run_labels, run_title, runs_of

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.core.types import FloatArray, IntArray
    from crowdcore.runs import Run

__all__ = [
    "OBSERVED",
    "PARTS",
    "SORTS",
    "TRUTH",
    "Panel",
    "besides",
    "commons",
    "has_parts",
    "has_truth",
    "order_of",
    "panel",
    "pick",
    "side_by_side",
    "sorts",
    "worker_pages",
]

OBSERVED, TRUTH = "observed", "truth"
SORTS = {
    "annotations": "Most labels",
    "skilled": "Most skilled",
    "unskilled": "Least skilled",
    "far": "Farthest from common",
    "near": "Nearest to common",
    "common": "Most common noise",
    "own": "Least common noise",
}
PARTS = {"": "All labels of a worker", "own": "The worker's own part"}
MANY_CLASSES = 20


class Panel(NamedTuple):
    """One source of confusions: a run, the labels, or the truth. Parts that it lacks are None.

    Args:
        name: what it is, in a word or two.
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


def besides(name: str, offered: list[Run]) -> dict[str, str]:
    """Which other runs a run can be compared with: id -> words."""
    labels = run_labels(runs_of(name))
    return {"": "Nothing", **{other.id: labels[other.id] for other in offered}}


def has_truth(of: str | CrowdDataset) -> bool:
    """Whether a simulation says which confusions generated the labels."""
    truth = (dataset(of) if isinstance(of, str) else of).truth
    return truth is not None and truth.worker_confusion is not None


def has_parts(run_id: str) -> bool:
    """Whether a run tells a worker's own confusion from what all of the worker's labels follow."""
    return result(run_id).omega is not None


def side_by_side(name: str, view: View, beside: str = "") -> list[View]:
    """What stands side by side: the truth if it is known, the run or each of its seeds, the labels, another run."""
    seeds = [str(s) for s in result(view.run).seeds] if view.seed == EACH else [view.seed]
    runs = [view._replace(seed=seed) for seed in seeds]
    truth = [view._replace(run=TRUTH)] if has_truth(name) else []
    return [*truth, *runs, view._replace(run=OBSERVED), *([view._replace(run=beside)] if beside else [])]


def pick(of: Panel, at: int, common: str = "common", own: str = "matrices") -> FloatArray | None:
    """A matrix of a panel (-1 - g is a common one, others are workers), or its spread, or its counts."""
    values = getattr(of, common if at < 0 else own)
    if values is None or (at < 0 and -1 - at >= len(values)):
        return None
    return np.asarray(values[-1 - at if at < 0 else at], np.float64)


@kept
def panel(opened: CrowdDataset, which: str, source: View) -> Panel:
    """The confusions of a run, of the labels, or of the truth."""
    from crowdcore import analysis

    if source.run == OBSERVED:
        seen = analysis.worker_confusion(opened, reference(opened, which))
        title = f"observed, reference: {which}"
        crowd = seen.crowd[None], None, seen.crowd_counts[None]
        return Panel("observed", title, seen.matrices, None, seen.counts, *crowd)
    if source.run == TRUTH:
        return _truth(opened, source.part)
    found = recovered(opened, source)
    common, around = (
        part if part is None or part.ndim == 3 else part[None] for part in (found.common, found.common_spread)
    )
    one = seed_of(opened, source)
    title = f"{run_title(run_of(source.run))}, {found.combined}"
    name = "learnt" if one is None else f"seed {one}"
    return Panel(name, title, found.matrices, found.spread, None, common, around, None)


def _truth(opened: CrowdDataset, part: str) -> Panel:
    """The confusions that generated a simulated crowd."""
    from crowdcore import analysis

    truth = opened.truth
    assert truth is not None
    own, common = truth.worker_confusion, truth.common_confusion
    assert own is not None
    if part != "own":
        mixed = analysis.effective_confusion(opened, own, common, truth.omega, truth.group)
        own = np.where(np.isnan(mixed), own, mixed)
    several = common if common is None or common.ndim == 3 else common[None]
    return Panel("truth", "truth of the simulation", own, None, None, several, None, None)


def commons(name: str, view: View) -> list[str]:
    """What the common confusions of a run are called; empty where it has none to show."""
    common = recovered(name, view).common
    if common is None or (common.ndim == 3 and view.seed == EACH):  # groups of two seeds are not the same groups
        return []
    if common.ndim == 2:
        return ["Common confusion"]
    return [f"Common confusion {g + 1}" for g in range(len(common))]


def sorts(name: str, view: View) -> dict[str, str]:
    """The orders that a run's workers can be shown in."""
    found = recovered(name, view)
    without = ({"far", "near"} if found.distance is None else set()) | (
        {"common", "own"} if found.common_share is None else set()
    )
    return {key: words for key, words in SORTS.items() if key not in without}


@kept
def order_of(opened: CrowdDataset, view: View, sort: str) -> IntArray:
    """(R,) workers in the order of `SORTS`; those without the number last."""
    found = recovered(opened, view)
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


def worker_pages(name: str, view: View, sort: str) -> list[list[int]]:
    """Workers by page, as many as the papers show beside the common confusion."""
    order = order_of(name, view, sort).tolist()
    per_page = 5 if dataset(name).n_classes <= MANY_CLASSES else 2
    return [order[k : k + per_page] for k in range(0, len(order), per_page)]
