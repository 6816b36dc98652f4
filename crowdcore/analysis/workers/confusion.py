"""Confusion matrix of each worker against a reference, as counted and shrunken to the crowd's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, as_judge, resolve_reference
from crowdcore.analysis.statistics import row_shares
from crowdcore.core.counts import confusion_counts, soft_confusion_counts
from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset

MOST_BYTES = 4 * 2**30


@dataclass(frozen=True, eq=False)
class WorkerConfusion:
    """Confusion matrix of each worker.

    Args:
        matrices: (n_workers, C, C) row = true class, column = given label, rows sum to 1; NaN rows without evidence.
        counts: (n_workers, C, C) annotations behind ``matrices``; fractions where the reference is soft.
        worker_ids: (n_workers,) names.
        reference: what was taken for the truth.
    """

    matrices: FloatArray
    counts: FloatArray
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str

    @property
    def evidence(self) -> FloatArray:
        """(n_workers, C) annotations behind each row."""
        return np.asarray(self.counts.sum(2))

    @property
    def evidenced(self) -> BoolArray:
        """(n_workers, C) which rows rest on any annotation."""
        return np.asarray(self.evidence > 0)

    @property
    def crowd(self) -> FloatArray:
        """(C, C) the confusion of all annotations together, NaN rows without evidence."""
        return row_shares(self.crowd_counts)

    @property
    def crowd_counts(self) -> FloatArray:
        """(C, C) annotations of all workers."""
        return np.asarray(self.counts.sum(0))

    def frame(self) -> pd.DataFrame:
        """One line per cell that holds annotations: worker, true, given, count, share (of the worker's row)."""
        worker, true, given = np.nonzero(self.counts)
        names = pd.Index(self.classes)
        return pd.DataFrame(
            {
                "worker": self.worker_ids[worker],
                "true": names[true],
                "given": names[given],
                "count": self.counts[worker, true, given],
                "share": self.matrices[worker, true, given],
            }
        )


def worker_confusion(dataset: CrowdDataset, reference: ReferenceLike = "gold") -> WorkerConfusion:
    """Count each worker's labels by true class and normalise the rows (CCC, section 2.2).

    With a soft reference an annotation counts towards every class by the task's posterior. Repeats count each. Labels
    of a worker who shares no task with another one do not count where an aggregator is the reference, as it repeats
    them.

    Args:
        reference: what to take for the truth.

    Raises:
        DataError: no usable reference, or matrices of more than `MOST_BYTES`.

    Examples:
        >>> import crowdcore as cc
        >>> confusion = cc.analysis.worker_confusion(cc.load_dataset("demo"), reference="gold")
        >>> confusion.matrices.shape
        (40, 10, 10)
    """
    truth = as_judge(dataset, resolve_reference(dataset, reference))
    n_workers, n_classes = dataset.n_workers, dataset.n_classes
    refuse_beyond(
        2 * 8 * n_workers * n_classes**2,
        f"Confusion matrices of {n_workers:,} workers over {n_classes:,} classes",
        "Merge classes, or look at fewer workers.",
    )
    if truth.posterior is not None:
        counts = soft_confusion_counts(dataset.task, dataset.worker, dataset.label, truth.posterior, n_workers)
    else:
        counts = confusion_counts(dataset.task, dataset.worker, dataset.label, truth.labels, n_workers, n_classes)
    return WorkerConfusion(row_shares(counts), counts, dataset.worker_ids, dataset.classes, truth.name)


def refuse_beyond(n_bytes: int, what: str, remedy: str) -> None:
    """Refuse arrays of more than `MOST_BYTES` before they are allocated.

    Raises:
        DataError: they would need more.
    """
    if n_bytes > MOST_BYTES:
        raise DataError(
            f"{what} would need {n_bytes / 2**30:,.1f} GiB ({n_bytes:,} bytes), "
            f"more than the {MOST_BYTES // 2**30} GiB that crowdcore allows itself",
            remedy,
        )


def shrunken_confusion(confusion: WorkerConfusion) -> FloatArray:
    """Posterior means of the workers' confusions, by empirical Bayes.

    Rows of a class a are taken for draws from one Dirichlet distribution around the crowd's row p_a, whose spread
    ρ_a = 1 / (1 + κ_a) comes from the labels (`spread_of_workers`):

    ``E[π^r_a | n^r_a] = (n^r_a π̂^r_a + κ_a p_a) / (n^r_a + κ_a)``

    so a worker with few labels lies near the crowd, not far from everybody, and where the workers differ by no more
    than chance (ρ_a = 0) all rows are the crowd's.

    Returns:
        (n_workers, C, C) float64, rows sum to 1; zero rows for classes without any annotation.
    """
    spread, evidence = spread_of_workers(confusion), confusion.evidence
    heard = evidence * spread  # n / (n + κ), without the infinite κ of no spread
    share = (heard / (heard + 1 - spread + (heard == 0)))[..., None]
    out: FloatArray = share * np.nan_to_num(confusion.matrices) + (1 - share) * np.nan_to_num(confusion.crowd)
    return out


def spread_of_workers(confusion: WorkerConfusion) -> FloatArray:
    """How far workers differ beyond chance, class by class: 0 = by chance only, 1 = each always gives one label.

    The intraclass correlation of labels within workers, by moments (Weir and Hill 2002): with the mean squares between
    workers, MSB, and within them, MSW, and n_c the effective labels per worker,
    ``ρ_a = max(0, MSB - MSW) / (MSB + (n_c - 1) MSW)``.

    Returns:
        (C,) float64 in [0, 1]; 0 for classes that fewer than two workers labelled, or none twice.
    """
    n, shares, crowd = confusion.evidence, np.nan_to_num(confusion.matrices), np.nan_to_num(confusion.crowd)
    total, between = n.sum(0), np.maximum((n > 0).sum(0) - 1, 0)  # (C,) labels, degrees of freedom between workers
    within = np.maximum(n - 1, 0).sum(0)
    squares_between = (n[..., None] * (shares - crowd) ** 2).sum((0, 2))
    squares_within = (n[..., None] * shares * (1 - shares)).sum((0, 2))
    known = (between > 0) & (within > 0)
    b, w = (
        np.where(known, s / np.where(known, f, 1), 0.0)
        for s, f in ((squares_between, between), (squares_within, within))
    )
    per_worker = (total - (n**2).sum(0) / np.where(known, total, 1)) / np.where(known, between, 1)
    whole = b + (per_worker - 1) * w
    out: FloatArray = np.divide(np.maximum(b - w, 0), whole, out=np.zeros(len(whole)), where=known & (whole > 0))
    return np.clip(out, 0, 1)
