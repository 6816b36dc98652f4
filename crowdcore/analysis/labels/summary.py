"""Summary of a dataset: counts, noise rates, class balance, entropy of the labels of each class, agreement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.analysis.labels.agreement import Agreement, agreement
from crowdcore.analysis.reference import Reference, ReferenceLike, as_judge, resolve_reference
from crowdcore.analysis.statistics import group_means, majority_labels, sparse_votes
from crowdcore.core.shown import Shown
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_BLOCK = 256  # true classes worked on at once


@dataclass(frozen=True, eq=False)
class NoiseRates(Shown):
    """CCC's noise rates, as shares between 0 and 1; NaN where the reference knows no annotated task.

    Attributes:
        tasks_without_truth: N.R.1, share of tasks where no worker gave the true label.
        wrong_annotations: N.R.2, share of annotations that are wrong.
        n_tasks: annotated tasks that the reference knows.
        n_annotations: their annotations, repeats included.
    """

    reference: str
    tasks_without_truth: float
    wrong_annotations: float
    n_tasks: int
    n_annotations: int

    def frame(self) -> pd.DataFrame:
        """One row per rate, in percent."""
        rates = ["tasks where no worker gave the true label", "annotations that are wrong"]
        percent = [100 * self.tasks_without_truth, 100 * self.wrong_annotations]
        return pd.DataFrame({"rate": rates, "percent": percent, "of": [self.n_tasks, self.n_annotations]})


@dataclass(frozen=True, eq=False)
class ClassBalance(Shown):
    """Shares of each class among true labels and among given labels.

    Attributes:
        tasks: (C,) annotated tasks of each true class (expected number when soft).
        annotations: (C,) annotations that gave the label, on any annotated task.
    """

    reference: str
    classes: tuple[str, ...]
    tasks: FloatArray
    annotations: FloatArray

    @property
    def true_share(self) -> FloatArray:
        """(C,) shares of the true classes, sum to 1 (NaN if the reference knows no annotated task)."""
        return _share(self.tasks)

    @property
    def given_share(self) -> FloatArray:
        """(C,) shares of the given labels, sum to 1 (NaN without annotations)."""
        return _share(self.annotations)

    def frame(self) -> pd.DataFrame:
        """One row per class."""
        true = {"class": self.classes, "tasks": self.tasks, "true share": self.true_share}
        return pd.DataFrame({**true, "annotations": self.annotations, "given share": self.given_share})


@dataclass(frozen=True, eq=False)
class AnnotationEntropy(Shown):
    """Entropy of the labels given to tasks of each class (CoNAL, App. C).

    Attributes:
        entropy: (C,) nats; 0 = always the same label, log C = any label alike; NaN without annotations.
        annotations: (C,) annotations on tasks of the class (expected number when soft).
    """

    reference: str
    classes: tuple[str, ...]
    entropy: FloatArray
    annotations: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per class."""
        return pd.DataFrame({"class": self.classes, "entropy": self.entropy, "annotations": self.annotations})


@door
def noise_rates(dataset: CrowdDataset, reference: ReferenceLike = None) -> NoiseRates:
    """Compute N.R.1 and N.R.2; with a soft reference q expectations, ``1 - Σ q_i over i's labels`` and ``1 - q_i(y)``.

    Raises:
        DataError: the reference is not available.

    Examples:
        >>> import crowdcore as cc
        >>> rates = cc.analysis.noise_rates(cc.load_dataset("demo"))
        >>> f"{100 * rates.tasks_without_truth:.2f} % {100 * rates.wrong_annotations:.2f} %"
        '0.69 % 24.55 %'
    """
    truth = as_judge(dataset, resolve_reference(dataset, reference))
    right = correctness(dataset, truth)
    known = np.flatnonzero(truth.known & dataset.annotated)
    n_annotations = int(np.count_nonzero(~np.isnan(right)))
    right_share = np.zeros(dataset.n_tasks)
    if truth.posterior is None:
        right_share[dataset.task[right == 1]] = 1
    else:
        votes = sparse_votes(dataset)
        task = np.repeat(np.arange(dataset.n_tasks), np.diff(votes.indptr))
        np.add.at(right_share, task, truth.posterior[task, votes.indices])
    none = 1 - float(right_share[known].mean()) if len(known) else np.nan
    wrong = 1 - float(np.nanmean(right)) if n_annotations else np.nan
    return NoiseRates(truth.name, none, wrong, len(known), n_annotations)


