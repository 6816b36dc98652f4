"""ω, the share of labels from the common confusion (CoNAL): ranking of tasks, distribution, and the true ω."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.analysis.labels.summary import annotation_entropy
from crowdcore.analysis.recovery.seeds import FromSeeds, check_omega, of_result, over_seeds, seed_rows
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import correlation, divide, ranks
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

LEAST_SPREAD = 0.03  # standard deviation over annotations below which ω is one number
GOOD, MODERATE = 0.8, 0.5  # rank correlation of ω̄ between seeds


class OmegaJudgement(NamedTuple):
    """Judgement of how reliable the ranking of tasks by ω̄ is.

    Attributes:
        agreement: "good", "moderate", "poor", or "" for a single seed.
        words: a warning, one sentence; empty if there is none.
    """

    agreement: str
    words: str


def judge_omega(spread: float, seed_correlation: float) -> OmegaJudgement:
    """Judge the ranking of tasks by ω̄.

    Args:
        spread: standard deviation of ω over annotations.
        seed_correlation: Spearman's correlation of ω̄ between seeds, NaN for a single seed.

    Examples:
        >>> judge_omega(0.2, 0.9)
        OmegaJudgement(agreement='good', words='')
        >>> judge_omega(0.2, 0.1).agreement
        'poor'
    """
    r = seed_correlation
    agreement = "" if r != r else "good" if r >= GOOD else "moderate" if r >= MODERATE else "poor"
    if not spread >= LEAST_SPREAD:
        words = f"ω hardly varies (standard deviation {spread:.3f} over annotations): tasks cannot be ranked."
    elif agreement == "poor":
        words = f"Seeds rank the tasks differently (rank correlation {r:z.2f}): the ranking is not reliable."
    elif agreement == "moderate":
        words = f"Seeds agree moderately (rank correlation {r:z.2f}): read the ends of the ranking, not its ranks."
    else:
        words = ""
    return OmegaJudgement(agreement, words)


@dataclass(frozen=True, eq=False)
class OmegaRanking(FromSeeds):
    """Mean ω̄_i of ω_i^r over the workers of task i, and the classes in both halves of the ranking.

    Args:
        task: (n,) numbers of the tasks that have ω, largest ω̄ first (ties: lower number first).
        omega: (n,) their ω̄, mean over seeds.
        spread: (n,) standard deviation of ω̄ over seeds, NaN for one.
        n_workers: (n,) workers who labelled the task.
        entropy: (n,) entropy of the task's labels in nats.
        label: (n,) class by the reference, -1 where unknown.
        n_top: tasks in the top half, which has the middle one of an odd number.
        top, bottom: (C,) tasks of each true class in the two halves (expected numbers when soft).
        class_omega: (C,) mean ω̄ of the tasks of each class, NaN for classes without any.
        class_entropy: (C,) annotation entropy of each class in nats (CoNAL, App. C).
        task_correlation: Spearman's, between ω̄ and the entropy of the task's labels.
        class_correlation: Spearman's, between ``class_omega`` and ``class_entropy``.
        seed_correlation: mean Spearman correlation of the tasks' ω̄ between two seeds, over all seeds of the run,
            whichever is shown; NaN for a single one.
        task_ids: (n,) ids.
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
        columns = {"class": self.classes, "top": self.top, "bottom": self.bottom}
        return pd.DataFrame({**columns, "omega": self.class_omega, "entropy": self.class_entropy})


@of_result
def omega_ranking(
    dataset: CrowdDataset,
    omega: FloatArray,
    reference: ReferenceLike = None,
    *,
    seeds: Sequence[int],
    seed: int | None = None,
) -> OmegaRanking:
    """Rank tasks by ω̄, and count the true classes in the top and the bottom half.

    A worker who labelled a task twice counts once. Tasks are ranked by the mean of ω̄ over seeds. Time and memory are
    linear in the annotations.

    Args:
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        reference: what counts as the truth.
        seeds, seed: (S,) names of the replicas, and one of them, or None for the mean over all.

    Raises:
        DataError: no annotation has ω, or there is no usable reference.
        SettingError: ω of another dataset, or no such seed.
    """
    rows = seed_rows(seeds, seed)
    every = check_omega(dataset, omega, len(seeds))
    truth = resolve_reference(dataset, reference)
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
    class_omega = divide(total, ones)
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
    """(C,) number of the tasks, or sum of their weights, by true class; tasks of unknown class do not count."""
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


