"""Posteriors that are as sure as they should be: tempered by the labels' dependence, or calibrated by some gold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from crowdcore.aggregation._dependence import independent_share, measure
from crowdcore.aggregation._votes import vote_shares
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.counts import most_probable, vote_counts
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_SMALLEST = 1e-6
_ENOUGH = 20  # gold tasks
_CAUTION = 1.0  # nats per unit of (log temperature)² and bias²


def temper(result: AggregationResult, dataset: CrowdDataset, gold: IntArray | None = None) -> AggregationResult:
    """The result with a posterior that is less sure (or surer).

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
    found = measure(dataset, result.posterior)
    shares_only = not len(result.log_likelihood) and result.confusion is None  # vote shares are not too sure
    eta = found.eta if found.significant and not shares_only else 0.0
    posterior = result.posterior.copy()
    inferred = evident & dataset.annotated
    posterior[inferred] = _tempered(dataset, result.posterior, eta)[inferred]
    share = 100 * found.share if eta else 100.0
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
    logs, each = _logs(posterior), np.arange(len(gold))

    def loss(x: FloatArray) -> float:
        scores = log_softmax(np.exp(x[0]) * logs + x[1:], axis=1)
        return float(_CAUTION * (x @ x) - scores[each, gold].sum())

    x = minimize(loss, np.zeros(1 + logs.shape[1]), method="L-BFGS-B").x
    return float(np.exp(x[0])), np.asarray(x[1:])
