"""EM for tasks whose true class, difficulty and foil are latent: able workers, hard tasks, and tasks that mislead.

A task has a true class z, a difficulty d on a grid and, with some chance, a foil f. A label of worker r is right with
probability ``σ(s_d β_rz - d)``; a wrong one is b with probability ``w_rz(b)``, r's own share of b among the wrong
labels of that class, and on a task with foil f with ``φ [b = f] + (1 - φ) w_rz(b)``. Every wrong class is as likely the
foil. The slope s_d is 1, or 0.3 on tasks where ability matters less.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from crowdcore.core.compiled import n_ranges, run_ranges
from crowdcore.core.latent_loops import Model, Tasks, fill_posterior, fit_step
from crowdcore.core.types import FloatArray, IntArray

ALONE = 0.15  # initial 1 - φ: share of the wrong labels on a task with a foil that are the worker's own
LEVELS = np.r_[np.linspace(-5, 5, 11), np.linspace(-2, 2, 5)]
SLOPES = np.repeat([1.0, 0.3], [11, 5])
MOST = 8.0  # largest |β|
_LEAST_ALONE = 0.01
_RAREST = 1e-4  # least share of a wrong label
_ORDER = 3  # of the acceleration
_DAMPING = 1e-8  # of the squared changes, for steps that are almost alike
_LEAST_LEFT = 0.1  # factor to which the share of a task type falls at most when it is extrapolated
_LEAST_WEIGHED = 1e-3  # share of tasks up to which smaller ones weigh more


def start_prior(n_classes: int) -> FloatArray:
    """(D, 2) shares of tasks of each difficulty, without and with a foil, before the fit."""
    prior = np.outer(np.exp(-(LEVELS**2) / 4), [0.9, 0.1 if n_classes > 2 else 0.0])
    return np.asarray(prior / prior.sum())


class Anderson:
    """Extrapolates from the last steps of ``x ← g(x)`` to where ``g(x) - x`` would vanish if g were linear.

    Walker & Ni, SIAM Journal on Numerical Analysis 2011, doi:10.1137/10078356X.

    Args:
        order: differences of steps that are looked at.

    Examples:
        >>> import numpy as np
        >>> steps, x = Anderson(1), np.array([0.0])
        >>> for _ in range(2):
        ...     steps.add(x, x := 1 + x / 2)
        >>> steps.extrapolate(np.ones(1)).round(6).tolist()
        [2.0]
    """

    def __init__(self, order: int) -> None:
        self._steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=order + 1)

    def add(self, point: FloatArray, image: FloatArray) -> None:
        """Remember a step from ``point`` to ``image = g(point)``, arrays (n,)."""
        self._steps.append((image, image - point))

    def forget(self) -> None:
        """Forget earlier steps."""
        self._steps.clear()

    def extrapolate(self, weight: FloatArray) -> FloatArray | None:
        """Next point (n,); None while fewer than two steps are known. ``weight`` (n,): of squared changes."""
        if len(self._steps) < 2:
            return None
        images, changes = (np.array(each) for each in zip(*self._steps, strict=True))
        differences = np.diff(changes, axis=0)
        normal = differences * weight @ differences.T
        normal[np.diag_indices(len(normal))] *= 1 + _DAMPING
        share = np.linalg.lstsq(normal, differences * weight @ changes[-1], rcond=None)[0]
        return np.asarray(images[-1] - share @ np.diff(images, axis=0))


@dataclass(frozen=True)
class LatentPriors:
    """Priors of the parameters.

    β of a worker's classes is normal around the worker's mean, which is normal around ``worker_mean``.

    Attributes:
        class_deviation: standard deviation of a worker's β around their mean.
        worker_mean, worker_deviation: of the means.
        drawn: labels by which a worker's shares of wrong labels are drawn to the crowd's.
        even: labels by which the crowd's are drawn to even ones.
        alone_drawn: labels by which 1 - φ is drawn to its initial value; infinite to keep it.
    """

    class_deviation: float
    worker_mean: float
    worker_deviation: float
    drawn: float
    even: float
    alone_drawn: float


@dataclass(eq=False)
class LatentClasses:
    """The present state of the fit; `step` improves it, `accelerated_step` faster.

    Attributes:
        tasks: annotations and the classes that each task may have, as in `latent_loops`.
        counts: (n_workers, C, C) expected labels, row = true, column = given; at first those of a guess.
        class_share: (C,) share of tasks of each class; at first that of the guess.
        priors: of the parameters.
    """

    tasks: Tasks
    counts: FloatArray
    class_share: FloatArray
    priors: LatentPriors
    _beta: FloatArray = field(init=False)  # (n_workers, C)
    _mean: FloatArray = field(init=False)  # (n_workers, 1)
    _prior: FloatArray = field(init=False)  # (D, 2)
    _alone: float = field(init=False, default=ALONE)
    _curvature: FloatArray = field(init=False)  # (n_workers, C) of the objective in β
    _steps: Anderson = field(init=False, default_factory=lambda: Anderson(_ORDER))
    _reached: float = field(init=False, default=-np.inf)

    def __post_init__(self) -> None:
        n = self.counts.shape[1]
        n_right, n_labels = np.trace(self.counts, axis1=1, axis2=2), self.counts.sum((1, 2))
        mean = np.log((n_right + 0.5) / (n_labels - n_right + 0.5))
        self._mean = np.where(n_labels > 0, mean, self.priors.worker_mean)[:, None]
        self._beta, self._prior = np.repeat(self._mean, n, 1), start_prior(n)
        self._curvature = np.ones_like(self._beta)

    @property
    def model(self) -> Model:
        """The parameters, as the compiled loops read them."""
        right = expit(SLOPES * np.concatenate([self._beta, self._mean], 1)[:, :, None] - LEVELS)
        return right, self._shares(), self.class_share, self._prior, SLOPES, self._alone

    def step(self) -> float:
        """One E-step, and an M-step with one Newton step for β.

        Returns the log likelihood of the labels plus the log density of β, class shares and φ, before the M-step.
        """
        n = self.counts.shape[1]
        of_class, of_worker = self.priors.class_deviation**2, self.priors.worker_deviation**2
        density = -float(((self._beta - self._mean) ** 2).sum() / of_class) / 2
        density -= float(((self._mean - self.priors.worker_mean) ** 2).sum() / of_worker) / 2
        density += float(np.log(self.class_share).sum())
        if np.isfinite(self.priors.alone_drawn):
            own = ALONE * np.log(self._alone) + (1 - ALONE) * np.log(1 - self._alone)
            density += float(self.priors.alone_drawn * own)
        model = self.model
        n_types, n_class, labels, right_slope, self.counts, n_misled, log_likelihood = self._expected(model)
        right = model[0][:, :-1]
        labels *= right
        gradient = right_slope - labels @ SLOPES - (self._beta - self._mean) / of_class
        labels *= 1 - right
        self._curvature = labels @ SLOPES**2 + 1 / of_class
        self._move_to(self._beta + np.clip(gradient / self._curvature, -1, 1))
        self._prior, self.class_share = n_types / n_types.sum(), (n_class + 1) / (n_class.sum() + n)
        more = n_misled[0] - ALONE * n_misled.sum()  # of the workers' own than at first
        self._alone = max(ALONE + float(more / (n_misled.sum() + self.priors.alone_drawn)), _LEAST_ALONE)
        return float(log_likelihood) + density

    def accelerated_step(self) -> float:
        """A `step` from where the last steps of β and the shares of task types lead, if that is better; else a `step`.

        Distances are those of the expected information. Returns the objective as `step` does; it does not fall.
        """
        before = dict(vars(self))
        point = self._extrapolated()
        if point is not None:
            beta, prior = np.split(point, [self._beta.size])
            self._move_to(beta.reshape(self._beta.shape))
            self._prior = np.maximum(prior.reshape(self._prior.shape), _LEAST_LEFT * self._prior)
            self._prior /= self._prior.sum()
        start = self._point()
        objective = self.step()
        if point is not None and objective < self._reached:
            vars(self).update(before)
            self._steps.forget()
            start, objective = self._point(), self.step()
        self._reached = objective
        self._steps.add(start, self._point())
        return objective

    def posterior(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Posterior of each task.

        Returns:
            (n_tasks, C) probability of each class; (n_tasks,) share of the crowd's labels that would be wrong;
            (n_tasks,) int32 the foil, if the task is more likely than not to have it, given its most probable class,
            else -1. NaN and -1 for tasks without annotations.
        """
        n_tasks, n, model = len(self.tasks[0]) - 1, self.counts.shape[1], self.model
        posterior, difficulty = np.full((n_tasks, n), np.nan), np.full(n_tasks, np.nan)
        foil = np.full(n_tasks, -1, np.int32)
        labels = np.bincount(self.tasks[1], minlength=len(self.counts))
        right = np.average(model[0], axis=0, weights=labels)
        result = posterior, difficulty, foil

        def fill(_: int, start: int, stop: int) -> None:
            fill_posterior(start, stop, self.tasks, model, right, *result)

        run_ranges(n_tasks, n_ranges(len(self.tasks[2]) * len(LEVELS), 1), fill)
        return result

    def confusion(self) -> FloatArray:
        """(n_workers, C, C) share of each label among a worker's on tasks of each class, row = true."""
        right, share, _, prior, _, alone = self.model
        n = share.shape[2]
        hit = right[:, :-1] @ prior.sum(1)
        wrong, misled = (1 - right[:, :-1]) @ prior.sum(1), (1 - right[:, :-1]) @ prior[:, 1]
        own = share[:, :-1] / share[:, :-1].sum(2, keepdims=True)
        share = (wrong - (1 - alone) * misled)[:, :, None] * own + (1 - alone) * misled[:, :, None] / max(n - 1, 1)
        each = np.arange(n)
        share[:, each, each] = hit
        return np.asarray(share / share.sum(2, keepdims=True))

    def _move_to(self, beta: FloatArray) -> None:
        """Let β be ``beta``, within bounds, and the workers' means most probable given that."""
        self._beta = np.clip(beta, -MOST, MOST)
        pull = self.priors.class_deviation**2 / self.priors.worker_deviation**2
        of_worker = self._beta.sum(1, keepdims=True) + pull * self.priors.worker_mean
        self._mean = of_worker / (self._beta.shape[1] + pull)

    def _point(self) -> FloatArray:
        """(n_workers · C + 2D,) the extrapolated parameters."""
        return np.concatenate([self._beta.ravel(), self._prior.ravel()])

    def _extrapolated(self) -> FloatArray | None:
        n_tasks = np.count_nonzero(np.diff(self.tasks[4]))
        information = n_tasks / np.maximum(self._prior, _LEAST_WEIGHED)
        return self._steps.extrapolate(np.concatenate([self._curvature.ravel(), information.ravel()]))

    def _expected(self, model: Model) -> list[FloatArray]:
        n_workers, n = self.counts.shape[:2]
        start = self.tasks[0]
        several = n_ranges(len(self.tasks[2]) * len(LEVELS), n_workers * n * (n + len(LEVELS)))
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
