"""Calibration of a fit: its probabilities compared with gold or the labels, and tempered accordingly.

A fit is too sure if its model ignores that some tasks are harder than others, and that labels of a task repeat one
another. So its labels are judged by two models that take this into account: `ItemResponse`, and confusions counted on
the other tasks with the dependence of the labels (`held_out_beliefs`). Both are too sure themselves where most workers
share a mistake; only gold shows that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import log_softmax, softmax

from crowdcore.aggregation._evidence import held_out_beliefs
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.counts import most_probable, wilson_interval
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks

_TOO_SURE = 0.07  # by which the mean probability may exceed the share of right labels
_ENOUGH = 20  # gold tasks
_MOST = 40_000  # annotations that are used, those of evenly spaced tasks
_LABELS = 20  # of the median worker in such a sample, below which it tells nothing about workers
_SMALLEST = 1e-6
_CAUTION = 1.0  # nats per unit of (log temperature)² and bias²
_HALVINGS = 30  # of the interval of an exponent
_BELIEFS: WeakKeyDictionary[CrowdDataset, FloatArray | None] = WeakKeyDictionary()


class Confidence(NamedTuple):
    """Mean probability of a fit's labels, and the share that is right.

    Attributes:
        said: mean probability that the fit gives its labels.
        right: share of these that is right by gold; without gold, the expected share.
        low, high: 95 % interval of ``right`` (Wilson); NaN without gold.
        n: tasks that were used.
        by_gold: whether gold judges.
    """

    said: float
    right: float
    low: float
    high: float
    n: int
    by_gold: bool

    @property
    def too_sure(self) -> bool:
        """Return whether the fit claims clearly more than is right."""
        return self.said - self.right > _TOO_SURE and not (self.by_gold and self.said <= self.high)

    @property
    def words(self) -> str:
        """Describe the overconfidence in a sentence or two; empty where there is none."""
        if not self.too_sure:
            return ""
        start = f"Its probabilities are too high: on average it calls a label {100 * self.said:.0f} % sure, but "
        if self.by_gold:
            return (
                f"{start}{100 * self.right:.0f} % of its labels are right by gold ({100 * self.low:.0f} to "
                f"{100 * self.high:.0f} %, {self.n:,} tasks)."
            )
        return (
            f"{start}about {100 * self.right:.0f} % are expected to be right, as some tasks are harder than others and "
            f"labels of a task repeat one another. Where most workers share mistakes, even fewer are."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """``words`` with a remedy; empty unless the fit is too sure."""
        remedy = "Its labels stay as they are; tempering lowers the probabilities."
        return (f"{self.words} {remedy}",) if self.too_sure else ()


def confidence(
    dataset: CrowdDataset,
    result: AggregationResult,
    gold: IntArray | None = None,
    *,
    known: IntArray | None = None,
) -> Confidence | None:
    """Compare the mean probability of a fit's labels with the share that is right.

    With 20 gold labels or more, gold decides. Else it is the smaller of two means over tasks: the probability of the
    fit's labels by `ItemResponse`, and by confusions counted on the other tasks with the dependence of the labels. Of
    large datasets, evenly spaced tasks with 40,000 annotations are used.

    Args:
        dataset: what ``result`` was fitted to.
        result: of an aggregator.
        gold: (n_tasks,) true classes to judge by, -1 = unknown; not those that the fit used.
        known: (n_tasks,) true classes that the fit used, -1 = none.

    Returns:
        None if the probabilities of the result are vote shares, or if a sample of a large dataset has too few labels
        of each worker.

    Examples:
        >>> import crowdcore as cc
        >>> votes = cc.load_dataset("demo")
        >>> sureness = cc.aggregation.confidence(votes, cc.aggregation.get("one-coin").fit(votes))
        >>> sureness.too_sure
        False
    """
    if not len(result.log_likelihood) and result.confusion is None:
        return None
    return of_posterior(dataset, result.posterior, gold, known=known)


def of_posterior(
    dataset: CrowdDataset,
    posterior: FloatArray,
    gold: IntArray | None = None,
    held_out: FloatArray | None = None,
    known: IntArray | None = None,
) -> Confidence | None:
    """Compute the `confidence` of a posterior (n_tasks, C); ``held_out``: its `held_out_beliefs` if already known."""
    judged = dataset.annotated & ~np.isnan(posterior[:, 0])
    if known is not None:
        judged &= known < 0
    if gold is not None and (there := judged & (gold >= 0)).sum() >= _ENOUGH:
        return _by_gold(posterior[there], gold[there])
    right = _expected_right(dataset, posterior, judged, held_out, known)
    if right is None:
        return None
    return Confidence(float(posterior[judged].max(1).mean()), right, np.nan, np.nan, int(judged.sum()), False)


def _expected_right(
    dataset: CrowdDataset, posterior: FloatArray, judged: BoolArray, held_out: FloatArray | None, known: IntArray | None
) -> float | None:
    """Expected share of right labels of a posterior; None if unknown."""
    tasks = dataset.every(-(-dataset.n_annotations // _MOST))
    some = dataset if len(tasks) == dataset.n_tasks else take_tasks(dataset, tasks)
    per_worker = some.labels_per_worker[some.labels_per_worker > 0]
    sampled = some is not dataset and np.median(per_worker) < _LABELS
    q, at = posterior[tasks], judged[tasks]
    beliefs = [] if held_out is None else [held_out[tasks]]
    if not sampled and at.any():
        beliefs += [held_out_beliefs(some, q)] if held_out is None else []
        by_items = _by_items(dataset, some, None if known is None else known[tasks])
        beliefs += [] if by_items is None else [by_items]
    if not beliefs or not at.any():
        return None
    rows, labels = np.flatnonzero(at), q[at].argmax(1)
    return min(float(np.nanmean(belief[rows, labels])) for belief in beliefs)


def _by_items(dataset: CrowdDataset, some: CrowdDataset, known: IntArray | None) -> FloatArray | None:
    """Posterior of `ItemResponse`, None if it collapses; kept as long as the dataset."""
    from crowdcore.aggregation.item_response import ItemResponse

    if some.n_classes < 2:
        return None
    if known is not None and (known >= 0).any():
        fit = ItemResponse().fit(some, known=known)
        return None if fit.collapsed else fit.posterior
    if dataset not in _BELIEFS:
        fit = ItemResponse().fit(some)
        _BELIEFS[dataset] = None if fit.collapsed else fit.posterior
    return _BELIEFS[dataset]


def _by_gold(posterior: FloatArray, gold: IntArray) -> Confidence:
    right = np.asarray((posterior.argmax(1) == gold).mean())
    low, high = wilson_interval(right, np.asarray(float(len(gold))), 0.95)
    return Confidence(float(posterior.max(1).mean()), float(right), float(low), float(high), len(gold), True)


def flattened(posterior: FloatArray, judged: BoolArray, right: float) -> FloatArray:
    """``q_i^β``, normalised, with β <= 1 such that the mean probability of the labels is ``right``; labels stay.

    Args:
        posterior: (n_tasks, C).
        judged: (n_tasks,) tasks that the mean is over; others stay.
        right: share of right labels.
    """
    of = posterior[judged]
    if not len(of) or of.max(1).mean() <= right:
        return posterior
    some = np.log(np.maximum(of[:: -(-len(of) // _MOST)], 1e-12))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if softmax(middle * some, 1).max(1).mean() > right else (middle, high)
    flat = posterior.copy()
    flat[judged] = softmax(high * np.log(np.maximum(of, 1e-12)), 1)
    return flat


def calibrated(
    posterior: FloatArray, judged: BoolArray, gold: IntArray, biased: bool = False
) -> tuple[FloatArray, float]:
    """``q_i(c)^t exp(b_c)``, normalised, with the t and b that make gold likeliest, drawn to t = 1 and b = 0.

    Args:
        posterior: (n_tasks, C).
        judged: (n_tasks,) tasks to calibrate.
        gold: (n_tasks,) true classes, -1 = unknown.
        biased: fit b; otherwise it is 0, and labels stay.

    Returns:
        The new posterior and t; the posterior itself and 1 where fewer than 20 judged tasks have gold.
    """
    from scipy.optimize import minimize  # slow to import

    there = np.flatnonzero(judged & (gold >= 0))
    if len(there) < _ENOUGH:
        return posterior, 1.0
    logs, each, classes = np.log(np.maximum(posterior, _SMALLEST)), np.arange(len(there)), gold[there]

    def loss(x: FloatArray) -> float:
        scores = log_softmax(np.exp(x[0]) * logs[there] + bias(x), axis=1)
        return float(_CAUTION * (x @ x) - scores[each, classes].sum())

    def bias(x: FloatArray) -> FloatArray:
        return x[1:] if biased else np.zeros(1)

    x = minimize(loss, np.zeros(1 + biased * logs.shape[1]), method="L-BFGS-B").x
    scaled, power = posterior.copy(), float(np.exp(x[0]))
    scaled[judged] = softmax(power * logs[judged] + bias(x), axis=1)
    return scaled, power


def temper(
    result: AggregationResult,
    dataset: CrowdDataset,
    gold: IntArray | None = None,
    *,
    known: IntArray | None = None,
) -> AggregationResult:
    """Make a posterior as sure as it is right.

    Without gold: ``q'_i ∝ q_i^β`` with β <= 1 such that as many labels are right as `confidence` expects. Labels stay,
    and so do vote shares, and a posterior that is not too sure.

    With gold: afterwards, ``q''_i(c) ∝ q'_i(c)^t exp(b_c)`` with the t and b that make gold likeliest, drawn to t = 1
    and b = 0.

    Args:
        result: of ``dataset``.
        dataset: the annotations.
        gold: (n_tasks,) true classes to calibrate with, -1 = unknown; at least 20 of tasks with a posterior.
        known: (n_tasks,) true classes that the fit used, -1 = none: these tasks stay.

    Raises:
        DataError: too few gold labels.
        SettingError: result or gold of another shape.

    Examples:
        >>> import crowdcore as cc
        >>> votes = cc.load_dataset("demo")
        >>> result = cc.aggregation.get("fast-dawid-skene").fit(votes)
        >>> cc.aggregation.temper(result, votes).notes[-1].split(":")[0]
        'Tempered'
    """
    shape = dataset.n_tasks, dataset.n_classes
    if result.posterior.shape != shape:
        raise SettingError("result", f"hold a posterior of shape {shape}", result.posterior.shape)
    if gold is not None and np.shape(gold) != shape[:1]:
        raise SettingError("gold", f"have the shape ({dataset.n_tasks},)", np.shape(gold))
    evident = ~np.isnan(result.posterior[:, 0])
    judged = evident & dataset.annotated
    if known is not None:
        judged &= known < 0
    sureness, posterior = confidence(dataset, result, known=known), result.posterior
    note = "Tempered: nothing had to be changed."
    if sureness is not None and sureness.said > sureness.right:
        posterior = flattened(posterior, judged, sureness.right)
        note = f"Tempered: labels are {100 * sureness.right:.1f} % sure on average, not {100 * sureness.said:.1f} %."
    if gold is not None:
        n = int((judged & (np.asarray(gold) >= 0)).sum())
        if n < _ENOUGH:
            needed = f"Calibration needs {_ENOUGH}; temper without gold instead."
            raise DataError(f"{n} tasks have gold and labels", needed)
        posterior, power = calibrated(posterior, judged, np.asarray(gold), biased=True)
        note = f"Calibrated on {n} gold labels: t = {power:.3f}."
    labels = most_probable(posterior)
    labels[~evident] = -1
    return replace(result, posterior=posterior, labels=labels, notes=(*result.notes, note))
