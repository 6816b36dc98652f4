"""How often two workers would agree, given what others say of each task: nobody's vote is taken for the truth.

The model of the tasks is that of `task_types`, but the true class is latent, too: able workers who contradict a vote
that is wrong on hard tasks, or on tasks whose foil won it, speak for another class, and are expected to agree on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from crowdcore.analysis.mistakes.pair_mistakes import tail_beyond
from crowdcore.analysis.mistakes.task_types import ALONE, DRAWN, LEVELS, MOST, SLOPES, STEPS, start_prior
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.kernels import vote_counts
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.core.kernels_latent_classes_numba import Model, Tasks

_OF_CLASS, _OF_WORKER = 1.0, 3.0  # standard deviations of a worker's β around their mean, and of the means
_RAREST = 1e-4  # least share of a wrong label


@dataclass(frozen=True, eq=False)
class AgreementByOthers:
    """What others' labels say of the agreement of pairs, arrays (n_pairs,).

    Attributes:
        alike: equal labels other than the class that the others hold most probable.
        expected_alike: how many are expected.
        p_value: chance that copying explains the labels of two independent workers as well.
    """

    alike: IntArray
    expected_alike: FloatArray
    p_value: FloatArray


def agreement_by_others(dataset: CrowdDataset, judges: BoolArray, one: IntArray, other: IntArray) -> AgreementByOthers:
    """Test whether pairs agree beyond both skills and the tasks, by what the judges say of each task.

    Let a task have a true class z, a difficulty and perhaps a foil, all latent, and a worker confusions as in
    `task_types`. The model is fitted by EM: classes and types of tasks follow from the judges' labels alone, skills and
    shares of wrong labels of everybody from those. β of a worker's classes is drawn to their mean, as if normal around
    it. For a pair, what the judges but the two said of task i gives q_i(z, t), and so for each label b the chance that
    both give it, ``E_i(b) = Σ q_i(z, t) P(b | r, z, t) P(b | s, z, t)``, and that either does, ``m_i^r(b)``. The
    statistic is the log likelihood ratio of copying half of the labels,
    ``log(1/2 + √(m_i^r(b) m_i^s(b)) / (2 E_i(b)))`` for equal labels b and ``log(1/2)`` else; its tail is that of
    `pair_mistakes`.

    Args:
        dataset: the annotations; of a worker's repeats on a task the first one counts.
        judges: (n_workers,) whose labels tell of the tasks.
        one: (n_pairs,) worker numbers.
        other: (n_pairs,) worker numbers.

    Raises:
        DataError: arrays too large.
    """
    from crowdcore.core.kernels_latent_classes_numba import fill_pairs  # compiled loops are loaded when needed

    n, n_workers = dataset.n_classes, dataset.n_workers
    refuse_beyond(8 * 4 * n_workers * n**2, f"Confusions of {n_workers:,} workers", "Merge classes.")
    kept = np.unique(dataset.task.astype(np.int64) * n_workers + dataset.worker, return_index=True)[1]
    task, worker, label = (x[kept].astype(np.int64) for x in (dataset.task, dataset.worker, dataset.label))
    candidate = np.unique(np.concatenate([task * (n + 1) + label, np.unique(task) * (n + 1) + n]))
    every = np.arange(dataset.n_tasks + 1)
    candidate_start = np.searchsorted(candidate // (n + 1), every)
    tasks = np.searchsorted(task, every), worker, label, judges, candidate_start, candidate % (n + 1)
    model = _fit(tasks, *_by_vote(dataset.n_tasks, n_workers, n, task, worker, label, judges))
    by_worker = np.argsort(worker, kind="stable")
    worker_start = np.searchsorted(worker[by_worker], np.arange(n_workers + 1))
    found, moments = np.zeros((len(one), 3), np.int64), np.zeros((len(one), 5))
    fill_pairs(0, len(one), one, other, by_worker, worker_start, task, tasks, model, found, moments)
    (both, agreed, alike), (expected_agreed, expected_alike) = found.T, moments[:, :2].T
    p_value = tail_beyond(alike, agreed, both, expected_alike, expected_agreed, moments[:, 2:])
    return AgreementByOthers(alike, expected_alike, p_value)


def _fit(tasks: Tasks, counts: FloatArray, class_share: FloatArray) -> Model:
    """EM with a Newton step for β in each iteration, from labels by a vote and its shares of classes."""
    from crowdcore.core.kernels_latent_classes_numba import fit_step

    start, _, label, _, candidate_start, candidate = tasks
    n_workers, n = counts.shape[:2]
    several = n_ranges(len(label) * len(LEVELS), n_workers * n * (n + 2))
    n_right = np.trace(counts, axis1=1, axis2=2)
    mean = np.log((n_right + 0.5) / (counts.sum((1, 2)) - n_right + 0.5))[:, None]
    beta, prior = np.repeat(mean, n, 1), start_prior(n)

    def model() -> Model:
        right = expit(SLOPES * np.concatenate([beta, mean], 1)[:, :, None] - LEVELS)
        return right, _shares(counts), _weights(class_share, candidate_start, candidate), prior, SLOPES, ALONE

    def expected(of: Model) -> list[FloatArray]:
        parts = run_ranges(len(start) - 1, several, lambda _, a, b: fit_step(a, b, tasks, of))
        return [np.asarray(sum(each)) for each in zip(*parts, strict=True)]

    for _ in range(STEPS):
        n_types, n_class, newton, counts = expected(model())
        gradient = newton[0] - (beta - mean) / _OF_CLASS**2
        beta = np.clip(beta + np.clip(gradient / (newton[1] + 1 / _OF_CLASS**2), -1, 1), -MOST, MOST)
        mean = beta.sum(1, keepdims=True) / (n + (_OF_CLASS / _OF_WORKER) ** 2)
        prior, class_share = n_types / n_types.sum(), (n_class + 1) / (n_class.sum() + n)
    return model()


def _weights(class_share: FloatArray, start: IntArray, candidate: IntArray) -> FloatArray:
    """(n_candidates,) share of tasks with each class that a task may have; of any other one, what is left."""
    weight, other = np.append(class_share, 0.0)[candidate], candidate == len(class_share)
    left = 1 - np.diff(np.append(0.0, np.cumsum(weight))[start])
    weight[other] = np.maximum(left[np.diff(start) > 0], _RAREST**2)
    return np.asarray(weight)


def _by_vote(
    n_tasks: int, n_workers: int, n: int, task: IntArray, worker: IntArray, label: IntArray, judges: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """(n_workers, C, C) labels by the judges' vote, where tied classes share it, and (C,) its shares of tasks."""
    told = judges[worker]
    votes = vote_counts(task[told], label[told], n_tasks, n)
    won = (votes == votes.max(1, keepdims=True)) & (votes > 0)
    vote = won / np.maximum(won.sum(1, keepdims=True), 1)
    counts = np.stack(
        [np.bincount(worker * n + label, vote[task, z], n_workers * n).reshape(n_workers, n) for z in range(n)], 1
    )
    return np.asarray(counts, np.float64), (vote.sum(0) + 1) / (vote.sum() + n)


def _shares(counts: FloatArray) -> FloatArray:
    """(n_workers, C + 1, C) shares of a worker's wrong labels, drawn to the crowd's; of any class in the last row."""
    wrong = counts * ~np.eye(counts.shape[1], dtype=bool)
    wrong = np.concatenate([wrong, wrong.sum(1, keepdims=True)], 1)
    crowd = wrong.sum(0)
    crowd /= np.maximum(crowd.sum(1, keepdims=True), 1e-9)
    drawn = (wrong + DRAWN * crowd) / (wrong.sum(2, keepdims=True) + DRAWN)
    return np.asarray(np.maximum(drawn, _RAREST))
