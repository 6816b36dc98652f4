"""Errors of a crowd judged by gold: whether labels identify the classes, and what a reference finds of tag errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.spans import TaggingScores, span_scores, tagging_scores
from crowdcore.analysis.statistics import row_shares
from crowdcore.analysis.workers.confusion import WorkerConfusion, worker_confusion
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True, eq=False)
class Planted:
    """A crowd judged by gold.

    Args:
        confusion: (C, C) share of each label among all labels given to tasks of a true class; NaN for a class that
            nobody labelled.
        right: share of the labels that name the true class.
        majority: share of the labelled tasks whose majority vote is right (ties to the lowest class).
        misleading: numbers of the classes whose tasks were given another label most often.
        n_annotations: annotations of tasks with gold.
    """

    confusion: FloatArray
    right: float
    majority: float
    misleading: IntArray
    n_annotations: int
    classes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence: whether labels alone identify the classes."""
        if not len(self.misleading):
            return "In every class the true class is the most frequent label, so labels alone identify the classes."
        swapped = [f"{self.classes[a]} is mostly labelled {self.classes[b]}" for a, b in self._taken()]
        listed = ", ".join(swapped[:3]) + (f" and {len(swapped) - 3} more" if len(swapped) > 3 else "")
        where = f"{len(swapped)} of {len(self.classes)} classes"
        return (
            f"In {where} another label is more frequent than the true one: {listed}. "
            "Labels alone cannot identify the classes; gold on the validation split can."
        )

    def _taken(self) -> list[tuple[int, int]]:
        return [(int(a), int(np.nanargmax(self.confusion[a]))) for a in self.misleading]

    def frame(self) -> pd.DataFrame:
        """One row per class: share of right labels, the most frequent label and its share."""
        known = ~np.isnan(self.confusion).any(1)
        most = np.where(known, np.nan_to_num(self.confusion).argmax(1), 0)
        names = np.array(self.classes, object)
        return pd.DataFrame(
            {
                "class": names,
                "share right": np.diagonal(self.confusion),
                "most frequent label": np.where(known, names[most], "–"),
                "its share": self.confusion[np.arange(len(names)), most],
            }
        )


def planted(dataset: CrowdDataset) -> Planted:
    """Count a crowd's labels by true class.

    Raises:
        DataError: no annotated task has gold.
    """
    true = dataset.gold[dataset.task]
    known = true >= 0
    if not known.any():
        raise DataError(f"{dataset.name} has no annotated task with gold", "Its mistakes cannot be counted.")
    n = dataset.n_classes
    counts = np.bincount(true[known] * n + dataset.label[known], minlength=n * n).reshape(n, n).astype(np.float64)
    confusion = row_shares(counts)
    judged = dataset.annotated & (dataset.gold >= 0)
    vote = resolve_reference(dataset, "majority-vote").labels
    misled = (np.nan_to_num(confusion).max(1) > np.nan_to_num(np.diagonal(confusion))) & counts.any(1)
    return Planted(
        confusion,
        float(np.trace(counts) / counts.sum()),
        float((vote[judged] == dataset.gold[judged]).mean()),
        np.flatnonzero(misled),
        int(known.sum()),
        dataset.classes,
    )


KINDS = ("missed", "boundary", "type")
"""Kinds of errors that are compared, of `SPAN_ERRORS`; an error of both counts as boundary and as type."""


@dataclass(frozen=True, eq=False)
class TagRecovery:
    """Errors by gold, and by a reference in the place of the truth.

    Args:
        reference: what was taken for the truth.
        scores: of the reference's own tags, by gold.
        true: confusions of the workers by gold.
        found: confusions of the workers by the reference.
        true_rates: (R, 3) share of the true spans in a worker's sentences, by kind of error (`KINDS`), by gold.
        found_rates: (R, 3) the same by the reference.
    """

    reference: str
    scores: TaggingScores
    true: WorkerConfusion
    found: WorkerConfusion
    true_rates: FloatArray
    found_rates: FloatArray

    @property
    def crowd_error(self) -> float:
        """Squared distance of the crowd's confusion to that by gold, mean over the true tags."""
        return _distance(self.found.crowd, self.true.crowd)

    @property
    def own_error(self) -> float:
        """Squared distance of a worker's confusion to that by gold, mean over workers and the true tags."""
        return _distance(self.found.matrices, self.true.matrices)

    def rate_error(self, kind: str) -> float:
        """Root mean squared difference in the rate of a kind of error, over workers."""
        k = KINDS.index(kind)
        return float(np.sqrt(np.nanmean((self.found_rates[:, k] - self.true_rates[:, k]) ** 2)))

    def frame(self) -> pd.DataFrame:
        """A row for each worker who saw a span: per cent of spans missed, with another boundary, of another type."""
        columns: dict[str, Any] = {"worker": self.true.worker_ids}
        for k, kind in enumerate(KINDS):
            columns |= {f"{kind} %": 100 * self.true_rates[:, k], f"{kind} %, recovered": 100 * self.found_rates[:, k]}
        return pd.DataFrame(columns)[~np.isnan(self.true_rates[:, 0])].reset_index(drop=True)


def tag_recovery(dataset: CrowdDataset, reference: ReferenceLike) -> TagRecovery:
    """Compare what a reference says of the workers' errors with what gold says.

    Args:
        dataset: tags tokens, with gold.
        reference: what to take for the truth.

    Raises:
        DataError: the crowd does not tag tokens, or has no gold.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.spans(n_sentences=100)
        >>> votes, gold = (tag_recovery(crowd, name) for name in ("majority-vote", "gold"))
        >>> votes.crowd_error > gold.crowd_error == 0
        True
    """
    truth = resolve_reference(dataset, reference)
    return TagRecovery(
        truth.name,
        tagging_scores(dataset, truth.labels),
        worker_confusion(dataset, "gold"),
        worker_confusion(dataset, truth),
        _rates(dataset, "gold"),
        _rates(dataset, truth),
    )


def _rates(dataset: CrowdDataset, reference: ReferenceLike) -> FloatArray:
    scores = span_scores(dataset, reference, resamples=0)
    share = scores.outcomes / np.where(scores.n_true > 0, scores.n_true, np.nan)[:, None]
    missed, both, boundary, kind, _ = share.T  # in the order of SPAN_ERRORS
    return np.stack([missed, boundary + both, kind + both], 1)


def _distance(estimate: FloatArray, true: FloatArray) -> float:
    """Mean over the rows that both know."""
    return float(np.nanmean(((estimate - true) ** 2).sum(-1)))
