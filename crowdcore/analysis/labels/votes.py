"""Sparse label counts per task, which noise rates, majority vote and agreement are computed from."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dataset import CrowdDataset


def sparse_votes(dataset: CrowdDataset) -> scipy.sparse.csr_array:
    """(n_tasks, C) how often each task got each label; entries in order of class, none stored that is 0."""
    ones = np.ones(dataset.n_annotations)
    shape = (dataset.n_tasks, dataset.n_classes)
    votes = scipy.sparse.csr_array((ones, dataset.label.copy(), dataset.task_start.copy()), shape=shape)
    votes.sum_duplicates()
    return votes


def majority_labels(votes: scipy.sparse.csr_array) -> IntArray:
    """(n_tasks,) the most frequent label, ties to the lowest class, -1 for tasks without labels."""
    size = np.diff(votes.indptr)
    labels = np.full(len(size), -1, np.int32)
    some = np.flatnonzero(size)
    if len(some):
        most = np.maximum.reduceat(votes.data, votes.indptr[some])
        winners = np.flatnonzero(votes.data == np.repeat(most, size[some]))
        task = np.repeat(some, size[some])[winners]
        first = np.r_[True, task[1:] != task[:-1]]
        labels[task[first]] = votes.indices[winners[first]]
    return labels


def tied_votes(votes: scipy.sparse.csr_array) -> BoolArray:
    """(n_tasks,) whether two labels or more are the most frequent."""
    task = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    most = np.zeros(votes.shape[0])
    np.maximum.at(most, task, votes.data)
    return np.asarray(np.bincount(task[votes.data == most[task]], minlength=len(most)) > 1)
