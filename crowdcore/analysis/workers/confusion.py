"""Confusion matrix of each worker against a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, as_judge, resolve_reference
from crowdcore.core.errors import DataError
from crowdcore.core.kernels import confusion_counts, soft_confusion_counts
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


def row_shares(counts: FloatArray) -> FloatArray:
    """(..., C, C) counts -> shares of their row; NaN rows where there is nothing to share."""
    total = counts.sum(-1, keepdims=True)
    out: FloatArray = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return out


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
