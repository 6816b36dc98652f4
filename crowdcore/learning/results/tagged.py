"""Spans that trained taggers find."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pandas as pd

from crowdcore.analysis.spans import compare_tags
from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.tags import TagScheme
from crowdcore.learning.results.result import TrainingResult


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
        raise DataError(f"The run was trained on other data than the present {dataset.name}", "Train again.")
    sentence = None if dataset.sentences is None else dataset.sentences.of_task[result.task]
    return found_spans(replace(result, sentence=sentence), split, at)


def found_spans(
    result: TrainingResult, split: str = "test", at: Literal["selected", "last"] = "selected"
) -> pd.DataFrame:
    """`tagged_spans` of a result alone."""
    scheme = TagScheme.of(result.classes)
    if result.sentence is None or scheme is None:
        raise DataError(f"The labels of {result.dataset} are not tags of tokens", "Spans are of sentences only.")
    rows = result.split == ("train", "valid", "test", "unlabelled").index(split)
    truth, tags = result.gold[rows], result.posterior(split, at).argmax(-1)
    known = truth >= 0
    if not known.any():
        raise DataError(f"{result.dataset} has no gold labels in split {split!r}", "No span can be judged there.")
    where = truth[known], result.task[rows][known], result.sentence[rows][known]
    table = []
    for seed, given in zip(result.seeds, tags, strict=True):
        found = compare_tags(where[0], given[known], *where[1:], scheme)
        table.append((seed, found.precision, found.recall, found.f1, found.token_accuracy))
    return pd.DataFrame(table, columns=["seed", "precision", "recall", "f1", "token_accuracy"])
