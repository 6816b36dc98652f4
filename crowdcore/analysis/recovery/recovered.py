"""Worker confusions that a trained method recovered: summaries, effective confusions, skills beside observed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import FromSeeds, check_by_worker, check_omega, of_result, over_seeds, seed_rows
from crowdcore.analysis.statistics import correlation, divide, group_means, known_mean, ranks
from crowdcore.analysis.workers.confusion import WorkerConfusion, confusion_of_counts, count_interval
from crowdcore.core.errors import SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door


@dataclass(frozen=True, eq=False)
class RecoveredConfusion(FromSeeds):
    """Confusions of the workers with three measures of each; spreads are standard deviations over seeds.

    Measures are computed for each seed, over the rows that are not NaN, and then averaged. Spreads are NaN for a single
    seed.

    Args:
        matrices, spread: (n_workers, C, C) mean and standard deviation over seeds, row = true class, column = given
            label, rows sum to 1; counted, or the workers' own confusions, or the effective ones.
        common, common_spread: (C, C), or (G, C, C) one per group of workers; None where the method has none, or where
            there are groups and several seeds (groups of different seeds are not the same groups).
        group: (n_workers,) group of each worker; None as above.
        skill, skill_spread: (n_workers,) mean of the diagonal (Tanno, Fig. 7).
        distance, distance_spread: (n_workers,) mean over the entries of (π^r - π^g)², with the common confusion of the
            worker's group; None without a common confusion.
        common_share, common_share_spread: (n_workers,) mean of ω over the worker's annotations, NaN for workers
            without any; None where the method has no ω.
        n_annotations: (n_workers,) annotations; a model's matrix of a worker without any is as initialised.
        counts: (n_workers, C, C) expected labels behind counted ``matrices``, mean over seeds; None for others.
        seeds: the seeds that were combined.
    """

    matrices: FloatArray
    spread: FloatArray
    common: FloatArray | None
    common_spread: FloatArray | None
    group: IntArray | None
    skill: FloatArray
    skill_spread: FloatArray
    distance: FloatArray | None
    distance_spread: FloatArray | None
    common_share: FloatArray | None
    common_share_spread: FloatArray | None
    n_annotations: IntArray
    seeds: tuple[int, ...]
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    counts: FloatArray | None = None

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray] | None:
        """(n_workers, C, C) ends of the interval of every counted entry (`count_interval`); None for other matrices."""
        return None if self.counts is None else count_interval(self.counts, level)

    def frame(self) -> pd.DataFrame:
        """One row per worker; columns that the method does not have are left out, spreads of one seed too."""
        columns = {"worker": self.worker_ids, "annotations": self.n_annotations}
        for name in ("skill", "distance", "common_share"):
            values, spread = getattr(self, name), getattr(self, f"{name}_spread")
            if values is not None:
                columns[name] = values
                if len(self.seeds) > 1:
                    columns[f"{name}_std"] = spread
        if self.group is not None:
            columns["group"] = self.group + 1
        return pd.DataFrame(columns)

    def matrices_frame(self, workers: Sequence[int] | None = None) -> pd.DataFrame:
        """A row per cell: who ("common" among them), true, given, share, share_std, low, high; some workers or all."""
        parts = []
        if self.common is not None and self.common_spread is not None:
            names = ["common"] if self.common.ndim == 2 else [f"common {g + 1}" for g in range(len(self.common))]
            parts.append(matrix_frame(names, self.common, self.common_spread, self.classes))
        rows = np.arange(len(self.matrices)) if workers is None else np.asarray(workers, np.int64)
        cells = matrix_frame(self.worker_ids[rows], self.matrices[rows], self.spread[rows], self.classes)
        if (ends := self.interval()) is not None:
            cells = cells.assign(low=ends[0][rows].ravel(), high=ends[1][rows].ravel())
        parts.append(cells)
        frame = pd.concat(parts, ignore_index=True)
        return frame if len(self.seeds) > 1 else frame.drop(columns="share_std")


def matrix_frame(
    names: Sequence[str] | pd.Index[str], matrices: FloatArray, spread: FloatArray, classes: Sequence[str]
) -> pd.DataFrame:
    """One row per cell of (K, C, C) or (C, C) matrices: who, true, given, share, share_std."""
    n = len(classes)
    row, true, given = np.indices((len(names), n, n)).reshape(3, -1)
    class_names = pd.Index(classes)
    return pd.DataFrame(
        {
            "who": pd.Index(names)[row],
            "true": class_names[true],
            "given": class_names[given],
            "share": matrices.ravel(),
            "share_std": spread.ravel(),
        }
    )


@of_result
def recovered_confusion(
    dataset: CrowdDataset,
    worker_confusion: FloatArray,
    common_confusion: FloatArray | None = None,
    omega: FloatArray | None = None,
    group: IntArray | None = None,
    *,
    seeds: Sequence[int],
    seed: int | None = None,
    effective: FloatArray | None = None,
    counts: FloatArray | None = None,
) -> RecoveredConfusion:
    """Summarise the confusions that a training run recovered; the arrays are those of a `TrainingResult`.

    With ``counts`` a worker's confusion is counted by the run's posterior (`confusion_of_counts`) and does not depend
    on how the method explains labels. `seeds_comparable` judges whether seeds may be averaged.

    Args:
        dataset: what it was trained on.
        worker_confusion: (S, n_workers, C, C).
        common_confusion: (S, C, C), or (S, G, C, C) with ``group``.
        omega: (S, n_annotations); NaN where the model has none.
        group: (S, n_workers) group of each worker.
        seeds, seed: (S,) names of the replicas, and one of them, or None for the mean over all.
        effective: (S, n_workers, C, C) from `effective_confusion`, to summarise in place of ``worker_confusion``;
            distances from the common confusion stay those of ``worker_confusion``.
        counts: (S, n_workers, C, C) labels of each worker by class, to use in place of both.

    Raises:
        SettingError: arrays of another dataset, or no such seed.
    """
    rows = seed_rows(seeds, seed)
    kept = tuple(seeds)[rows]
    own = check_by_worker(dataset, "worker_confusion", worker_confusion, len(seeds), rows)
    shown = own if effective is None else np.asarray(effective[rows], np.float64)
    if counts is not None:
        shown = np.stack([confusion_of_counts(one) for one in np.asarray(counts[rows], np.float64)])
    matrices = over_seeds(shown)
    skill = over_seeds(known_mean(np.diagonal(shown, axis1=2, axis2=3)))
    common = distance = share = None
    which = None if group is None else np.asarray(group[rows])
    if common_confusion is not None:
        shared = np.asarray(common_confusion[rows], np.float64)
        distance = over_seeds(_distance(own, shared, which))
        if shared.ndim == 3 or len(kept) == 1:
            common = over_seeds(shared)
    if omega is not None:
        share = over_seeds(_mean_omega(dataset, check_omega(dataset, omega, len(seeds), rows)))
    return RecoveredConfusion(
        matrices=matrices.mean,
        spread=matrices.spread,
        common=None if common is None else common.mean,
        common_spread=None if common is None else common.spread,
        group=which[0] if which is not None and len(kept) == 1 else None,
        skill=skill.mean,
        skill_spread=skill.spread,
        distance=None if distance is None else distance.mean,
        distance_spread=None if distance is None else distance.spread,
        common_share=None if share is None else share.mean,
        common_share_spread=None if share is None else share.spread,
        n_annotations=dataset.labels_per_worker,
        seeds=kept,
        worker_ids=dataset.worker_ids,
        classes=dataset.classes,
        counts=None if counts is None else np.asarray(counts[rows], np.float64).mean(0),
    )


recovered = recovered_confusion


def _distance(own: FloatArray, common: FloatArray, group: IntArray | None) -> FloatArray:
    """(S, R) mean squared difference between each worker's confusion and the common one of its group."""
    if common.ndim == 4 and group is None:
        raise SettingError("group", "name each worker's group, as there are several common confusions", None)
    out = np.empty(own.shape[:2])
    for s, matrices in enumerate(own):
        shared = common[s] if common.ndim == 3 else common[s][group[s]]  # type: ignore[index]
        out[s] = known_mean(((matrices - shared) ** 2).mean(2))
    return out


