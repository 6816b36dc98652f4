"""Recovered ω compared with the true ω of a simulated crowd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import FromSeeds, seed_rows
from crowdcore.analysis.recovery.skill_comparison import correlation, ranks
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class OmegaTruth(FromSeeds):
    """Agreement of recovered and true ω.

    Args:
        n: annotations compared.
        edges: (B + 1,) of the bins of ω, from 0 to 1.
        counts: (B, B) annotations, row = bin of the true ω, column = bin of the recovered one.
        correlation: Pearson's.
        rank_correlation: Spearman's.
        mean_true: mean of the true ω.
        mean_recovered: mean of the recovered ω.
        auc: probability that an annotation that used the common confusion has the larger recovered ω of two, ties
            counting half; NaN where the simulation does not say which did.
        auc_limit: the same of the true ω, the best there is to reach.
        seeds: the seeds whose mean ω each annotation has.
    """

    n: int
    edges: FloatArray
    counts: IntArray
    correlation: float
    rank_correlation: float
    mean_true: float
    mean_recovered: float
    auc: float
    auc_limit: float
    seeds: tuple[int, ...]

    def frame(self) -> pd.DataFrame:
        """One row per pair of bins that holds annotations."""
        true, learnt = np.nonzero(self.counts)
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        columns = {"true": middle[true], "recovered": middle[learnt], "annotations": self.counts[true, learnt]}
        return pd.DataFrame(columns)


def omega_truth(
    dataset: CrowdDataset, omega: FloatArray, *, seeds: Sequence[int], seed: int | None = None, bins: int = 20
) -> OmegaTruth:
    """Compare the annotations' ω (their mean over seeds) with the simulation's.

    Args:
        dataset: a simulated crowd.
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        seeds: (S,) what the replicas are called.
        seed: one of them, or None for the mean over all.
        bins: of the joint histogram, on each side.

    Raises:
        DataError: the dataset's true ω is not known.
        SettingError: ω of another dataset, or no such seed.
    """
    truth = dataset.truth
    if truth is None or truth.omega is None:
        raise DataError(f"{dataset.name} does not say which ω generated its labels", "Only some simulations do.")
    if np.shape(omega) != (len(seeds), dataset.n_annotations):
        raise SettingError("omega", f"have the shape {(len(seeds), dataset.n_annotations)}", np.shape(omega))
    rows = seed_rows(seeds, seed)
    learnt = np.asarray(omega[rows], np.float64).mean(0)
    known = ~np.isnan(learnt)
    learnt, true = learnt[known], np.asarray(truth.omega, np.float64)[known]
    edges = np.linspace(0, 1, bins + 1)
    at = [np.clip((v * bins).astype(np.int64), 0, bins - 1) for v in (true, learnt)]
    counts = np.bincount(at[0] * bins + at[1], minlength=bins * bins).reshape(bins, bins)
    used = None if truth.used_common is None else truth.used_common[known]
    none = float("nan")
    return OmegaTruth(
        len(learnt),
        edges,
        counts,
        correlation(true, learnt),
        correlation(ranks(true), ranks(learnt)),
        float(true.mean()) if len(true) else none,
        float(learnt.mean()) if len(learnt) else none,
        none if used is None else _auc(learnt, used),
        none if used is None else _auc(true, used),
        tuple(seeds)[rows],
    )


def _auc(score: FloatArray, positive: BoolArray) -> float:
    """Area under the ROC curve, by ranks; NaN where only one kind occurs."""
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    total = float(ranks(score)[positive].sum())
    return (total - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
