"""One fit of an aggregator: its confusions, how well the data determine them, and how hard it found each task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.core.drawable import escaped
from crowdcore.core.errors import DataError
from crowdcore.data.report import plural
from crowdcore.exhibits._intervals import in_words, sampled
from crowdcore.exhibits.exhibit import Exhibit, cells
from crowdcore.exhibits.fits import fitted, read_fit
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.aggregation import AggregationResult
    from crowdcore.analysis import Reference
    from crowdcore.core.types import IntArray
    from crowdcore.data.dataset import CrowdDataset

SAMPLED = "dawid-skene"
"""The fit whose intervals are drawn together with the true labels."""


def common_names(dataset: CrowdDataset, fit: str) -> list[str]:
    """What the confusions that workers share are called, if the fit found any."""
    common = fitted(dataset, fit).common_confusion
    if common is None:
        return []
    return ["Common"] if common.ndim == 2 else [f"Common of group {g + 1}" for g in range(len(common))]


@cached
def fit_common_confusion(view: View, fit: str, group: int = 0) -> Exhibit:
    """A confusion that workers share, as an aggregator found it.

    Args:
        view: whose workers.
        fit: name of the fit.
        group: number of the group, from 0, where the fit has several.

    Raises:
        DataError: the method estimates none.
    """
    names, found = common_names(view.dataset, fit), fitted(view.dataset, fit).common_confusion
    if found is None:
        raise DataError(f"{fit} estimates no common confusion", "Choose another method, such as conal-em.")
    common = found if found.ndim == 2 else found[group]
    classes = [escaped(c) for c in view.classes]
    figure = figures.confusion(common, classes, title="Common confusion", subtitle=escaped(fit))
    table = cells(view.classes, percent=100 * common)
    return Exhibit(f"{fit}-{names[group]}", names[group], figure, table, (), "The confusion that workers share")


@cached
def fit_worker_confusion(view: View, fit: str, worker: str) -> Exhibit:
    """A worker's confusion as an aggregator found it, each cell with a credible interval.

    Args:
        view: whose worker.
        fit: name of the fit.
        worker: name of the worker.

    Raises:
        DataError: the method estimates none.
    """
    number, found = view.worker_number(worker), fitted(view.dataset, fit)
    if found.counts is None or found.confusion is None:
        raise DataError(f"{fit} estimates no confusions", "Choose another method, such as dawid-skene.")
    counts = found.counts[number]
    one = replace(found, counts=found.counts[[number]], confusion=found.confusion[[number]])
    intervals = analysis.credible_intervals(one)
    if fit == SAMPLED:
        every = sampled(view.dataset)
        intervals = replace(every, **{name: getattr(every, name)[[number]] for name in ("estimate", "low", "high")})
    figure = figures.confusion_intervals(
        replace(intervals, reference=escaped(fit)),
        0,
        [escaped(c) for c in view.classes],
        counts,
        title=f"{escaped(worker)} ({plural(view.dataset.labels_per_worker[number], 'label')})",
    )
    true, given = np.nonzero(np.isfinite(intervals.estimate[0]))
    names = np.array(view.classes, object)
    table = pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "percent": 100 * intervals.estimate[0, true, given],
            "low": 100 * intervals.low[0, true, given],
            "high": 100 * intervals.high[0, true, given],
            "expected labels": counts[true, given],
        }
    )
    alt = "One worker's confusion with credible intervals"
    return Exhibit(f"{fit}-{worker}", worker, figure, table, (in_words(intervals),), alt)


def estimates_difficulty(dataset: CrowdDataset, fit: str) -> bool:
    """Whether a fit tells how hard each task is."""
    return fitted(dataset, fit).difficulty is not None


def of_tasks(fit: str) -> str:
    """What a fit's difficulties and foils mean, in a sentence."""
    from crowdcore import aggregation

    return aggregation.aggregators.find(read_fit(fit)[0]).of_tasks


def with_difficulty(view: View, found: AggregationResult | Reference, tasks: IntArray) -> dict[str, Any]:
    """Columns ``difficulty`` and ``foil`` of some tasks (n,), as far as a fit tells."""
    columns: dict[str, Any] = {}
    if found.difficulty is not None:
        columns["difficulty"] = found.difficulty[tasks]
    if found.foil is not None:
        columns["foil"] = np.array([*view.classes, None], object)[found.foil[tasks]]
    return columns


@cached
def hard_tasks(view: View, fit: str) -> Exhibit:
    """The tasks that a fit found to be the hardest first, and which class each misleads to; index = task number.

    Args:
        view: whose tasks.
        fit: name of the fit.

    Raises:
        DataError: the method estimates no difficulties.
    """
    dataset, found = view.dataset, fitted(view.dataset, fit)
    if found.difficulty is None:
        raise DataError(f"{fit} estimates no difficulties", "Choose another method, such as item-response.")
    known = np.flatnonzero(dataset.annotated)
    known = known[np.argsort(-found.difficulty[known], kind="stable")]
    table = pd.DataFrame(
        {
            "task": dataset.task_ids[known],
            "label": np.array(view.classes, object)[found.labels[known]],
            "probability": found.posterior[known].max(1),
            **with_difficulty(view, found, known),
        },
        index=known,
    )
    return Exhibit(f"{fit}-tasks", "Hard tasks", None, table, (of_tasks(fit),))
