"""Predicted labels of several results, to compare with each other and with gold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crowdcore.analysis.reference import Reference
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.results.result import TrainingResult

GOLD = "gold"
_SPLITS = ("train", "valid", "test", "unlabelled")


def labellings(
    results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str = "all"
) -> dict[str, Reference]:
    """Gold, where there is some, and each result's most probable classes (mean over seeds) on the tasks of a split.

    Args:
        results: name -> result on this dataset.
        dataset: theirs.
        split: train, valid, test: the part that the tasks had in the first result; or all.
    """
    inside, gold = _tasks(results, dataset, split), gold_of(results, dataset, split)
    references = {GOLD: Reference(GOLD, gold)} if (gold >= 0).any() else {}
    for name, result in results.items():
        posterior = result.mean_posterior(dataset.n_tasks)
        known = inside & ~np.isnan(posterior[:, 0])
        labels = np.full(dataset.n_tasks, -1, np.int32)
        labels[known] = posterior[known].argmax(1)
        references[name] = Reference(name, labels, posterior)
    return references


def gold_of(results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str = "all") -> IntArray:
    """(n_tasks,) gold of the tasks of a split, -1 elsewhere."""
    return np.where(_tasks(results, dataset, split), dataset.gold, -1)


def _tasks(results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str) -> BoolArray:
    first = next(iter(results.values()))
    inside = np.zeros(dataset.n_tasks, bool)
    inside[first.task if split == "all" else first.task[first.split == _SPLITS.index(split)]] = True
    return inside
