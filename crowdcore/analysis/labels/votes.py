"""Sparse label counts per task, majority votes, and the votes without each worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from crowdcore.core.types import BoolArray, FloatArray, IntArray
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


_BLOCK = 500_000  # (task, worker) pairs voted on at a time


@dataclass(frozen=True, eq=False)
class Others:
    """Leave-one-worker-out majority votes; P counts the distinct (task, worker) pairs.

    Attributes:
        majority: (n_tasks,) majority vote of everyone, ties to the lowest class, -1 without labels.
        task: (P,) ascending.
        worker: (P,) whose labels on the task are left out.
        without: (P,) majority vote of the others, -1 where nobody else labelled the task.
        pair_of: (n_annotations,) the pair of each annotation.
    """

    majority: IntArray
    task: IntArray
    worker: IntArray
    without: IntArray
    pair_of: IntArray


def majority_of_others(dataset: CrowdDataset) -> Others:
    """Vote on each task without each of its workers in turn, in O(A log A) time and O(A) memory."""
    votes = sparse_votes(dataset)
    majority = majority_labels(votes)
    key = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    pairs, pair_of = np.unique(key, return_inverse=True)
    task, worker = np.divmod(pairs, max(dataset.n_workers, 1))
    without = majority[task]
    support, runner_up = _two_best(votes, majority)
    own = np.bincount(pair_of, dataset.label == majority[dataset.task], minlength=len(pairs))
    # Only the loss of votes for the winner can make another one, and only where the next best then reaches it.
    close = np.flatnonzero((own > 0) & (support[task] - own <= runner_up[task]))
    ones = np.ones(dataset.n_annotations)
    labels = scipy.sparse.csr_array((ones, (pair_of, dataset.label)), shape=(len(pairs), dataset.n_classes))
    for begin in range(0, len(close), _BLOCK):
        some = close[begin : begin + _BLOCK]
        without[some] = majority_labels((votes[task[some]] - labels[some]).tocsr())
    return Others(majority, task, worker, without, pair_of)


def _two_best(votes: scipy.sparse.csr_array, majority: IntArray) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) votes for the winner and for the next best label, 0 where there is none."""
    task = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    won = votes.indices == majority[task]
    support, runner_up = np.zeros((2, votes.shape[0]))
    support[task[won]] = votes.data[won]
    np.maximum.at(runner_up, task[~won], votes.data[~won])
    return support, runner_up
