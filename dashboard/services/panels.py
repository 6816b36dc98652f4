"""Sources of confusions that can be put side by side: runs, the labels, the truth of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.annotators import confusion
from dashboard.services.recovered import recovered
from dashboard.services.runs import run as run_of
from dashboard.services.runs import run_labels, run_title, runs_of

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.core.types import FloatArray, IntArray
    from crowdcore.runs import Run

__all__ = ["OBSERVED", "SORTS", "TRUTH", "Panel", "besides", "commons", "order_of", "panel", "sorts", "worker_pages"]

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
MANY_CLASSES = 20


class Panel(NamedTuple):
    """One source of confusions: a run, the labels, or the truth. Parts that it lacks are None.

    Args:
        title: what it is, with its seeds or its reference.
        matrices: (R, C, C) of the workers.
        spread: (R, C, C) over seeds.
        counts: (R, C, C) annotations behind them.
        common: (G, C, C) what workers share; of the labels, those of all workers together.
        common_spread: of ``common``.
        common_counts: of ``common``.
        common_title: what ``common`` is.
    """

    title: str
    matrices: FloatArray
    spread: FloatArray | None
    counts: FloatArray | None
    common: FloatArray | None
    common_spread: FloatArray | None
    common_counts: FloatArray | None
    common_title: str


def besides(name: str, which: str, offered: list[Run]) -> dict[str, str]:
    """What a run can be shown beside: key -> words."""
    found = {"": "Nothing", OBSERVED: f"What the labels say ({which})"}
    truth = dataset(name).truth
    if truth is not None and truth.worker_confusion is not None:
        found[TRUTH] = "The simulation's truth"
    labels = run_labels(runs_of(name))
    return found | {other.id: labels[other.id] for other in offered}


@kept
def panel(opened: CrowdDataset, which: str, source: str, seed: str) -> Panel:
    """The confusions of a run, of the labels, or of the truth."""
    if source == OBSERVED:
        seen = confusion(opened, which)
        about = f"observed, reference: {which}"
        return Panel(
            about, seen.matrices, None, seen.counts, seen.crowd[None], None, seen.crowd_counts[None], "all workers"
        )
    if source == TRUTH:
        truth = opened.truth
        assert truth is not None
        assert truth.worker_confusion is not None
        common = truth.common_confusion
        several = common if common is None or common.ndim == 3 else common[None]
        return Panel("truth of the simulation", truth.worker_confusion, None, None, several, None, None, "common")
    found = recovered(opened, source, seed)
    common, around = (
        part if part is None or part.ndim == 3 else part[None] for part in (found.common, found.common_spread)
    )
    title = f"{run_title(run_of(source))}, {found.combined}"
    return Panel(title, found.matrices, found.spread, None, common, around, None, "common")


def commons(name: str, run_id: str, seed: str) -> list[str]:
    """What the common confusions of a run are called; empty where it has none to show."""
    common = recovered(name, run_id, seed).common
    if common is None:
        return []
    if common.ndim == 2:
        return ["Common confusion"]
    return [f"Common confusion {g + 1}" for g in range(len(common))]


def sorts(name: str, run_id: str, seed: str) -> dict[str, str]:
    """The orders that a run's workers can be shown in."""
    found = recovered(name, run_id, seed)
    without = ({"far", "near"} if found.distance is None else set()) | (
        {"common", "own"} if found.common_share is None else set()
    )
    return {key: words for key, words in SORTS.items() if key not in without}


@kept
def order_of(opened: CrowdDataset, run_id: str, seed: str, sort: str) -> IntArray:
    """(R,) workers in the order of `SORTS`; those without the number last."""
    found = recovered(opened, run_id, seed)
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


def worker_pages(name: str, run_id: str, seed: str, sort: str) -> list[list[int]]:
    """Workers by page of the grid, as many as the papers show beside the common confusion."""
    order = order_of(name, run_id, seed, sort).tolist()
    per_page = 5 if dataset(name).n_classes <= MANY_CLASSES else 2
    return [order[k : k + per_page] for k in range(0, len(order), per_page)]