def _mean_omega(dataset: CrowdDataset, omega: FloatArray) -> FloatArray:
    """(S, R) mean of ω (S, n_annotations) over each worker's annotations; NaN for workers without any."""
    return np.stack([group_means(values, dataset.worker, dataset.n_workers) for values in omega])


@of_result
def effective_confusion(
    dataset: CrowdDataset,
    worker_confusion: FloatArray,
    common_confusion: FloatArray | None = None,
    omega: FloatArray | None = None,
    group: IntArray | None = None,
) -> FloatArray:
    """``ω̄^r π^g + (1 - ω̄^r) π^r`` with ω̄^r the mean of ω over the worker's annotations; without ω, π^r itself.

    Args:
        dataset: whose annotations ω belongs to.
        worker_confusion: (..., R, C, C), rows sum to 1.
        common_confusion: (..., C, C), or (..., G, C, C) with ``group``.
        omega: (..., n_annotations); NaN entries do not count.
        group: (..., R) group of each worker.

    Returns:
        (..., R, C, C) float64; NaN for workers without an ω.
    """
    own = np.asarray(worker_confusion, np.float64)
    if common_confusion is None or omega is None:
        return own
    shared = np.asarray(common_confusion, np.float64)
    if shared.ndim == own.ndim and group is not None:
        shared = np.take_along_axis(shared, np.asarray(group)[..., None, None].astype(np.int64), -3)
    else:
        shared = shared[..., None, :, :]
    flat = np.asarray(omega, np.float64).reshape(-1, dataset.n_annotations)
    mean = _mean_omega(dataset, flat).reshape(*np.shape(omega)[:-1], dataset.n_workers, 1, 1)
    return np.asarray(mean * shared + (1 - mean) * own)


