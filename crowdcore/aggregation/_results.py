"""Results after the fit: transferred to a dataset that has grown, compared, tempered, calibrated."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
from scipy.special import log_softmax, softmax

from crowdcore.aggregation._statistics import independent_share, measure
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.counts import most_probable, vote_counts, vote_shares
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

T = TypeVar("T", bound=AnyArray)

_SMALLEST = 1e-6
_ENOUGH = 20  # gold tasks
_CAUTION = 1.0  # nats per unit of (log temperature)² and bias²


def align(result: AggregationResult, before: CrowdDataset, after: CrowdDataset) -> AggregationResult:
    """Rearrange a result by ids, so that ``fit(after, start=align(result, before, after))`` continues from it.

    Tasks, workers and classes may have been added, removed (not classes) or reordered. Values of new tasks and
    workers are NaN (-1 for labels and groups); a new class has probability 0 in old rows. ω belongs
    to single annotations and is left out.

    Args:
        result: fitted to ``before``.
        before: the dataset that ``result`` was fitted to.
        after: the dataset to continue with.

    Raises:
        SettingError: ``result`` does not belong to ``before``, or ``after`` lacks one of its classes.
    """
    if result.posterior.shape != (before.n_tasks, before.n_classes):
        raise SettingError("before", "be the dataset that the result was fitted to", before.name)
    gone = [c for c in before.classes if c not in after.classes]
    if gone:
        raise SettingError("after", f"keep the classes {', '.join(before.classes)}", after.classes, "Add classes only.")
    task = before.task_ids.get_indexer(after.task_ids)
    worker = before.worker_ids.get_indexer(after.worker_ids)
    old = pd.Index(before.classes).get_indexer(pd.Index(after.classes))

    def rows(values: FloatArray | None, index: IntArray) -> FloatArray | None:
        return None if values is None else _take(values, index, np.nan)

    def square(values: FloatArray | None, new_row: float) -> FloatArray | None:
        """Rearrange the last two axes: ``new_row`` in rows of new classes, 0 in their columns."""
        return None if values is None else _take(_take(values, old, 0.0, -1), old, new_row, -2)

    confusion, counts = square(result.confusion, np.nan), square(result.counts, 0.0)
    new = pd.Index(after.classes).get_indexer(pd.Index(before.classes))

    def renamed(classes: IntArray) -> IntArray:
        """Old numbers of classes to new ones."""
        return np.where(classes >= 0, new[classes], -1).astype(np.int32)

    return replace(
        result,
        posterior=_take(_take(result.posterior, old, 0.0, 1), task, np.nan),
        labels=renamed(_take(result.labels, task, -1)),
        confusion=rows(confusion, worker),
        counts=None if counts is None else _take(counts, worker, 0.0),
        prior=None if result.prior is None else _take(result.prior, old, 0.0),
        common_confusion=square(result.common_confusion, np.nan),
        omega=None,
        worker_weight=rows(result.worker_weight, worker),
        difficulty=rows(result.difficulty, task),
        foil=None if result.foil is None else renamed(_take(result.foil, task, -1)),
        group=None if result.group is None else _take(result.group, worker, -1),
    )


def changed_labels(before: AggregationResult, after: AggregationResult, dataset: CrowdDataset) -> pd.DataFrame:
    """The tasks whose label differs between two results on one dataset (`align` the earlier one first).

    Returns:
        One row per task: ``task``, ``before``, ``after`` (class names, None = no label), and the probabilities
        ``confidence_before``, ``confidence_after`` of those labels.

    Raises:
        SettingError: the results do not cover the dataset's tasks.
    """
    for name, result in (("before", before), ("after", after)):
        if result.posterior.shape != (dataset.n_tasks, dataset.n_classes):
            shape = dataset.n_tasks, dataset.n_classes
            raise SettingError(name, f"have a posterior of shape {shape}", result.posterior.shape, "Align it first.")
    changed = np.flatnonzero(before.labels != after.labels)
    names = np.array([*dataset.classes, None], object)  # -1 is the last
    return pd.DataFrame(
        {
            "task": dataset.task_ids[changed],
            "before": names[before.labels[changed]],
            "after": names[after.labels[changed]],
            "confidence_before": before.posterior[changed].max(1),
            "confidence_after": after.posterior[changed].max(1),
        }
    )


def _take(values: T, index: IntArray, missing: float, axis: int = 0) -> T:
    """``values`` at ``index`` along an axis, ``missing`` where the index is -1."""
    shape = list(values.shape)
    shape[axis] = 1
    padded = np.concatenate([values, np.full(shape, missing, values.dtype)], axis)
    return np.take(padded, index, axis)  # type: ignore[return-value]  # -1 is the padding


def temper(result: AggregationResult, dataset: CrowdDataset, gold: IntArray | None = None) -> AggregationResult:
    """Make a posterior less confident if labels repeat each other; with gold, calibrate it.

    Without gold: of the m_i labels of a task the share ``w_i = 1 / (1 + (m_i - 1) η)`` is independent, with η the
    agreement on a task beyond what the fit explains (0 unless it is significant). That share counts as evidence, the
    rest as repetition: ``q'_i ∝ w_i q_i^{w_i} / Z_i + (1 - w_i) · vote shares``.

    With gold: afterwards, ``q''_i(c) ∝ q'_i(c)^t exp(b_c)`` with t and b of the highest probability of the gold,
    drawn to t = 1 and b = 0.

    Args:
        result: of ``dataset``.
        dataset: the annotations.
        gold: (n_tasks,) true classes to calibrate with, -1 = unknown; at least 20 of tasks with a posterior.

    Raises:
        DataError: too few gold labels.
        SettingError: result or gold of another shape.

    Examples:
        >>> import crowdcore as cc
        >>> votes = cc.load_dataset("demo")
        >>> result = cc.aggregation.get("dawid-skene").fit(votes)
        >>> cc.aggregation.temper(result, votes).notes[-1].split(":")[0]
        'Tempered by the dependence of the labels'
    """
    shape = dataset.n_tasks, dataset.n_classes
    if result.posterior.shape != shape:
        raise SettingError("result", f"hold a posterior of shape {shape}", result.posterior.shape)
    if gold is not None and np.shape(gold) != shape[:1]:
        raise SettingError("gold", f"have the shape ({dataset.n_tasks},)", np.shape(gold))
    evident = ~np.isnan(result.posterior[:, 0])
    dependence = measure(dataset, result.posterior)
    shares_only = not len(result.log_likelihood) and result.confusion is None  # vote shares are not too sure
    eta = dependence.eta if dependence.significant and not shares_only else 0.0
    posterior = result.posterior.copy()
    inferred = evident & dataset.annotated
    posterior[inferred] = _tempered(dataset, result.posterior, eta)[inferred]
    share = 100 * dependence.share if eta else 100.0
    note = f"Tempered by the dependence of the labels: η = {eta:.3f}, {share:.0f} % of them independent."
    if gold is not None:
        judged = np.flatnonzero(inferred & (np.asarray(gold) >= 0))
        if len(judged) < _ENOUGH:
            raise DataError(
                f"{len(judged)} tasks have gold and labels",
                f"Calibration needs {_ENOUGH}; temper without gold instead.",
            )
        power, bias = _calibration(posterior[judged], np.asarray(gold)[judged])
        posterior[inferred] = softmax(power * _logs(posterior[inferred]) + bias, axis=1)
        note = f"Calibrated on {len(judged)} gold labels: t = {power:.3f}."
    labels = most_probable(posterior)
    labels[~evident] = -1
    return replace(result, posterior=posterior, labels=labels, notes=(*result.notes, note))


def _tempered(dataset: CrowdDataset, posterior: FloatArray, eta: float) -> FloatArray:
    """(n_tasks, C) of a given η."""
    weight = independent_share(dataset, eta)[:, None]
    shares = vote_shares(vote_counts(dataset.task, dataset.label, dataset.n_tasks, dataset.n_classes))
    alone: FloatArray = softmax(weight * np.log(np.maximum(posterior, 1e-300)), axis=1)
    return np.asarray(weight * alone + (1 - weight) * shares)


def _logs(posterior: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(posterior, _SMALLEST)))


def _calibration(posterior: FloatArray, gold: IntArray) -> tuple[float, FloatArray]:
    """t and b (C,) that make the gold most probable."""
    from scipy.optimize import minimize  # slow to import

    logs, each = _logs(posterior), np.arange(len(gold))

    def loss(x: FloatArray) -> float:
        scores = log_softmax(np.exp(x[0]) * logs + x[1:], axis=1)
        return float(_CAUTION * (x @ x) - scores[each, gold].sum())

    x = minimize(loss, np.zeros(1 + logs.shape[1]), method="L-BFGS-B").x
    return float(np.exp(x[0])), np.asarray(x[1:])
