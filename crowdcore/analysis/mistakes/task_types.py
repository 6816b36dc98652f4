"""How hard each task is, and whether it misleads to a wrong class of its own: what pairs of workers must agree beyond.

A task has a difficulty d on a grid and, with some chance, a foil. Of worker r a label of true class a is right with
probability ``σ(β_ra - d)``; a wrong one is b with probability ``w_ra(b)``, r's own share of b among the wrong labels of
that class, and on a task with foil f with ``φ [b = f] + (1 - φ) w_ra(b)``. Every wrong class is as likely the foil.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from crowdcore.core.latent_classes import ALONE, LEVELS, MOST, SLOPES, start_prior
from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

DRAWN = 1.0  # labels by which a worker's shares of wrong labels are drawn to the crowd's
STEPS = 25


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of one task after the other, one per worker, and the rows (worker, true class) that occur.

    Attributes:
        task_start: (n_tasks + 1,) first annotation of each task.
        task, worker, label: (A,).
        wrong: (A,) int64 1 where the label is not the true class.
        row: (A,) row of each annotation.
        row_true: (n_rows,) its true class.
        row_size: (n_rows,) its labels.
        cell: (A,) where each annotation is in ``row_label``.
        row_start: (n_rows + 1,) into ``row_label`` and ``row_count``: the distinct labels and their numbers.
        n_classes: C.
    """

    task_start: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    wrong: IntArray
    row: IntArray
    row_true: IntArray
    row_size: IntArray
    cell: IntArray
    row_start: IntArray
    row_label: IntArray
    row_count: IntArray
    n_classes: int


@dataclass(frozen=True, eq=False)
class TaskTypes:
    """The fitted model.

    Attributes:
        right: (n_rows, D) chance of a right label at each difficulty.
        prior: (D, 2) share of tasks of each difficulty, without and with a foil.
        level: (n_tasks, D) likelihood of each task's right and wrong labels at each difficulty, up to a factor.
        hint: (A,) how much each wrong label speaks for itself as the foil, against a foil that it is not.
        crowd: (C, C) share of each wrong label among all of a true class.
    """

    right: FloatArray
    prior: FloatArray
    level: FloatArray
    hint: FloatArray
    crowd: FloatArray


def fit_task_types(labels: Labels) -> TaskTypes:
    """Fit by EM over the tasks' types, with a Newton step for β in each iteration."""
    from crowdcore.core.kernels_task_types_numba import fit_step  # compiled loops are loaded when needed

    of, n_rows, n = labels, len(labels.row_true), labels.n_classes
    n_wrong = np.bincount(of.row, of.wrong, n_rows).astype(np.float64)
    n_right = of.row_size - n_wrong
    beta = np.log((n_right + 0.5) / (n_wrong + 0.5))
    prior = start_prior(n)
    cell = of.row_true[of.row] * n + of.label
    seen = np.bincount(cell, of.wrong, n**2).reshape(n, n).astype(np.float64)
    crowd = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    hint, level = _hints(of, n_wrong, crowd), np.empty((len(of.task_start) - 1, len(LEVELS)))
    given = of.task_start, of.row, of.wrong, of.label, hint

    several = n_ranges(len(of.row) * len(LEVELS), n_rows * len(LEVELS))

    def expected(chances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        def part(_: int, first: int, last: int) -> tuple[FloatArray, FloatArray, FloatArray]:
            return fit_step(first, last, *given, chances, prior, SLOPES, ALONE, n, level)

        parts = run_ranges(len(level), several, part)
        number, labels, right_slope = (sum(each) for each in zip(*parts, strict=True))
        return number, labels, right_slope

    for _ in range(STEPS):
        chances = _chances(beta)
        number, n_labels, right_slope = expected(chances)
        right = chances[0]
        gradient = right_slope - (n_labels * right) @ SLOPES
        curvature = (n_labels * right * (1 - right)) @ SLOPES**2
        prior = number / max(number.sum(), 1e-300)
        beta = np.clip(beta + np.clip(gradient / np.maximum(curvature, 1e-9), -1, 1), -MOST, MOST)
    chances = _chances(beta)
    expected(chances)
    return TaskTypes(chances[0], prior, level, hint, crowd)


def _chances(beta: FloatArray) -> FloatArray:
    """(2, n_rows, D) chance of a right label, σ(slope β - d), and of a wrong one."""
    logit = SLOPES * beta[:, None] - LEVELS
    return np.stack([expit(logit), expit(-logit)])


def _hints(of: Labels, n_wrong: FloatArray, crowd: FloatArray) -> FloatArray:
    """``(φ / u + 1 - φ) / (1 - φ)`` with u the worker's share of the label, drawn to the crowd's."""
    u = (of.row_count[of.cell] + DRAWN * crowd[of.row_true[of.row], of.label]) / (n_wrong[of.row] + DRAWN)
    return np.asarray(((1 - ALONE) / np.where(of.wrong > 0, u, 1.0) + ALONE) / ALONE)
