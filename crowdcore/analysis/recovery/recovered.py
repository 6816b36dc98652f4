"""Worker confusions that a trained method recovered, and how close each is to the common one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import FromSeeds, over_seeds, seed_rows
from crowdcore.core.errors import SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class RecoveredConfusion(FromSeeds):
    """Confusions of the workers, and three numbers for each; spreads are standard deviations over seeds.

    The numbers are taken of every seed by itself and then averaged, over the rows that the method knows (an
    aggregator's may be NaN). Spreads are NaN for a single seed.

    Args:
        matrices: (n_workers, C, C) mean over seeds, row = true class, column = given label, rows sum to 1; the
            workers' own, or what all of their labels follow (``effective``).
        spread: (n_workers, C, C) of ``matrices``.
        common: (C, C), or (G, C, C) one per group of workers; None where the method has none, or where there are
            groups and several seeds (groups of different seeds are not the same groups).
        common_spread: of ``common``.
        group: (n_workers,) group of each worker; None as above.
        skill: (n_workers,) mean of the diagonal (Tanno, Fig. 7).
        skill_spread: of ``skill``.
        distance: (n_workers,) mean over the entries of (π^r - π^g)², with the common confusion of the
            worker's group; None without a common confusion.
        distance_spread: of ``distance``.
        common_share: (n_workers,) mean of ω over the worker's annotations, NaN for workers without any; None where
            the method has no ω.
        common_share_spread: of ``common_share``.
        n_annotations: (n_workers,) annotations of each worker; matrices of workers without any hold a model's start.
        seeds: the seeds that were combined.
        worker_ids: (n_workers,) names.
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
        """One row per cell: who ("common" among them), true, given, share, share_std; of some workers or all."""
        parts = []
        if self.common is not None and self.common_spread is not None:
            names = ["common"] if self.common.ndim == 2 else [f"common {g + 1}" for g in range(len(self.common))]
            parts.append(matrix_frame(names, self.common, self.common_spread, self.classes))
        rows = np.arange(len(self.matrices)) if workers is None else np.asarray(workers, np.int64)
        parts.append(matrix_frame(self.worker_ids[rows], self.matrices[rows], self.spread[rows], self.classes))
        frame = pd.concat(parts, ignore_index=True)
        return frame if len(self.seeds) > 1 else frame.drop(columns="share_std")


def matrix_frame(
    names: Sequence[str] | pd.Index[str], matrices: FloatArray, spread: FloatArray, classes: Sequence[str]
) -> pd.DataFrame:
    """(K, C, C) or (C, C) matrices as rows who, true, given, share, share_std."""
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
) -> RecoveredConfusion:
    """Sum up what a training run recovered; the arrays are those of a `TrainingResult`.

    Whether seeds may be averaged is another question: see `seeds_comparable`.

    Args:
        dataset: what it was trained on.
        worker_confusion: (S, n_workers, C, C).
        common_confusion: (S, C, C), or (S, G, C, C) with ``group``.
        omega: (S, n_annotations); NaN where the model has none.
        group: (S, n_workers) group of each worker.
        seeds: (S,) what the replicas are called.
        seed: one of them, or None for the mean over all.
        effective: (S, n_workers, C, C) from `effective_confusion`, to sum up what all of a worker's labels follow;
            distances from the common confusion stay those of ``worker_confusion``.

    Raises:
        SettingError: arrays of another dataset, or no such seed.
    """
    shape = (len(seeds), dataset.n_workers, dataset.n_classes, dataset.n_classes)
    if np.shape(worker_confusion) != shape:
        raise SettingError("worker_confusion", f"have the shape {shape}", np.shape(worker_confusion))
    rows = seed_rows(seeds, seed)
    kept = tuple(seeds)[rows]
    own = np.asarray(worker_confusion[rows], np.float64)
    shown = own if effective is None else np.asarray(effective[rows], np.float64)
    matrices = over_seeds(shown)
    skill = over_seeds(_known_mean(np.diagonal(shown, axis1=2, axis2=3)))
    common = distance = share = None
    which = None if group is None else np.asarray(group[rows])
    if common_confusion is not None:
        shared = np.asarray(common_confusion[rows], np.float64)
        distance = over_seeds(_distance(own, shared, which))
        if shared.ndim == 3 or len(kept) == 1:
            common = over_seeds(shared)
    if omega is not None:
        if np.shape(omega) != (len(seeds), dataset.n_annotations):
            raise SettingError("omega", f"have the shape {(len(seeds), dataset.n_annotations)}", np.shape(omega))
        share = over_seeds(_share(dataset, np.asarray(omega[rows], np.float64)))
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
    )


def _distance(own: FloatArray, common: FloatArray, group: IntArray | None) -> FloatArray:
    """(S, R) mean squared difference between each worker's confusion and the common one of its group."""
    if common.ndim == 4 and group is None:
        raise SettingError("group", "name each worker's group, as there are several common confusions", None)
    out = np.empty(own.shape[:2])
    for s, matrices in enumerate(own):
        shared = common[s] if common.ndim == 3 else common[s][group[s]]  # type: ignore[index]
        out[s] = _known_mean(((matrices - shared) ** 2).mean(2))
    return out


def _known_mean(rows: FloatArray) -> FloatArray:
    """(..., C) -> (...,) mean of what is known, NaN where nothing is."""
    known = ~np.isnan(rows)
    n = known.sum(-1)
    return np.asarray(np.divide(np.where(known, rows, 0).sum(-1), n, out=np.full(n.shape, np.nan), where=n > 0))


def _share(dataset: CrowdDataset, omega: FloatArray) -> FloatArray:
    """(S, R) mean ω of each worker's annotations, NaN ones left out; NaN for workers without any."""
    out = np.full((len(omega), dataset.n_workers), np.nan)
    for s, values in enumerate(omega):
        known = ~np.isnan(values)
        n = np.bincount(dataset.worker[known], minlength=dataset.n_workers)
        total = np.bincount(dataset.worker[known], values[known], dataset.n_workers)
        np.divide(total, n, out=out[s], where=n > 0)
    return out
