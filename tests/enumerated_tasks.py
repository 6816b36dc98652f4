"""A few tasks of the latent class model, and every state that they may be in, spelt out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdcore.core.latent_loops import Model, Tasks
from crowdcore.core.types import IntArray

N_TASKS, N_WORKERS, C, ALONE = 6, 5, 3, 0.15


def every_label(label: IntArray) -> Tasks:
    """Tasks that everybody labels (N_TASKS, N_WORKERS) and that may have each class; worker 1 is no judge."""
    return (
        np.arange(N_TASKS + 1) * N_WORKERS,
        np.tile(np.arange(N_WORKERS), N_TASKS),
        label.ravel(),
        np.arange(N_WORKERS) != 1,
        np.arange(N_TASKS + 1) * (C + 1),
        np.tile(np.arange(C + 1), N_TASKS),
    )


def random_tasks() -> tuple[Tasks, Model]:
    """Tasks on which all classes occur, and a random model."""
    rng = np.random.default_rng(0)
    label = np.array([[0, 1, 2, *rng.integers(C, size=2)] for _ in range(N_TASKS)])
    tasks = every_label(rng.permuted(label, axis=1))
    right, prior = rng.uniform(0.2, 0.9, (N_WORKERS, C + 1, 2)), rng.dirichlet(np.ones(4)).reshape(2, 2)
    share = rng.uniform(0.2, 1, (N_WORKERS, C + 1, C)) * ~np.eye(C + 1, C, dtype=bool)
    share /= share.sum(2, keepdims=True)
    class_share = np.array([0.5, 0.3, 0.2])
    return tasks, (right, share, class_share, prior, np.array([1.0, 0.3]), ALONE)


def chance(model: Model, r: int, given: int, z: int, d: int, foil: int | None) -> float:
    """Chance of a label of worker r."""
    right, share, alone = float(model[0][r, z, d]), float(model[1][r, z, given]), model[5]
    if given == z:
        return right
    return (1 - right) * (share if foil is None else (1 - alone) * (given == foil) + alone * share)


def joint(tasks: Tasks, model: Model, i: int, without: tuple[int, ...] = ()) -> Iterator[tuple[float, int, int, int]]:
    """Chance of the labels of task i by the judges but some, with true class, difficulty and foil (-1: none)."""
    label, judges = tasks[2].reshape(N_TASKS, N_WORKERS), tasks[3]
    for z in range(C):
        for d in range(len(model[3])):
            for foil in (None, *(f for f in range(C) if f != z)):
                p = float(model[2][z] * (model[3][d, 0] if foil is None else model[3][d, 1] / (C - 1)))
                for r in range(N_WORKERS):
                    if judges[r] and r not in without:
                        p *= chance(model, r, label[i, r], z, d, foil)
                yield p, z, d, -1 if foil is None else foil


def states(tasks: Tasks, model: Model, i: int, without: tuple[int, ...] = ()) -> Iterator[tuple[float, int, int, int]]:
    """Probability, true class, difficulty and foil (-1: none) of task i by the judges but some workers."""
    states = [*joint(tasks, model, i, without)]
    total = sum(p for p, *_ in states)
    return ((p / total, *state) for p, *state in states)
