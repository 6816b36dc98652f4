"""Ranking of tasks by ω, the share of labels from the common confusion (CoNAL, Fig. 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.labels.noise import annotation_entropy
from crowdcore.analysis.labels.task_disagreement import task_disagreement
from crowdcore.analysis.recovery.seeds import FromSeeds, over_seeds, seed_rows
from crowdcore.analysis.recovery.skill_comparison import correlation, ranks
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class OmegaRanking(FromSeeds):
    """Mean ω̄_i of ω_i^r over the workers of task i, and the classes in both halves of the ranking.

    Args:
        task: (n,) numbers of the tasks that have ω, largest ω̄ first (ties: lower number first).
        omega: (n,) their ω̄, mean over seeds.
        spread: (n,) standard deviation of ω̄ over seeds, NaN for one.
        n_workers: (n,) workers who labelled the task.
        entropy: (n,) entropy of the task's labels in nats.
        label: (n,) what the reference says, -1 where it knows nothing.
        n_top: tasks in the top half; with an odd number the middle one is among them.
        top: (C,) tasks of each true class in the top half (expected number when soft).
        bottom: (C,) the same of the bottom half.
        class_omega: (C,) mean ω̄ of the tasks of each class, NaN for classes without any.
        class_entropy: (C,) annotation entropy of each class in nats (CoNAL, App. C).
        task_correlation: Spearman's, between ω̄ and the entropy of the task's labels.
        class_correlation: Spearman's, between ``class_omega`` and ``class_entropy``.
        seed_correlation: mean Spearman correlation of the tasks' ω̄ between two seeds, over all seeds of the run,
            whichever is shown; NaN for a single one.
        task_ids: (n,) names.
        reference: what was taken for the truth.
        seeds: the seeds that were combined.
    """

    task: IntArray
    omega: FloatArray
    spread: FloatArray
    n_workers: IntArray
    entropy: FloatArray
    label: IntArray
    n_top: int
    top: FloatArray
    bottom: FloatArray
    class_omega: FloatArray
    class_entropy: FloatArray
    task_correlation: float
    class_correlation: float
    seed_correlation: float
    task_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    seeds: tuple[int, ...]

    def histogram(self, bins: int = 50) -> tuple[FloatArray, IntArray]:
        """Edges (bins + 1,) from 0 to 1, and (C + 1, bins) tasks of each class by ω̄; the last row counts all tasks."""
        n = len(self.classes)
        at = np.clip((self.omega * bins).astype(np.int64), 0, bins - 1)
        known = self.label >= 0
        counts = np.bincount(self.label[known] * bins + at[known], minlength=n * bins).reshape(n, bins)
        return np.linspace(0, 1, bins + 1), np.vstack([counts, np.bincount(at, minlength=bins)])

    def frame(self) -> pd.DataFrame:
        """One row per task in the order of the ranking; index = task number."""
        names = np.array([*self.classes, ""], dtype=object)
        n = len(self.task)
        columns = {
            "rank": np.arange(1, n + 1),
            "task": self.task_ids,
            "omega": self.omega,
            "omega_std": self.spread,
            "half": np.where(np.arange(n) < self.n_top, "top", "bottom"),
            self.reference: names[self.label],
            "workers": self.n_workers,
            "entropy": self.entropy,
        }
        if len(self.seeds) == 1:
            del columns["omega_std"]
        return pd.DataFrame(columns, index=self.task)

    def halves(self) -> pd.DataFrame:
        """One row per class: tasks in the top and in the bottom half, mean ω̄, annotation entropy."""
        return pd.DataFrame(
            {
                "class": self.classes,
                "top": self.top,
                "bottom": self.bottom,
                "omega": self.class_omega,
                "entropy": self.class_entropy,
            }
        )


def omega_ranking(
    dataset: CrowdDataset,
    omega: FloatArray,
    reference: ReferenceLike = "gold",
    *,
    seeds: Sequence[int],
    seed: int | None = None,
) -> OmegaRanking:
    """Rank tasks by ω̄, and count the true classes in the top and the bottom half.

    A worker who labelled a task twice counts once. ω̄ is taken of every seed and then averaged, so that tasks are
    ranked by the mean over seeds. Time and memory follow the annotations.

    Args:
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        reference: what to take for the truth.
        seeds: (S,) what the replicas are called.
        seed: one of them, or None for the mean over all.

    Raises:
        DataError: no annotation has ω, or there is no usable reference.
        SettingError: ω of another dataset, or no such seed.
    """
    if np.shape(omega) != (len(seeds), dataset.n_annotations):
        raise SettingError("omega", f"have the shape {(len(seeds), dataset.n_annotations)}", np.shape(omega))
    truth = resolve_reference(dataset, reference)
    rows = seed_rows(seeds, seed)
    every = np.asarray(omega, np.float64)
    known = ~np.isnan(every).any(0)
    if not known.any():
        raise DataError("No annotation has ω", "The method's ω may cover other tasks than those that are labelled.")
    pair = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    of = np.flatnonzero(known)
    of = of[np.unique(pair[of], return_index=True)[1]]
    n_workers = np.bincount(dataset.task[of], minlength=dataset.n_tasks)
    ranked = np.flatnonzero(n_workers)
    sums = np.stack([np.bincount(dataset.task[of], v[of], dataset.n_tasks)[ranked] for v in every])
    of_seeds = sums / n_workers[ranked]
    means = over_seeds(of_seeds[rows])
    order = np.argsort(-means.mean, kind="stable")
    task = ranked[order]
    n_top = (len(task) + 1) // 2
    spread = task_disagreement(dataset, truth)
    class_entropy = annotation_entropy(dataset, truth).entropy
    c = dataset.n_classes
    top, bottom = _per_class(truth, c, task[:n_top]), _per_class(truth, c, task[n_top:])
    ones = top + bottom
    total = _per_class(truth, c, task, means.mean[order])
    class_omega = np.divide(total, ones, out=np.full(len(ones), np.nan), where=ones > 0)
    both = ~np.isnan(class_omega) & ~np.isnan(class_entropy)
    return OmegaRanking(
        task=task,
        omega=means.mean[order],
        spread=means.spread[order],
        n_workers=n_workers[task],
        entropy=spread.entropy[task],
        label=truth.labels[task],
        n_top=n_top,
        top=top,
        bottom=bottom,
        class_omega=class_omega,
        class_entropy=class_entropy,
        task_correlation=correlation(ranks(means.mean[order]), ranks(spread.entropy[task])),
        class_correlation=correlation(ranks(class_omega[both]), ranks(class_entropy[both])),
        seed_correlation=_between_seeds(of_seeds),
        task_ids=dataset.task_ids[task],
        classes=dataset.classes,
        reference=truth.name,
        seeds=tuple(seeds)[rows],
    )


def _per_class(truth: Reference, n_classes: int, task: IntArray, weight: FloatArray | None = None) -> FloatArray:
    """(C,) tasks of each true class, those left out that the reference does not know; or their weights' sum."""
    known = truth.labels[task] >= 0
    task, w = task[known], np.ones(int(known.sum())) if weight is None else weight[known]
    if truth.posterior is not None:
        return np.asarray(w @ truth.posterior[task])
    return np.asarray(np.bincount(truth.labels[task], w, n_classes), np.float64)


def _between_seeds(values: FloatArray) -> float:
    """Mean Spearman correlation of the rows, NaN where no two of them vary."""
    ranked = [ranks(row) for row in values]
    pairs = [correlation(a, b) for k, a in enumerate(ranked) for b in ranked[:k]]
    known = [r for r in pairs if r == r]
    return float(np.mean(known)) if known else float("nan")
