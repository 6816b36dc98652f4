"""Calibration against gold: expected calibration error and reliability curve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Calibration:
    """Tasks grouped by the probability that their label was given; empty groups are NaN.

    Attributes:
        reference: method whose posterior this is.
        error: expected calibration error, Σ_b n_b/n · |accuracy_b − confidence_b|.
        accuracy: share of the tasks whose label is the gold one.
        confidence: mean probability of the labels.
        edges: (n_bins + 1,) group b holds probabilities in (edges[b], edges[b + 1]].
        bin_confidence: (n_bins,) mean probability of the labels.
        bin_accuracy: (n_bins,) share that is right.
        low, high: (n_bins,) 95 % Clopper–Pearson interval of ``bin_accuracy``.
        n_tasks: (n_bins,) labels: one per task, or one per task and seed.
    """

    reference: str
    error: float
    accuracy: float
    confidence: float
    edges: FloatArray
    bin_confidence: FloatArray
    bin_accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    n_tasks: IntArray

    def frame(self) -> pd.DataFrame:
        """One row per group."""
        return pd.DataFrame(
            {
                "from": self.edges[:-1],
                "to": self.edges[1:],
                "tasks": self.n_tasks,
                "confidence": self.bin_confidence,
                "accuracy": self.bin_accuracy,
                "low": self.low,
                "high": self.high,
            }
        )


def calibration(result: AggregationResult, gold: IntArray, n_bins: int = 10) -> Calibration:
    """Compare the probabilities of the chosen labels with how often they are right (Guo et al. 2017, eq. 3).

    Args:
        result: its posterior and labels are judged on the tasks that have both a label and gold.
        gold: (n_tasks,) true class, -1 = unknown; leave out the tasks that were clamped, or they look certain.
        n_bins: equally wide groups of (0, 1].

    Raises:
        SettingError: ``gold`` of another length, or no group.
        DataError: no task has both a label and gold.
    """
    if gold.shape != result.labels.shape:
        raise SettingError("gold", f"have the shape {result.labels.shape}", gold.shape)
    judged = (gold >= 0) & (result.labels >= 0)
    return _reliability(result.method, result.posterior[judged].max(1), (result.labels == gold)[judged], n_bins)


def calibration_of_seeds(name: str, posterior: FloatArray, gold: IntArray, n_bins: int = 15) -> Calibration:
    """Reliability of a classifier's probabilities, all seeds together; ``error`` is the mean of the seeds' errors.

    The intervals count every task once, not once per seed: seeds see the same tasks.

    Args:
        name: the method.
        posterior: (S, n, C) class probabilities; the most probable class is the label.
        gold: (n,) true class, -1 = unknown.
        n_bins: equally wide groups of (0, 1].

    Raises:
        SettingError: ``gold`` of another length, or no group.
        DataError: no task has gold.
    """
    if gold.shape != posterior.shape[1:2]:
        raise SettingError("gold", f"have the shape {posterior.shape[1:2]}", gold.shape)
    judged = gold >= 0
    probabilities = np.asarray(posterior[:, judged], np.float64)
    confidence, right = probabilities.max(-1), probabilities.argmax(-1) == gold[judged]
    pooled = _reliability(name, confidence.ravel(), right.ravel(), n_bins, len(posterior))
    errors = [_reliability(name, c, r, n_bins).error for c, r in zip(confidence, right, strict=True)]
    return replace(pooled, error=float(np.mean(errors)))


def _reliability(name: str, confidence: FloatArray, right: BoolArray, n_bins: int, copies: int = 1) -> Calibration:
    """Group (n,) labels by their probability; each task is among them ``copies`` times."""
    if n_bins < 1:
        raise SettingError("n_bins", "be at least 1", n_bins)
    if not len(right):
        raise DataError("No task has both a label and gold", "A posterior is calibrated against gold labels.")
    group = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    n, n_right = (np.bincount(group, weights, n_bins) for weights in (None, right))
    with np.errstate(invalid="ignore"):  # empty groups
        bin_confidence, bin_accuracy = np.bincount(group, confidence, n_bins) / n, n_right / n
    hits, misses = n_right / copies, (n - n_right) / copies
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1 / copies), misses + 1, 0.025), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1 / copies), 0.975), 1.0)
    return Calibration(
        reference=name,
        error=float(np.nansum(n * np.abs(bin_accuracy - bin_confidence)) / len(right)),
        accuracy=float(right.mean()),
        confidence=float(confidence.mean()),
        edges=np.linspace(0, 1, n_bins + 1),
        bin_confidence=bin_confidence,
        bin_accuracy=bin_accuracy,
        low=np.where(n > 0, low, np.nan),
        high=np.where(n > 0, high, np.nan),
        n_tasks=n.astype(np.int64),
    )
