"""Workers who coordinate, put into a crowd: some copy a leader, some push one class, some imitate the common confusion.

Each function takes a crowd with gold and workers by number, and replaces the labels of these workers; their roles are
in ``truth.worker_role``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth


def copy_leader(
    dataset: CrowdDataset, workers: Sequence[int], leader: int, rate: float = 0.8, seed: int = 0
) -> CrowdDataset:
    """Let workers label the leader's tasks: with the leader's label at chance ``rate``, else with one of their own.

    Own labels are drawn from what the worker gave on tasks of the same class, or, without such, on all tasks.

    Raises:
        SettingError: a rate outside 0 … 1, an unknown worker, or a leader who follows.
        DataError: an annotated task without gold.

    Examples:
        >>> from crowdcore.data import simulate
        >>> honest = simulate.synthetic(n_tasks=400, n_valid=0, n_test=0)
        >>> crowd = simulate.copy_leader(honest, [1, 2], leader=0)
        >>> crowd.truth.worker_role[:3]
        ('leader', 'copier of w01', 'copier of w01')
    """
    if leader in workers:
        raise SettingError("leader", "not be one of the workers who copy", leader)
    _check(dataset, [*workers, leader], rate)
    rng = np.random.default_rng(seed)
    led = np.flatnonzero(dataset.worker == leader)
    kept = np.flatnonzero(~np.isin(dataset.worker, workers))
    labels = [dataset.label[kept]]
    for worker in workers:
        own = np.flatnonzero(dataset.worker == worker)
        copied = rng.random(len(led)) < rate
        labels.append(
            np.where(copied, dataset.label[led], _own_labels(dataset, own, dataset.gold[dataset.task[led]], rng))
        )
    rows = np.concatenate([kept, *[led] * len(workers)])
    labeller = np.concatenate([dataset.worker[kept], np.repeat(np.asarray(workers, np.int32), len(led))])
    order = np.lexsort((labeller, dataset.task[rows]))
    roles = {leader: "leader", **dict.fromkeys(workers, f"copier of {dataset.worker_ids[leader]}")}
    crowd = replace(
        dataset,
        task=dataset.task[rows][order],
        worker=labeller[order],
        label=np.concatenate(labels)[order],
        extra=None,
        file_row=None,
    )
    return _with_roles(crowd, roles)


def push_class(
    dataset: CrowdDataset, workers: Sequence[int], true: int, given: int, rate: float = 0.8, seed: int = 0
) -> CrowdDataset:
    """Let workers call tasks of class ``true`` ``given``, each with chance ``rate``, independently of each other.

    Raises:
        SettingError: a rate outside 0 … 1, an unknown worker or class, or ``true`` equal to ``given``.
        DataError: an annotated task without gold.
    """
    if true == given or not 0 <= min(true, given) <= max(true, given) < dataset.n_classes:
        raise SettingError("given", f"be another class than `true`, both in 0 … {dataset.n_classes - 1}", given)
    target = np.arange(dataset.n_classes)
    target[true] = given
    role = f"pushes {dataset.classes[true]} to {dataset.classes[given]}"
    return _pushed(dataset, workers, target, rate, seed, role)


def imitate_common(dataset: CrowdDataset, workers: Sequence[int], rate: float = 0.8, seed: int = 0) -> CrowdDataset:
    """Let workers make, with chance ``rate``, the mistake that the other workers make most often on the class.

    Raises:
        SettingError: a rate outside 0 … 1, or an unknown worker.
        DataError: an annotated task without gold.
    """
    _check(dataset, workers, rate)
    others = ~np.isin(dataset.worker, workers)
    n = dataset.n_classes
    made = np.bincount(dataset.gold[dataset.task[others]] * n + dataset.label[others], minlength=n * n).reshape(n, n)
    np.fill_diagonal(made, 0)
    target = np.where(made.any(1), made.argmax(1), np.arange(n))
    return _pushed(dataset, workers, target, rate, seed, "imitates the common confusion")


def _pushed(
    dataset: CrowdDataset, workers: Sequence[int], target: IntArray, rate: float, seed: int, role: str
) -> CrowdDataset:
    """The crowd in which these workers give a class its ``target`` (C,) with chance ``rate``."""
    _check(dataset, workers, rate)
    true = dataset.gold[dataset.task]
    pushed: BoolArray = np.random.default_rng(seed).random(dataset.n_annotations) < rate
    pushed &= np.isin(dataset.worker, workers) & (target[true] != true)
    crowd = replace(dataset, label=np.where(pushed, target[true], dataset.label))
    return _with_roles(crowd, dict.fromkeys(workers, role))


def _own_labels(dataset: CrowdDataset, own: IntArray, true: IntArray, rng: np.random.Generator) -> IntArray:
    """(len(true),) labels drawn from a worker's annotations ``own``, by true class."""
    n = dataset.n_classes
    counts = np.bincount(dataset.gold[dataset.task[own]] * n + dataset.label[own], minlength=n * n)
    counts = counts.reshape(n, n).astype(float)
    counts[counts.sum(1) == 0] = counts.sum(0) + 1e-9
    cumulated: FloatArray = (counts / counts.sum(1, keepdims=True)).cumsum(1)[true]
    return np.asarray(np.minimum((rng.random(len(true))[:, None] > cumulated).sum(1), n - 1))


def _check(dataset: CrowdDataset, workers: Sequence[int], rate: float) -> None:
    if not 0 <= rate <= 1:
        raise SettingError("rate", "lie between 0 and 1", rate)
    unknown = [worker for worker in workers if not 0 <= worker < dataset.n_workers]
    if unknown:
        raise SettingError("workers", f"be numbers in 0 … {dataset.n_workers - 1}", unknown[0])
    if (dataset.gold[dataset.task] < 0).any():
        raise DataError(f"{dataset.name} has annotated tasks without gold", "An attack needs the true class of each.")


def _with_roles(dataset: CrowdDataset, roles: dict[int, str]) -> CrowdDataset:
    """The crowd with the roles of these workers, without true parameters that no longer hold."""
    before = (dataset.truth and dataset.truth.worker_role) or ("",) * dataset.n_workers
    worker_role = tuple(roles.get(worker, role) for worker, role in enumerate(before))
    return replace(dataset, truth=SimulatedTruth(worker_role=worker_role))
