"""Learnt worker skills compared with observed ones (Tanno et al. 2019, Fig. 7b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import FromSeeds, over_seeds, seed_rows
from crowdcore.analysis.workers.confusion import WorkerConfusion
from crowdcore.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SkillComparison(FromSeeds):
    """Skill: mean of a confusion's diagonal, here over the classes of which the worker labelled some task.

    Args:
        learned: (n_workers,) of the recovered confusions, mean over seeds; NaN where ``observed`` is.
        learned_spread: (n_workers,) standard deviation over seeds, NaN for one.
        observed: (n_workers,) of the observed confusion; NaN for workers without evidence.
        n_annotations: (n_workers,) annotations behind ``observed`` (expected number when soft).
        n_classes: (n_workers,) classes with evidence.
        correlation: Pearson's, over workers, every worker counting alike.
        weighted: the same, weighted by ``n_annotations``, as few labels say little.
        rank_correlation: Spearman's.
        reference: what was taken for the truth.
        seeds: the seeds that were combined.
        worker_ids: (n_workers,) names.
    """

    learned: FloatArray
    learned_spread: FloatArray
    observed: FloatArray
    n_annotations: FloatArray
    n_classes: IntArray
    correlation: float
    weighted: float
    rank_correlation: float
    reference: str
    seeds: tuple[int, ...]
    worker_ids: pd.Index[str]

    def frame(self) -> pd.DataFrame:
        """One row per worker."""
        return pd.DataFrame(
            {
                "worker": self.worker_ids,
                "annotations": self.n_annotations,
                "classes": self.n_classes,
                "observed_skill": self.observed,
                "learned_skill": self.learned,
                "learned_skill_std": self.learned_spread,
            }
        )


def skill_comparison(
    observed: WorkerConfusion, worker_confusion: FloatArray, *, seeds: Sequence[int], seed: int | None = None
) -> SkillComparison:
    """Compare learnt skills with observed ones, class by class for which both can be had.

    Args:
        observed: from `worker_confusion`, with gold or another reference.
        worker_confusion: (S, n_workers, C, C) as a `TrainingResult` has it.
        seeds: (S,) what the replicas are called.
        seed: one of them, or None for the mean over all.

    Raises:
        SettingError: no such seed.
    """
    rows = seed_rows(seeds, seed)
    known = observed.evidenced
    n = known.sum(1)
    learned = over_seeds(_skill(np.diagonal(worker_confusion[rows], axis1=2, axis2=3), known, n))
    seen = _skill(np.diagonal(observed.matrices, axis1=1, axis2=2), known, n)
    labels = observed.evidence.sum(1)
    some = n > 0
    x, y, weight = seen[some], learned.mean[some], labels[some]
    return SkillComparison(
        learned.mean,
        learned.spread,
        seen,
        labels,
        n,
        correlation(x, y),
        correlation(x, y, weight),
        correlation(ranks(x), ranks(y)),
        observed.reference,
        tuple(seeds)[rows],
        observed.worker_ids,
    )


def _skill(diagonal: FloatArray, known: BoolArray, n: IntArray) -> FloatArray:
    """(..., R, C) diagonals -> (..., R) their mean over the known classes, NaN where there is none."""
    total = np.where(known, diagonal, 0).sum(-1)
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def correlation(x: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
    """Pearson's correlation, each pair counting by its weight; NaN where either does not vary."""
    if len(x) < 2:
        return float("nan")
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    w = w / w.sum()
    dx, dy = x - w @ x, y - w @ y
    vx, vy = float(w @ dx**2), float(w @ dy**2)
    tiny = 1e-24  # of the squares: what rounding leaves of a constant
    if vx <= tiny * float(w @ x**2) or vy <= tiny * float(w @ y**2):
        return float("nan")
    return float(np.clip((w * dx) @ dy / np.sqrt(vx * vy), -1, 1))


def ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, inverse, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[inverse], np.float64)