@door
def names_at_risk(dataset: CrowdDataset, effective: FloatArray) -> list[tuple[int, int]]:
    """Classes whose tasks would most often get another label; labels alone cannot name these.

    Args:
        dataset: weighs each worker by their annotations.
        effective: (R, C, C), or (S, R, C, C) to average over S; see `effective_confusion`.

    Returns:
        (class, most frequent label) of each class for which the two differ.
    """
    matrices = np.asarray(effective, np.float64).reshape(-1, *np.shape(effective)[-3:])
    weight = np.where(np.isnan(matrices).any((-2, -1)), 0.0, dataset.labels_per_worker.astype(np.float64))
    pooled = np.einsum("sr,srab->ab", weight, np.nan_to_num(matrices))
    return [(c, int(pooled[c].argmax())) for c in range(len(pooled)) if pooled[c].argmax() != c and pooled[c].any()]


@dataclass(frozen=True, eq=False)
class SkillComparison(FromSeeds):
    """Learnt and observed skill: mean of a confusion's diagonal, over the classes that the worker met.

    Args:
        learned: (n_workers,) of the recovered confusions, mean over seeds; NaN where ``observed`` is.
        learned_spread: (n_workers,) standard deviation over seeds, NaN for one.
        observed: (n_workers,) of the observed confusion; NaN for workers without evidence.
        n_annotations: (n_workers,) annotations behind ``observed`` (expected number when soft).
        n_classes: (n_workers,) classes with evidence.
        correlation: Pearson's, over workers with equal weights.
        weighted: the same, weighted by ``n_annotations``.
        rank_correlation: Spearman's.
        seeds: the seeds that were combined.
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
        of = {"worker": self.worker_ids, "annotations": self.n_annotations, "classes": self.n_classes}
        skills = {"observed_skill": self.observed, "learned_skill": self.learned}
        return pd.DataFrame({**of, **skills, "learned_skill_std": self.learned_spread})


def skill_comparison(
    observed: WorkerConfusion, worker_confusion: FloatArray, *, seeds: Sequence[int], seed: int | None = None
) -> SkillComparison:
    """Compare learnt skills with observed ones, over the classes for which both are known.

    Args:
        observed: from `worker_confusion`, with gold or another reference.
        worker_confusion: (S, n_workers, C, C) as a `TrainingResult` has it.
        seeds, seed: (S,) names of the replicas, and one of them, or None for the mean over all.

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
    return divide(np.where(known, diagonal, 0).sum(-1), n)
