"""Uncertainty of each worker's confusion: credible intervals and bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_NEVER = 1e-6  # expected labels below which an interval begins at 0, or ends at 1 (Brown, Cai & DasGupta 2001)


@dataclass(frozen=True, eq=False)
class ConfusionIntervals:
    """Intervals of every entry of every worker's confusion; NaN where there is no evidence.

    Attributes:
        reference: method that estimated the confusions.
        how: what the intervals rest on, in words.
        level: probability that an interval is meant to hold the true value.
        estimate, low, high: (n_workers, C, C) row = true, column = given.
    """

    reference: str
    how: str
    level: float
    estimate: FloatArray
    low: FloatArray
    high: FloatArray

    def frame(self, dataset: CrowdDataset) -> pd.DataFrame:
        """One row per worker, true and given class: estimate, low, high."""
        r, true, given = (axis.ravel() for axis in np.indices(self.estimate.shape))
        names = np.array(dataset.classes, object)
        return pd.DataFrame(
            {
                "worker": dataset.worker_ids[r],
                "true": names[true],
                "given": names[given],
                **{part: getattr(self, part).ravel() for part in ("estimate", "low", "high")},
            }
        )


def credible_intervals(
    result: AggregationResult, level: float = 0.95, concentration: float = 0.5
) -> ConfusionIntervals:
    """Equal-tailed intervals of each entry given the posterior q of the true labels.

    Given q, an entry of worker r's confusion has the posterior Beta(concentration + its expected count,
    concentration + the expected count of the rest of its row): the Dirichlet posterior of the entry and the rest.
    Its prior does not depend on the number of classes; one pseudo-count per class would pull the rows of workers
    with few labels to the middle, and their intervals would miss the truth. The uncertainty of q itself is left
    out, so where tasks are ambiguous the intervals are too narrow; `bootstrap_confusion` shows by how much.

    Args:
        result: of an aggregator that estimates confusions from expected counts.
        level: between 0 and 1.
        concentration: prior weight of the entry and of the rest of its row; 0.5 is Jeffreys'.

    Raises:
        SettingError: a result without expected counts, or a level outside (0, 1).
    """
    _check(level)
    if concentration <= 0:
        raise SettingError("concentration", "be above 0", concentration)
    if result.counts is None or result.confusion is None:
        raise SettingError(
            "result", "hold expected counts", result.method, "Use an aggregator with confusions, e.g. 'dawid-skene'."
        )
    a = result.counts + concentration
    b = result.counts.sum(2, keepdims=True) - result.counts + concentration
    tail = (1 - level) / 2
    low = np.where(a - concentration < _NEVER, 0.0, betaincinv(a, b, tail))
    high = np.where(b - concentration < _NEVER, 1.0, betaincinv(a, b, 1 - tail))
    low, high = (np.where(np.isnan(result.confusion), np.nan, end) for end in (low, high))
    how = "Dirichlet posterior of each entry against the rest of its row, given the true labels' posterior"
    return ConfusionIntervals(result.method, how, level, result.confusion, low, high)


def bootstrap_confusion(
    dataset: CrowdDataset,
    aggregator: Aggregator,
    *,
    known: IntArray | None = None,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> ConfusionIntervals:
    """Percentile intervals over resamplings of the tasks with replacement, each fitted from the first fit.

    Args:
        aggregator: any that estimates confusions.
        known: (n_tasks,) classes to clamp, -1 = unknown.
        n_resamples: fits; the time is that of so many fits.
        level: between 0 and 1.
        seed: of the resampling.

    Raises:
        SettingError: no confusions, fewer than two resamplings, or a level outside (0, 1).
    """
    _check(level)
    if n_resamples < 2:
        raise SettingError("n_resamples", "be at least 2", n_resamples)
    first = aggregator.fit(dataset, known=known)
    if first.confusion is None:
        raise SettingError("aggregator", "estimate confusions", aggregator.name, "Use another one, e.g. 'dawid-skene'.")
    rng = np.random.default_rng(seed)
    drawn = np.empty((n_resamples, *first.confusion.shape))
    for b in range(n_resamples):
        tasks = rng.integers(dataset.n_tasks, size=dataset.n_tasks)
        start = replace(first, posterior=first.posterior[tasks])
        again = aggregator.fit(_resampled(dataset, tasks), known=None if known is None else known[tasks], start=start)
        drawn[b] = np.nan if again.confusion is None else again.confusion
    low, high = _quantiles(drawn, (1 - level) / 2)
    how = f"percentiles over {n_resamples} resamplings of the tasks"
    return ConfusionIntervals(first.method, how, level, first.confusion, low, high)


def _quantiles(drawn: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper quantile over the first axis, of the draws that are not NaN; NaN where all are."""
    empty = np.isnan(drawn).all(0)
    filled = np.where(empty, 0.0, drawn)
    low, high = np.nanquantile(filled, [tail, 1 - tail], axis=0)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def _resampled(dataset: CrowdDataset, tasks: IntArray) -> CrowdDataset:
    """A dataset whose task i has the annotations of the old task ``tasks[i]``."""
    n = dataset.labels_per_task[tasks]
    first = np.cumsum(n) - n
    rows = np.arange(n.sum()) + np.repeat(dataset.task_start[tasks] - first, n)
    return CrowdDataset(
        dataset.name,
        dataset.classes,
        pd.RangeIndex(len(tasks)).astype(str),
        dataset.worker_ids,
        np.repeat(np.arange(len(tasks)), n),
        dataset.worker[rows],
        dataset.label[rows],
    )


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise SettingError("level", "lie between 0 and 1", level)