By = Literal["class", "worker"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class OmegaSpread(FromSeeds):
    """ω of annotations in K groups: the true classes of their tasks, or their workers.

    Args:
        by: "class" or "worker".
        names: (K,) of the groups.
        n: (K,) annotations with ω.
        mean: (K,) their mean ω, NaN for groups without any.
        quantiles: (K, 5) at `QUANTILES`, by linear interpolation.
        edges: (B + 1,) of the bins between the smallest and the largest ω.
        counts: (K, B) annotations in each bin, the last bin with its upper edge.
        reference: what counted as the truth (a soft one by its most probable class); "" for workers.
        seeds: the seeds whose mean ω each annotation has.
    """

    by: By
    names: pd.Index[str]
    n: IntArray
    mean: FloatArray
    quantiles: FloatArray
    edges: FloatArray
    counts: IntArray
    reference: str
    seeds: tuple[int, ...]

    def frame(self) -> pd.DataFrame:
        """One row per group."""
        columns = {self.by: self.names, "annotations": self.n, "mean": self.mean}
        columns |= {f"{100 * q:.0f} %": self.quantiles[:, k] for k, q in enumerate(QUANTILES)}
        return pd.DataFrame(columns)


@of_result
def omega_spread(
    dataset: CrowdDataset,
    omega: FloatArray,
    by: By = "class",
    reference: ReferenceLike = None,
    *,
    seeds: Sequence[int],
    seed: int | None = None,
    n_bins: int = 40,
) -> OmegaSpread:
    """Distribution of the annotations' ω (their mean over seeds) per true class or per worker.

    Args:
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        by: group annotations by the true class of their task, or by worker.
        reference: what counts as the truth; not used for workers.
        seeds, seed: (S,) names of the replicas, and one of them, or None for the mean over all.
        n_bins: of the histograms.

    Raises:
        DataError: no usable reference.
        SettingError: ω of another dataset, no such seed or grouping.
    """
    if by not in get_args(By):
        raise SettingError("by", f"be one of {', '.join(get_args(By))}", by)
    rows = seed_rows(seeds, seed)
    values = check_omega(dataset, omega, len(seeds), rows).mean(0)
    if by == "class":
        truth = resolve_reference(dataset, reference)
        group, names, reference_name = truth.labels[dataset.task], pd.Index(dataset.classes), truth.name
    else:
        group, names, reference_name = dataset.worker, dataset.worker_ids, ""
    known = ~np.isnan(values) & (group >= 0)
    values, group = values[known], group[known].astype(np.int64)
    n = np.bincount(group, minlength=len(names))
    mean = divide(np.bincount(group, values, len(names)), n)
    edges = _edges(values, n_bins)
    inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    counts = np.bincount(group * n_bins + inside, minlength=len(names) * n_bins).reshape(-1, n_bins)
    quantiles = _quantiles(values, group, n)
    return OmegaSpread(by, names, n, mean, quantiles, edges, counts, reference_name, tuple(seeds)[rows])


def _edges(values: FloatArray, bins: int) -> FloatArray:
    """(bins + 1,) edges of equal bins from the smallest to the largest value, which span 0.001 at least."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = max(0.0, 1e-3 - (high - low)) / 2
    return np.linspace(low - margin, high + margin, bins + 1)


def _quantiles(values: FloatArray, group: IntArray, n: IntArray) -> FloatArray:
    """(K, 5) quantiles of each group, NaN for empty ones."""
    sorted_values = values[np.lexsort((values, group))]
    start = np.cumsum(n) - n
    out = np.full((len(n), len(QUANTILES)), np.nan)
    some = n > 0
    for k, q in enumerate(QUANTILES):
        at = q * (n[some] - 1)
        low = np.floor(at).astype(np.int64)
        high = np.minimum(low + 1, n[some] - 1)
        below, above = sorted_values[start[some] + low], sorted_values[start[some] + high]
        out[some, k] = below + (at - low) * (above - below)
    return out


@dataclass(frozen=True, eq=False)
class OmegaTruth(FromSeeds):
    """Agreement of recovered and true ω.

    Args:
        n: annotations compared.
        edges: (B + 1,) of the bins of ω, from 0 to 1.
        counts: (B, B) annotations, row = bin of the true ω, column = bin of the recovered one.
        correlation: Pearson's.
        rank_correlation: Spearman's.
        mean_true, mean_recovered: means of the true and the recovered ω.
        auc: area under the ROC curve of the recovered ω, by which annotations used the common confusion; NaN where
            the simulation does not know.
        auc_limit: the same of the true ω, an upper limit.
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


@of_result
def omega_truth(
    dataset: CrowdDataset, omega: FloatArray, *, seeds: Sequence[int], seed: int | None = None, n_bins: int = 20
) -> OmegaTruth:
    """Compare the annotations' ω (their mean over seeds) with the simulation's.

    Args:
        dataset: a simulated crowd.
        omega: (S, n_annotations) as a `TrainingResult` has it; NaN where the model has none.
        seeds, seed: (S,) names of the replicas, and one of them, or None for the mean over all.
        n_bins: of the joint histogram, on each side.

    Raises:
        DataError: the dataset's true ω is not known.
        SettingError: ω of another dataset, or no such seed.
    """
    truth = dataset.truth
    if truth is None or truth.omega is None:
        raise DataError(f"{dataset.name} does not say which ω generated its labels", "Only some simulations do.")
    rows = seed_rows(seeds, seed)
    learnt = check_omega(dataset, omega, len(seeds), rows).mean(0)
    known = ~np.isnan(learnt)
    learnt, true = learnt[known], np.asarray(truth.omega, np.float64)[known]
    edges = np.linspace(0, 1, n_bins + 1)
    at = [np.clip((v * n_bins).astype(np.int64), 0, n_bins - 1) for v in (true, learnt)]
    counts = np.bincount(at[0] * n_bins + at[1], minlength=n_bins * n_bins).reshape(n_bins, n_bins)
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
