"""Annotators: how far apart, how good, who is wrong alike, and what the labels would be without some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dashboard.services._cache import kept
from dashboard.services.datasets import drawable, reference, workers

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import WhatIf, WorkerConfusion, WorkerDistance, WorkerOrder, WorkerQuality

__all__ = [
    "CELLS",
    "KINDS",
    "confusion",
    "confusion_figure",
    "confusion_table",
    "distance",
    "distance_figure",
    "distance_table",
    "group_table",
    "order",
    "pair_facts",
    "pair_notes",
    "pair_table",
    "quality",
    "quality_table",
    "what_if",
    "what_if_table",
]

Kind = Literal["mse", "shared-mse", "jensen-shannon"]
KINDS: dict[Kind, str] = {
    "mse": "Mean squared difference",
    "shared-mse": "… over shared classes",
    "jensen-shannon": "Jensen–Shannon",
}
CELLS = 300  # workers up to which every pair is drawn as a cell
Range = tuple[float, float]


@kept
def confusion(opened: CrowdDataset, which: str) -> WorkerConfusion:
    """What each worker makes of each class."""
    from crowdcore import analysis

    return analysis.worker_confusion(opened, reference(opened, which))


@kept
def distance(opened: CrowdDataset, which: str, kind: Kind) -> WorkerDistance:
    """Distances between all workers."""
    from crowdcore import analysis

    return analysis.confusion_distance(confusion(opened, which), kind)


@kept
def order(opened: CrowdDataset, which: str, kind: Kind, groups: int | None) -> WorkerOrder:
    """Workers clustered by distance, cut into groups."""
    from crowdcore import analysis

    return analysis.order_workers(distance(opened, which, kind), groups)


@kept
def quality(opened: CrowdDataset, which: str) -> WorkerQuality:
    """How good each worker is."""
    from crowdcore import analysis

    return analysis.worker_quality(opened, reference(opened, which))


@kept
def what_if(opened: CrowdDataset, which: str, without: tuple[int, ...]) -> WhatIf:
    """The majority vote with and without some workers."""
    from crowdcore import analysis

    return analysis.what_if(opened, list(without), reference=reference(opened, which))


def distance_figure(
    name: str, which: str, kind: Kind, groups: int | None, hidden: bool, view: tuple[Range, Range] | None
) -> go.Figure:
    """The clustered matrix with its tree; ``view`` is the visible range of x and of y."""
    from crowdcore import figures

    called = workers(name, hidden)
    shown = drawable(distance(name, which, kind), called)
    return figures.worker_distance(shown, drawable(order(name, which, kind, groups), called), view=view)


def distance_table(name: str, which: str, kind: Kind, hidden: bool) -> pd.DataFrame:
    """One line per pair of workers."""
    from dataclasses import replace

    import pandas as pd

    return replace(distance(name, which, kind), worker_ids=pd.Index(workers(name, hidden))).frame()


def group_table(name: str, which: str, kind: Kind, groups: int | None, hidden: bool) -> pd.DataFrame:
    """Workers in the order of the matrix, with group, annotations and accuracy; index = worker number."""
    import pandas as pd

    found, good = order(name, which, kind, groups), quality(name, which)
    called = np.array(workers(name, hidden), dtype=object)
    return pd.DataFrame(
        {
            "worker": called[found.order],
            "group": found.groups[found.order] + 1,
            "annotations": good.n_annotations[found.order],
            "accuracy": good.accuracy[found.order],
        },
        index=found.order,
    )


def quality_table(name: str, which: str, hidden: bool) -> pd.DataFrame:
    """The ranking: best first by information per label; index = worker number."""
    import pandas as pd

    found, alone = quality(name, which), _without_each(name, which)
    signals = np.where(found.answers_single, "single answer", np.where(found.answers_random, "random answers", ""))
    frame = pd.DataFrame(
        {
            "worker": workers(name, hidden),
            "annotations": found.n_annotations,
            "accuracy": found.accuracy,
            "acc. low": found.accuracy_low,
            "acc. high": found.accuracy_high,
            "skill": found.skill,
            "bits per label": found.information,
            "agreement κ": found.agreement_kappa,
            "with majority": found.majority_agreement,
            "signal": signals,
            "labels changed without": alone["changed"],
            "accuracy without": alone["accuracy_change"],
        }
    )
    return frame.sort_values("bits per label", ascending=False, kind="stable", na_position="last")


@kept
def _without_each(opened: CrowdDataset, which: str) -> pd.DataFrame:
    from crowdcore import analysis

    return analysis.without_each(opened, reference(opened, which)).frame()


def what_if_table(name: str, which: str, without: tuple[int, ...]) -> pd.DataFrame:
    """Tasks whose majority vote changes without these workers; index = task number."""
    found = what_if(name, which, without)
    return found.frame().set_index(np.sort(np.concatenate([found.changed, found.unlabelled])))


def confusion_table(name: str, which: str, worker: int | None) -> pd.DataFrame:
    """The counts and shares of `confusion_figure`: true, given, count, share."""
    import pandas as pd

    found = confusion(name, which)
    counts = found.crowd_counts if worker is None else found.counts[worker]
    shares = found.crowd if worker is None else found.matrices[worker]
    true, given = np.indices(counts.shape).reshape(2, -1)
    classes = np.array(found.classes, dtype=object)
    columns = {"true": classes[true], "given": classes[given], "count": counts.ravel(), "share": shares.ravel()}
    return pd.DataFrame(columns)


def confusion_figure(name: str, which: str, worker: int | None, title: str) -> go.Figure:
    """One worker's confusion, or (None) that of all annotations together."""
    import html

    from crowdcore import figures

    found = drawable(confusion(name, which))
    matrix = found.crowd if worker is None else found.matrices[worker]
    counts = found.crowd_counts if worker is None else found.counts[worker]
    return figures.confusion(
        matrix,
        found.classes,
        counts=counts,
        scale_max=1.0,
        title=html.escape(title, quote=False),
        subtitle=f"share of each row · reference: {which}",
    )


