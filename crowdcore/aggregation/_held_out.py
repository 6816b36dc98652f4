"""Annotations that are held out of a fit, and how probable they are under it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.aggregation._pooling import pooled_confusion
from crowdcore.core.counts import cell_counts
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset


def held_out(dataset: CrowdDataset, share: float) -> BoolArray:
    """(n_annotations,) what to hide: by a hash of task (or sentence) and worker, never a task's only annotation."""
    whole = dataset.sentences
    ids, of = (dataset.task_ids, dataset.task) if whole is None else (whole.ids, whole.of_task[dataset.task])
    task, worker = (pd.util.hash_array(np.asarray(names, object)) for names in (ids, dataset.worker_ids))
    mixed = task[of] * np.uint64(0x9E3779B97F4A7C15) ^ worker[dataset.worker]
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    chance = (mixed >> np.uint64(11)) * 2.0**-53
    return np.asarray((chance < share) & (dataset.labels_per_task[dataset.task] > 1))


def predicted(dataset: CrowdDataset, hidden: BoolArray, posterior: FloatArray, strength: float) -> FloatArray:
    """(n_hidden,) ``Σ_c q_i(c) π^r[c, y_i^r]`` of the hidden annotations, π from q and the others (`pooled_confusion`).

    Every posterior is judged by the same model of the workers, so that only the labels it infers make the difference.

    Args:
        dataset: all annotations.
        hidden: (n_annotations,) those that the posterior has not seen.
        posterior: (n_tasks, C) from the others; NaN rows stand for the class shares.
        strength: κ of the pooling, labels.
    """
    n_classes, seen = dataset.n_classes, dataset.where(~hidden)
    shares = np.nanmean(posterior, axis=0)
    q = np.where(np.isnan(posterior), shares, posterior)
    cell = seen.worker * n_classes + seen.label
    counts = cell_counts(seen.task_start, cell, q, dataset.n_workers * n_classes)
    confusion = pooled_confusion(counts.reshape(dataset.n_workers, n_classes, n_classes), strength)
    likelihood = confusion[dataset.worker[hidden], dataset.label[hidden]]
    return np.asarray((q[dataset.task[hidden]] * likelihood).sum(1))
