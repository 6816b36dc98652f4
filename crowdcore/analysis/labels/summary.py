"""Summary of a dataset: counts, noise, balance, agreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.labels.agreement import Agreement, agreement
from crowdcore.analysis.labels.noise import (
    AnnotationEntropy,
    ClassBalance,
    NoiseRates,
    annotation_entropy,
    class_balance,
    correctness,
    noise_rates,
)
from crowdcore.analysis.labels.votes import majority_labels, sparse_votes
from crowdcore.analysis.reference import ReferenceLike, as_judge, default_reference, resolve_reference
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary statistics of a dataset; shares lie between 0 and 1.

    Attributes:
        name: the dataset.
        reference: what was taken for the truth.
        n_tasks: N, tasks without annotation included.
        n_annotated: tasks with at least one annotation.
        n_gold: annotated tasks with a gold label.
        n_workers: R, workers without annotation included.
        n_active: workers with at least one annotation.
        n_classes: C.
        n_annotations: A, repeats included.
        n_repeats: annotations by a worker who had labelled the task before.
        annotations_per_worker: (R,).
        tasks_by_annotations: (most + 1,) how many tasks have 0, 1, 2, … annotations.
        noise: noise rates.
        balance: true classes and given labels.
        entropy: entropy of the labels of each true class.
        worker_accuracy: unweighted mean of the workers' accuracies (workers with none that counts are left out).
        majority_vote_accuracy: share of known tasks that the majority (ties to the lowest class) labels right; NaN
            if the reference is the majority vote itself.
        agreement: coefficients without intervals and pairs; `analysis.agreement` gives those.
        n_sentences: sentences, where the tasks are their tokens, else 0.
    """

    name: str
    reference: str
    classes: tuple[str, ...]
    n_tasks: int
    n_annotated: int
    n_gold: int
    n_workers: int
    n_active: int
    n_classes: int
    n_annotations: int
    n_repeats: int
    annotations_per_worker: IntArray
    tasks_by_annotations: IntArray
    noise: NoiseRates
    balance: ClassBalance
    entropy: AnnotationEntropy
    worker_accuracy: float
    majority_vote_accuracy: float
    agreement: Agreement
    n_sentences: int = 0

    def frame(self) -> pd.DataFrame:
        """One row per quantity: its name and its value."""
        per_worker = self.annotations_per_worker[self.annotations_per_worker > 0]
        rows = {
            **(
                {"sentences": self.n_sentences, "tokens": self.n_tasks} if self.n_sentences else {"tasks": self.n_tasks}
            ),
            "tasks with annotations": self.n_annotated,
            "tasks with annotations and gold": self.n_gold,
            "workers": self.n_workers,
            "workers with annotations": self.n_active,
            "classes": self.n_classes,
            "annotations": self.n_annotations,
            "repeats by the same worker": self.n_repeats,
            "annotations per annotated task, mean": self.n_annotations / max(self.n_annotated, 1),
            "annotations per active worker, median": float(np.median(per_worker)) if len(per_worker) else np.nan,
            "tasks where no worker gave the true label (N.R.1), %": 100 * self.noise.tasks_without_truth,
            "annotations that are wrong (N.R.2), %": 100 * self.noise.wrong_annotations,
            "mean of the workers' accuracies, %": 100 * self.worker_accuracy,
            "accuracy of the majority vote, %": 100 * self.majority_vote_accuracy,
            "raw agreement": self.agreement.raw.value,
            "Krippendorff's α": self.agreement.alpha.value,
        }
        return pd.DataFrame({"quantity": list(rows), "value": list(rows.values())})


def summary(dataset: CrowdDataset, reference: ReferenceLike | None = None) -> Summary:
    """Counts, noise rates, balance, entropies and agreement of a dataset.

    Args:
        reference: what to take for the truth; None: gold where there is some, else `auto`.

    Raises:
        DataError: no annotations, or the reference cannot be had.

    Examples:
        >>> import crowdcore as cc
        >>> found = cc.analysis.summary(cc.load_dataset("demo"))
        >>> found.n_workers, found.n_annotations
        (40, 5254)
        >>> round(100 * found.noise.wrong_annotations, 2)
        24.55
    """
    truth = resolve_reference(dataset, default_reference(dataset) if reference is None else reference)
    judge = as_judge(dataset, truth)
    right = correctness(dataset, judge)
    counted = ~np.isnan(right)
    total = np.bincount(dataset.worker[counted], minlength=dataset.n_workers)
    correct = np.bincount(dataset.worker[counted], weights=right[counted], minlength=dataset.n_workers)
    majority = majority_labels(sparse_votes(dataset))
    known = np.flatnonzero(judge.known & dataset.annotated)
    if judge.posterior is None:
        hits = (majority[known] == judge.labels[known]).astype(np.float64)
    else:
        hits = judge.posterior[known, majority[known]]
    circular = truth.name == "majority-vote" or not len(known)
    alike = agreement(dataset, resamples=0, pairs=False)
    return Summary(
        dataset.name,
        truth.name,
        dataset.classes,
        dataset.n_tasks,
        int(dataset.annotated.sum()),
        int((dataset.gold[dataset.annotated] >= 0).sum()),
        dataset.n_workers,
        int((dataset.labels_per_worker > 0).sum()),
        dataset.n_classes,
        dataset.n_annotations,
        alike.n_repeats,
        dataset.labels_per_worker,
        np.bincount(dataset.labels_per_task),
        noise_rates(dataset, judge),
        class_balance(dataset, truth),
        annotation_entropy(dataset, truth),
        float((correct[total > 0] / total[total > 0]).mean()) if total.any() else np.nan,
        np.nan if circular else float(hits.mean()),
        alike,
        0 if dataset.sentences is None else len(dataset.sentences),
    )