@door
def class_balance(dataset: CrowdDataset, reference: ReferenceLike = None) -> ClassBalance:
    """Compare the true classes of annotated tasks with the given labels.

    Raises:
        DataError: the reference is not available.
    """
    truth, n = resolve_reference(dataset, reference), dataset.n_classes
    known = truth.known & dataset.annotated
    if truth.posterior is None:
        tasks = np.bincount(truth.labels[known], minlength=n).astype(np.float64)
    else:
        tasks = truth.posterior[known].sum(0)
    return ClassBalance(truth.name, dataset.classes, tasks, np.bincount(dataset.label, minlength=n).astype(np.float64))


@door
def annotation_entropy(dataset: CrowdDataset, reference: ReferenceLike = None) -> AnnotationEntropy:
    """Compute the entropy in nats of the distribution of all annotations given to tasks of each class.

    Raises:
        DataError: the reference is not available.
    """
    truth, n = resolve_reference(dataset, reference), dataset.n_classes
    entropy, total = np.zeros(n), np.zeros(n)
    for first, counts in _given_labels(dataset, truth):
        true = first + counts.row
        np.add.at(total, true, counts.data)
        share = counts.data / total[true]
        np.add.at(entropy, true, -share * np.log(share))
    entropy[total == 0] = np.nan
    return AnnotationEntropy(truth.name, dataset.classes, np.abs(entropy), total)


def correctness(dataset: CrowdDataset, truth: Reference) -> FloatArray:
    """(A,) 1 = right, 0 = wrong, q_i(y) when soft, NaN where the reference does not know the task."""
    known = truth.known[dataset.task]
    if truth.posterior is not None:
        return np.asarray(np.where(known, truth.posterior[dataset.task, dataset.label], np.nan))
    return np.asarray(np.where(known, truth.labels[dataset.task] == dataset.label, np.nan))


def _given_labels(dataset: CrowdDataset, truth: Reference) -> Iterator[tuple[int, scipy.sparse.coo_array]]:
    """Positive entries of the (C, C) table true class x given label, a block of true classes at a time."""
    n = dataset.n_classes
    if truth.posterior is None:
        known = truth.known[dataset.task]
        ones, true = np.ones(np.count_nonzero(known)), truth.labels[dataset.task][known]
        yield 0, scipy.sparse.csr_array((ones, (true, dataset.label[known])), shape=(n, n)).tocoo()
        return
    votes = sparse_votes(dataset).T
    for first in range(0, n, _BLOCK):
        given = votes @ np.nan_to_num(truth.posterior[:, first : first + _BLOCK])
        yield first, scipy.sparse.coo_array(np.asarray(given).T)


def _share(values: FloatArray | IntArray) -> FloatArray:
    total = values.sum()
    return np.asarray(values / (total if total > 0 else np.nan))


@dataclass(frozen=True, eq=False)
class Summary(Shown):
    """Summary statistics of a dataset; shares lie between 0 and 1.

    Attributes:
        name: the dataset.
        n_tasks, n_annotated, n_gold: N tasks, those with annotations, and those of the latter with gold.
        n_workers, n_active: R workers, and those with annotations.
        n_classes: C.
        n_annotations, n_repeats: A annotations, and those by a worker who had labelled the task before.
        annotations_per_worker: (R,).
        tasks_by_annotations: (most + 1,) number of tasks with 0, 1, 2, … annotations.
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


@door
def summary(dataset: CrowdDataset, reference: ReferenceLike = None) -> Summary:
    """Summarise counts, noise rates, balance, entropies and agreement of a dataset.

    Args:
        reference: what counts as the truth; None: gold where there is some, else `auto`.

    Raises:
        DataError: no annotations, or the reference is not available.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.summary(cc.load_dataset("demo"))
        >>> result.n_workers, result.n_annotations
        (40, 5254)
        >>> round(100 * result.noise.wrong_annotations, 2)
        24.55
    """
    truth = resolve_reference(dataset, reference)
    judge = as_judge(dataset, truth)
    right = correctness(dataset, judge)
    accuracy = group_means(right, dataset.worker, dataset.n_workers)
    accuracy = accuracy[~np.isnan(accuracy)]
    majority = majority_labels(sparse_votes(dataset))
    known = np.flatnonzero(judge.known & dataset.annotated)
    if judge.posterior is None:
        hits = (majority[known] == judge.labels[known]).astype(np.float64)
    else:
        hits = judge.posterior[known, majority[known]]
    circular = truth.name == "majority-vote" or not len(known)
    alike = agreement(dataset, n_resamples=0, pairs=False)
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
        float(accuracy.mean()) if len(accuracy) else np.nan,
        np.nan if circular else float(hits.mean()),
        alike,
        0 if dataset.sentences is None else len(dataset.sentences),
    )