@kept
def _pairs(opened: CrowdDataset, which: str) -> dict[str, Any]:
    """Pairs that were wrong alike at least twice, and what to know of the test."""
    from crowdcore import analysis

    found = analysis.pair_mistakes(opened, reference(opened, which))
    names = ("worker_a", "worker_b", "both_labelled", "both_wrong", "wrong_alike", "expected", "q_value")
    arrays = {key: getattr(found, key) for key in (*names, "expected_beyond", "q_beyond")}
    some = np.flatnonzero(found.wrong_alike >= 2)
    rank = np.lexsort((-found.wrong_alike[some], found.p_value[some], found.p_beyond[some]))
    arrays = {key: values[some[rank]] for key, values in arrays.items()}
    return {"arrays": arrays, "notes": (found.null, found.null_beyond, *found.notes)}


def pair_table(name: str, which: str, hidden: bool) -> pd.DataFrame:
    """Pairs of workers who were wrong alike at least twice, the least probable by chance first."""
    import pandas as pd

    frame = pd.DataFrame(_pairs(name, which)["arrays"])
    called = np.array(workers(name, hidden), dtype=object)
    for key in ("worker_a", "worker_b"):
        frame[key] = called[frame[key]]
    return frame


def pair_notes(name: str, which: str) -> tuple[str, ...]:
    """What the pairs are tested against."""
    return tuple(_pairs(name, which)["notes"])


@kept
def pair_facts(opened: CrowdDataset, which: str, a: int, b: int) -> str:
    """Two workers in a sentence: tasks in common, mistakes in common."""
    from crowdcore import analysis

    two = opened.where(np.isin(opened.worker, (a, b)))
    found = analysis.pair_mistakes(two, reference(opened, which))
    if not len(found.worker_a):
        return "They have labelled no task in common whose truth is known."
    both, alike, expected = found.both_labelled[0], found.wrong_alike[0], found.expected[0]
    return f"Of {both} tasks both labelled they got {alike} wrong alike, {expected:.1f} expected by chance."
