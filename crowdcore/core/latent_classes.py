"""EM for tasks whose true class, difficulty and foil are latent: able workers, hard tasks, and tasks that mislead.

A task has a true class z, a difficulty d on a grid and, with some chance, a foil f. A label of worker r is right with
probability ``σ(s_d β_rz - d)``; a wrong one is b with probability ``w_rz(b)``, r's own share of b among the wrong
labels of that class, and on a task with foil f with ``φ [b = f] + (1 - φ) w_rz(b)``. Every wrong class is as likely the
foil. The slope s_d is 1, or 0.3 on tasks where ability tells less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from crowdcore.core.parallel import n_ranges, run_ranges
from crowdcore.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from crowdcore.core.kernels_latent_classes_numba import Model, Tasks

ALONE = 0.15  # 1 - φ, at first: how many of the wrong labels on a task with a foil are the worker's own
LEVELS = np.r_[np.linspace(-5, 5, 11), np.linspace(-2, 2, 5)]
SLOPES = np.repeat([1.0, 0.3], [11, 5])
MOST = 8.0  # largest |β|
_LEAST_ALONE = 0.01
_RAREST = 1e-4  # least share of a wrong label


def start_prior(n_classes: int) -> FloatArray:
    """(D, 2) shares of tasks of each difficulty, without and with a foil, before the fit."""
    prior = np.outer(np.exp(-(LEVELS**2) / 4), [0.9, 0.1 if n_classes > 2 else 0.0])
    return np.asarray(prior / prior.sum())


@dataclass(frozen=True)
class LatentPriors:
    """What the parameters are drawn to.

    β of a worker's classes is normal around the worker's mean, which is normal around ``worker_mean``.

    Attributes:
        class_deviation: standard deviation of a worker's β around their mean.
        worker_mean, worker_deviation: of the means.
        drawn: labels by which a worker's shares of wrong labels are drawn to the crowd's.
        even: labels by which the crowd's are drawn to even ones.
        alone_drawn: labels by which 1 - φ is drawn to what it is at first; infinite to keep it.
    """

    class_deviation: float
    worker_mean: float
    worker_deviation: float
    drawn: float
    even: float
    alone_drawn: float


@dataclass(eq=False)
class LatentClasses:
    """The present state of the fit; `step` improves it.

    Attributes:
        tasks: annotations and the classes that each task may have, as in `kernels_latent_classes_numba`.
        counts: (n_workers, C, C) expected labels, row = true, column = given; at first those of a guess.
        class_share: (C,) share of tasks of each class; at first that of the guess.
        priors: what parameters are drawn to.
    """

    tasks: Tasks
    counts: FloatArray
    class_share: FloatArray
    priors: LatentPriors
    _beta: FloatArray = field(init=False)  # (n_workers, C)
    _mean: FloatArray = field(init=False)  # (n_workers, 1)
    _prior: FloatArray = field(init=False)  # (D, 2)
    _alone: float = field(init=False, default=ALONE)

    def __post_init__(self) -> None:
        n = self.counts.shape[1]
        n_right = np.trace(self.counts, axis1=1, axis2=2)
        self._mean = np.log((n_right + 0.5) / (self.counts.sum((1, 2)) - n_right + 0.5))[:, None]
        self._beta, self._prior = np.repeat(self._mean, n, 1), start_prior(n)

    @property
    def model(self) -> Model:
        """The parameters, as the compiled loops read them."""
        _, _, _, _, candidate_start, candidate = self.tasks
        right = expit(SLOPES * np.concatenate([self._beta, self._mean], 1)[:, :, None] - LEVELS)
        weight = _weights(self.class_share, candidate_start, candidate)
        return right, self._shares(), weight, self._prior, SLOPES, self._alone

    def step(self) -> float:
        """One E-step, and an M-step with one Newton step for β.

        Returns the log likelihood of the labels plus the log density of β, before the M-step.
        """
        n = self.counts.shape[1]
        of_class, of_worker = self.priors.class_deviation**2, self.priors.worker_deviation**2
        density = -float(((self._beta - self._mean) ** 2).sum() / of_class) / 2
        density -= float(((self._mean - self.priors.worker_mean) ** 2).sum() / of_worker) / 2
        n_types, n_class, newton, self.counts, n_misled, log_likelihood = self._expected()
        gradient = newton[0] - (self._beta - self._mean) / of_class
        self._beta = self._beta + np.clip(gradient / (newton[1] + 1 / of_class), -1, 1)
        self._beta = np.clip(self._beta, -MOST, MOST)
        pull = of_class / of_worker
        self._mean = (self._beta.sum(1, keepdims=True) + pull * self.priors.worker_mean) / (n + pull)
        self._prior, self.class_share = n_types / n_types.sum(), (n_class + 1) / (n_class.sum() + n)
        more = n_misled[0] - ALONE * n_misled.sum()  # of the workers' own than at first
        self._alone = max(ALONE + float(more / (n_misled.sum() + self.priors.alone_drawn)), _LEAST_ALONE)
        return float(log_likelihood) + density

    def posterior(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """What the labels say of each task.

        Returns:
            (n_tasks, C) probability of each class; (n_tasks,) share of the crowd's labels that would be wrong;
            (n_tasks,) int32 the foil, if the task is more likely than not to have it, given its most probable class,
            else -1. NaN and -1 for tasks without annotations.
        """
        from crowdcore.core.kernels_latent_classes_numba import fill_posterior

        n_tasks, n, model = len(self.tasks[0]) - 1, self.counts.shape[1], self.model
        posterior, difficulty = np.full((n_tasks, n), np.nan), np.full(n_tasks, np.nan)
        foil = np.full(n_tasks, -1, np.int32)
        labels = np.bincount(self.tasks[1], minlength=len(self.counts))
        right = np.average(model[0], axis=0, weights=labels)
        found = posterior, difficulty, foil

        def fill(_: int, start: int, stop: int) -> None:
            fill_posterior(start, stop, self.tasks, model, self.class_share, right, *found)

        run_ranges(n_tasks, n_ranges(len(self.tasks[2]) * len(LEVELS), 1), fill)
        return found

    def confusion(self) -> FloatArray:
        """(n_workers, C, C) share of each label among a worker's on tasks of each class, row = true."""
        right, share, _, prior, _, alone = self.model
        n = share.shape[2]
        hit = right[:, :-1] @ prior.sum(1)
        wrong, misled = (1 - right[:, :-1]) @ prior.sum(1), (1 - right[:, :-1]) @ prior[:, 1]
        own = share[:, :-1] / share[:, :-1].sum(2, keepdims=True)
        found = (wrong - (1 - alone) * misled)[:, :, None] * own + (1 - alone) * misled[:, :, None] / max(n - 1, 1)
        each = np.arange(n)
        found[:, each, each] = hit
        return np.asarray(found / found.sum(2, keepdims=True))

    def _expected(self) -> list[FloatArray]:
        from crowdcore.core.kernels_latent_classes_numba import fit_step

        n_workers, n = self.counts.shape[:2]
        start, model = self.tasks[0], self.model
        several = n_ranges(len(self.tasks[2]) * len(LEVELS), n_workers * n * (n + 2))
        parts = run_ranges(len(start) - 1, several, lambda _, a, b: fit_step(a, b, self.tasks, model))
        return [np.asarray(sum(each)) for each in zip(*parts, strict=True)]

    def _shares(self) -> FloatArray:
        """(n_workers, C + 1, C) shares of a worker's wrong labels, drawn to the crowd's; of any class in the last."""
        other = ~np.eye(self.counts.shape[1], dtype=bool)
        wrong = self.counts * other
        wrong = np.concatenate([wrong, wrong.sum(1, keepdims=True)], 1)
        crowd = wrong.sum(0) + self.priors.even * np.concatenate([other, np.ones((1, len(other)), bool)])
        crowd /= np.maximum(crowd.sum(1, keepdims=True), 1e-9)
        drawn = (wrong + self.priors.drawn * crowd) / (wrong.sum(2, keepdims=True) + self.priors.drawn)
        return np.asarray(np.maximum(drawn, _RAREST))


def _weights(class_share: FloatArray, start: IntArray, candidate: IntArray) -> FloatArray:
    """(n_candidates,) share of tasks with each class that a task may have; of any other one, what is left."""
    weight, other = np.append(class_share, 0.0)[candidate], candidate == len(class_share)
    left = 1 - np.diff(np.append(0.0, np.cumsum(weight))[start])
    weight[other] = np.maximum(np.repeat(left, np.diff(start))[other], _RAREST**2)
    return np.asarray(weight)
