"""Agreement of pairs beyond skills and tasks, where the labels of others say how hard and how misleading a task is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdcore.analysis.mistakes.pair_mistakes import DRAWN, tail_beyond
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.counts import vote_counts
from crowdcore.core.latent_classes import LatentClasses, LatentPriors
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_STEPS = 12  # accelerated; they come as far as 30 plain ones
_MOST, _EACH = 100_000, 200  # labels, and labels of a worker, that the fit takes at least


@dataclass(frozen=True, eq=False)
class AgreementByOthers:
    """Agreement of pairs tested by the labels of others, arrays (n_pairs,).

    Attributes:
        alike, expected_alike: equal labels other than the class most probable by the others, and how many are expected.
        p_value: chance that copying explains the labels of two independent workers as well.
    """

    alike: IntArray
    expected_alike: FloatArray
    p_value: FloatArray


def agreement_by_others(dataset: CrowdDataset, judges: BoolArray, one: IntArray, other: IntArray) -> AgreementByOthers:
    """Test whether pairs agree beyond both skills and the tasks, by the judges' labels of each task.

    Let a task have a true class z, a difficulty and perhaps a foil, all latent, and a worker confusions as in
    `core.latent_classes`. By EM, classes and types of tasks follow from the judges' labels alone, skills and shares
    of wrong labels of everybody from those. β of a worker's classes is drawn to their mean, as if normal around
    it. For a pair, the labels of the other judges on task i give q_i(z, t), and so for each label b the chance that
    both give it, ``E_i(b) = Σ q_i(z, t) P(b | r, z, t) P(b | s, z, t)``, and that either does, ``m_i^r(b)``. The
    statistic is the log likelihood ratio of copying half of the labels,
    ``log(1/2 + √(m_i^r(b) m_i^s(b)) / (2 E_i(b)))`` for equal labels b and ``log(1/2)`` else; its tail is that of
    `pair_mistakes`.

    The model is that of `core.latent_classes`: able workers who contradict a vote that is wrong on hard tasks, or on
    tasks whose foil won it, speak for another class, and are expected to agree on it.

    Args:
        judges: (n_workers,) whether the worker's labels are evidence on the tasks.
        one, other: (n_pairs,) worker numbers.

    Raises:
        DataError: arrays too large.
    """
    n, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(8 * 4 * n_workers * n**2, f"Confusions of {n_workers:,} workers", "Merge classes.")
    dataset = _enough(dataset, one, other)
    kept = np.unique(dataset.task.astype(np.int64) * n_workers + dataset.worker, return_index=True)[1]
    task, worker, label = (x[kept].astype(np.int64) for x in (dataset.task, dataset.worker, dataset.label))
    candidate = np.unique(np.concatenate([task * (n + 1) + label, np.unique(task) * (n + 1) + n]))
    every = np.arange(dataset.n_tasks + 1)
    candidate_start = np.searchsorted(candidate // (n + 1), every)
    tasks = np.searchsorted(task, every), worker, label, judges, candidate_start, candidate % (n + 1)
    vote = _by_vote(dataset.n_tasks, n_workers, n, task, worker, label, judges)
    priors = LatentPriors(
        class_deviation=1.0, worker_mean=0.0, worker_deviation=3.0, drawn=DRAWN, even=0.0, alone_drawn=np.inf
    )
    fit = LatentClasses(tasks, *vote, priors)
    for _ in range(_STEPS):
        fit.accelerated_step()
    by_worker = np.argsort(worker, kind="stable")
    worker_start = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    result, moments = np.zeros((len(one), 3), np.int64), np.zeros((len(one), 5))
    fill_pairs(0, len(one), one, other, by_worker, worker_start, task, tasks, fit.model, result, moments)
    (both, agreed, alike), (expected_agreed, expected_alike) = result.T, moments[:, :2].T
    p_value = tail_beyond(alike, agreed, both, expected_alike, expected_agreed, moments[:, 2:])
    return AgreementByOthers(alike, expected_alike, p_value)


def _enough(dataset: CrowdDataset, one: IntArray, other: IntArray) -> CrowdDataset:
    """All tasks of the pairs and, of a large crowd, as many others evenly spaced as tell what its workers know."""
    most = max(_MOST, _EACH * dataset.n_workers)
    if dataset.n_annotations <= most:
        return dataset
    of_pair = np.zeros(dataset.n_tasks, np.int64)
    for some in (one, other):
        of_pair[np.unique(dataset.task[np.isin(dataset.worker, some)])] += 1
    step = -(-dataset.n_annotations // most)
    wanted = (of_pair == 2) | (np.arange(dataset.n_tasks) % step == 0)
    return dataset.where(wanted[dataset.task])


def _by_vote(
    n_tasks: int, n_workers: int, n: int, task: IntArray, worker: IntArray, label: IntArray, judges: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """(n_workers, C, C) labels by the judges' vote, where tied classes share it, and (C,) its shares of tasks."""
    judged = judges[worker]
    votes = vote_counts(task[judged], label[judged], n_tasks, n)
    won = (votes == votes.max(1, keepdims=True)) & (votes > 0)
    vote = won / np.maximum(won.sum(1, keepdims=True), 1)
    counts = np.stack(
        [np.bincount(worker * n + label, vote[task, z], n_workers * n).reshape(n_workers, n) for z in range(n)], 1
    )
    return np.asarray(counts, np.float64), (vote.sum(0) + 1) / (vote.sum() + n)
