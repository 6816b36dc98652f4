"""Errors of a crowd that tags tokens, as gold shows them and as a reference leads to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.sequences.span_scores import TaggingScores, span_scores, tagging_scores
from crowdcore.analysis.workers.confusion import WorkerConfusion, worker_confusion
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

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
    found = span_scores(dataset, reference, resamples=0)
    share = found.outcomes / np.where(found.n_true > 0, found.n_true, np.nan)[:, None]
    missed, both, boundary, kind, _ = share.T  # in the order of SPAN_ERRORS
    return np.stack([missed, boundary + both, kind + both], 1)


def _distance(found: FloatArray, true: FloatArray) -> float:
    """Mean over the rows that both know."""
    return float(np.nanmean(((found - true) ** 2).sum(-1)))
