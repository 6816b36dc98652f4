"""Weighted votes: what every vote-based aggregator shares."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

Ties: TypeAlias = Literal["share", "lowest"]
ROUNDING = 1e-9  # relative: sums of the same weights in another order still tie


def weighted_votes(dataset: CrowdDataset, weight: FloatArray) -> FloatArray:
    """(n_tasks, C) float64, summed ``weight`` (n_annotations,) of the annotations that gave each label."""
    cell = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    votes = np.bincount(cell, weights=weight, minlength=dataset.n_tasks * dataset.n_classes)
    return np.asarray(votes.reshape(dataset.n_tasks, dataset.n_classes), np.float64)


def vote_shares(votes: FloatArray, fallback: FloatArray | None = None) -> FloatArray:
    """Rows of ``votes`` (n_tasks, C) divided by their sum; rows without weight take ``fallback`` (or stay 0)."""
    total = votes.sum(1, keepdims=True)
    shares = votes / np.where(total > 0, total, 1)
    if fallback is not None:
        empty = total[:, 0] <= 0
        shares[empty] = vote_shares(fallback[empty])
    return shares


def winners(votes: FloatArray, ties: Ties) -> FloatArray:
    """(n_tasks, C) one unit per task on its most voted class; tied classes share it, or the lowest takes it."""
    if ties == "lowest":
        won = np.zeros_like(votes)
        won[np.arange(len(votes)), votes.argmax(1)] = 1.0
        return won
    top = votes.max(1, keepdims=True)
    won = (votes >= top - ROUNDING * np.abs(top)).astype(np.float64)
    return np.asarray(won / won.sum(1, keepdims=True))


def accuracy_against(dataset: CrowdDataset, won: FloatArray) -> FloatArray:
    """(n_workers,) mean of ``won[task, label]`` over a worker's annotations, 0 for a worker without any."""
    right = np.bincount(dataset.worker, weights=won[dataset.task, dataset.label], minlength=dataset.n_workers)
    return np.asarray(right / np.maximum(dataset.labels_per_worker, 1))


def too_few_labels(dataset: CrowdDataset, needed: float, cells: int = 1) -> tuple[str, ...]:
    """A warning in words when half the annotating workers have fewer than ``needed`` labels per ``cells`` cells.

    Args:
        needed: labels that one estimated quantity should rest on.
        cells: number of such quantities per worker (C when each class has its own).
    """
    given = dataset.labels_per_worker[dataset.labels_per_worker > 0] / cells
    median = float(np.median(given))
    if median >= needed:
        return ()
    per = " per class" if cells > 1 else ""
    return (
        f"Few labels per worker: the median is {median:.3g}{per}. Below {needed:g}, a worker's estimate mostly "
        "reflects the prior.",
    )
