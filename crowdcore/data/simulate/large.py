"""A crowd of any size for benchmarks: every worker has a confusion of their own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.core.settings import setting
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate._draw import choose_workers, draw_labels
from crowdcore.data.simulate.base import ClassSimulation, Crowd, as_tasks


class Large(ClassSimulation):
    """Worker r is right on class c with probability ``a_rc ~ Beta(7, 3)``; half of the rest goes to one class of
    that worker's own, the other half uniformly to all others. 10⁷ annotations take seconds.
    """

    name: ClassVar[str] = "large"
    title: ClassVar[str] = "Any size, for benchmarks"
    paper: ClassVar[str] = "-"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = setting(2_000_000, "Tasks", "Tasks, N.", ge=1)
    n_workers: int = setting(500, "Workers", "Workers, R.", ge=1)
    n_classes: int = setting(10, "Classes", "Classes, C.", ge=2)
    per_task: int = setting(5, "Labels per task", "Labels per task.", ge=1)

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        gold = rng.integers(self.n_classes, size=self.n_tasks, dtype=np.int32)
        gold[0] = self.n_classes - 1
        return as_tasks((None, gold), self.name)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        shape = (self.n_workers, self.n_classes)
        right = rng.beta(7, 3, shape)
        wrong = 1 - right
        own = (np.arange(self.n_classes) + rng.integers(1, self.n_classes, shape)) % self.n_classes
        confusion = np.repeat((wrong / (2 * (self.n_classes - 1)))[:, :, None], self.n_classes, axis=2)
        r, c = np.indices(shape)
        confusion[r, c, own] += wrong / 2
        confusion[r, c, c] = right
        task = np.repeat(labelled.astype(np.int32), self.per_task)
        worker = choose_workers(len(labelled), self.n_workers, self.per_task, rng).ravel()
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion), self.n_workers)


def large(
    n_tasks: int = 2_000_000, n_workers: int = 500, n_classes: int = 10, per_task: int = 5, seed: int = 0
) -> CrowdDataset:
    """A simulated crowd for benchmarks; the default has 10⁷ annotations."""
    return Large(n_tasks=n_tasks, n_workers=n_workers, n_classes=n_classes, per_task=per_task, seed=seed).run()
