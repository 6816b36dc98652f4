"""Spans that trained taggers find."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from crowdcore.analysis.sequences.span_scores import tagging_scores
from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.results.result import TrainingResult

__all__ = ["tagged_spans"]


def tagged_spans(
    dataset: CrowdDataset, result: TrainingResult, split: str = "test", at: Literal["selected", "last"] = "selected"
) -> pd.DataFrame:
    """How near the spans of the most probable tags are to the true ones.

    Args:
        dataset: that the run learnt from.
        result: of a crowd that tags tokens.
        split: train, valid, test or unlabelled.
        at: epoch.

    Returns:
        One row per seed: seed, precision, recall, f1 (of spans, as seqeval counts them) and token_accuracy.

    Raises:
        DataError: the crowd does not tag tokens, the data are others, or no gold is known there.
    """
    if result.fingerprint != dataset.fingerprint:
        raise DataError(f"The run learnt from other data than {dataset.name} as it is now", "Train again.")
    p = result.posterior(split, at)
    tasks = result.task[result.split == ("train", "valid", "test", "unlabelled").index(split)]
    if not (dataset.gold[tasks] >= 0).any():
        raise DataError(f"{dataset.name} has no gold labels in split {split!r}", "No span can be judged there.")
    rows = []
    for seed, tags in zip(result.seeds, p.argmax(-1), strict=True):
        labels = np.full(dataset.n_tasks, -1)
        labels[tasks] = tags
        found = tagging_scores(dataset, labels, tasks=tasks)
        rows.append((seed, found.precision, found.recall, found.f1, found.token_accuracy))
    return pd.DataFrame(rows, columns=["seed", "precision", "recall", "f1", "token_accuracy"])
