"""GLAD: worker abilities and task difficulties."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from crowdcore.aggregation._em import EMAggregator, too_few_labels
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.compiled import compiled, is_large, n_ranges, run_ranges
from crowdcore.core.errors import DataError
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset


class Crowd(NamedTuple):
    """Annotations sorted by task.

    Attributes:
        task_start: (n_tasks + 1,) int64.
        task, worker, label: (n_annotations,) int32.
        known: (n_tasks,) int32 class of clamped tasks, -1 elsewhere.
        n_workers: R.
    """

    task_start: IntArray
    task: IntArray
    worker: IntArray
    label: IntArray
    known: IntArray
    n_workers: int


def e_step(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, log_prior: FloatArray, posterior: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Posterior under α (n_workers,), β (n_tasks,) and log ρ (C,), and the sums that the abilities need.

    Args:
        posterior: (n_tasks, C), overwritten; zero rows for tasks without evidence.

    Returns:
        The log-likelihood; (n_workers,) ``Σ_i β_i (q_i(y) - ½)``; (n_workers,) ``2 Σ_i λ(α_r β_i) β_i²``.
    """
    n_tasks, n_classes = posterior.shape
    if not is_large(len(crowd.task) * n_classes):
        return _small_e_step(crowd, ability, ease, log_prior, posterior)
    parts = n_ranges(len(crowd.task), 2 * crowd.n_workers)
    sums = np.zeros((2, parts, crowd.n_workers))

    def run(part: int, first: int, last: int) -> float:
        data = (crowd.task_start, crowd.worker, crowd.label, crowd.known, ability, ease, log_prior)
        return _e_step_range(first, last, *data, posterior, sums[0, part], sums[1, part])

    likelihood = sum(run_ranges(n_tasks, parts, run))
    pull, weight = sums.sum(1)
    return likelihood, pull, weight


def task_sums(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) ``Σ_r α_r (q_i(y) - ½)`` and (n_tasks,) ``Σ_r λ(α_r β_i) α_r²``."""
    n_tasks, n_classes = posterior.shape
    if not is_large(len(crowd.task) * n_classes):
        each = ability[crowd.worker]
        surplus = posterior[crowd.task, crowd.label] - 0.5
        bend = _curvatures(each * ease[crowd.task])
        return _summed(crowd.task, each * surplus, n_tasks), _summed(crowd.task, bend * each**2, n_tasks)
    linear, quadratic = np.empty(n_tasks), np.empty(n_tasks)

    def run(_part: int, first: int, last: int) -> None:
        data = (crowd.task_start, crowd.worker, crowd.label, ability, ease, posterior)
        _task_sums_range(first, last, *data, linear, quadratic)

    run_ranges(n_tasks, n_ranges(len(crowd.task), 1), run)
    return linear, quadratic


def _small_e_step(
    crowd: Crowd, ability: FloatArray, ease: FloatArray, log_prior: FloatArray, posterior: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    n_classes = posterior.shape[1]
    log_rest = np.log(n_classes - 1)
    each = ease[crowd.task]
    x = ability[crowd.worker] * each
    cell = crowd.task.astype(np.int64) * n_classes + crowd.label
    posterior[:] = np.bincount(cell, x + log_rest, posterior.size).reshape(posterior.shape)
    posterior += log_prior
    wrong = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))) + log_rest  # -log P(one given wrong label)
    clamped = np.flatnonzero(crowd.known >= 0)
    of_known = posterior[clamped, crowd.known[clamped]]
    top = posterior.max(1, keepdims=True)
    np.exp(posterior - top, out=posterior)
    total = posterior.sum(1, keepdims=True)
    posterior /= total
    likelihood = (top + np.log(total))[:, 0]
    likelihood[clamped] = of_known
    posterior[clamped] = 0.0
    posterior[clamped, crowd.known[clamped]] = 1.0
    evident = (np.diff(crowd.task_start) > 0) | (crowd.known >= 0)
    posterior[~evident] = 0.0
    pull = _summed(crowd.worker, each * (posterior.ravel()[cell] - 0.5), crowd.n_workers)
    weight = _summed(crowd.worker, 2 * _curvatures(x) * each**2, crowd.n_workers)
    return float(likelihood[evident].sum() - wrong.sum()), pull, weight


def _summed(index: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(index, values, n), np.float64)


def _curvatures(x: FloatArray) -> FloatArray:
    """λ(x) = tanh(x/2)/4x, 1/8 at 0."""
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.125, np.tanh(safe / 2) / (4 * safe))


@compiled
def _curvature(size: float, decay: float) -> float:
    """λ(x) of ``size`` = abs(x) and ``decay`` = exp(-abs(x))."""
    return 0.125 if size < 1e-4 else (1.0 - decay) / (1.0 + decay) / (4.0 * size)


@compiled
def _e_step_range(
    first: int,
    last: int,
    task_start: IntArray,
    worker: IntArray,
    label: IntArray,
    known: IntArray,
    ability: FloatArray,
    ease: FloatArray,
    log_prior: FloatArray,
    posterior: FloatArray,
    pull: FloatArray,
    weight: FloatArray,
) -> float:
    """The tasks ``first:last`` of `e_step`; adds to ``pull`` and ``weight``, returns the likelihood."""
    n_classes = len(log_prior)
    log_rest = math.log(n_classes - 1)
    bend = np.empty((task_start[first + 1 : last + 1] - task_start[first:last]).max() if last > first else 0)
    likelihood, running = 0.0, 1.0
    for i in range(first, last):
        begin, end, clamp = task_start[i], task_start[i + 1], known[i]
        q = posterior[i]
        if begin == end and clamp < 0:
            q[:] = 0.0
            continue
        for c in range(len(q)):
            q[c] = log_prior[c]
        for j in range(begin, end):
            x = ability[worker[j]] * ease[i]
            size = abs(x)
            decay = math.exp(-size)
            q[label[j]] += x + log_rest
            likelihood -= max(x, 0.0) + log_rest
            running *= 1.0 + decay
            if running > 1e200:
                likelihood -= math.log(running)
                running = 1.0
            bend[j - begin] = _curvature(size, decay)
        if clamp >= 0:
            likelihood += q[clamp]
            q[:] = 0.0
            q[clamp] = 1.0
        else:
            top = q.max()
            total = 0.0
            for c in range(n_classes):
                q[c] = math.exp(q[c] - top)
                total += q[c]
            likelihood += top + math.log(total)
            for c in range(n_classes):
                q[c] /= total
        for j in range(begin, end):
            r = worker[j]
            pull[r] += ease[i] * (q[label[j]] - 0.5)
            weight[r] += 2.0 * bend[j - begin] * ease[i] * ease[i]
    return likelihood - math.log(running)


@compiled
def _task_sums_range(
    first: int,
    last: int,
    task_start: IntArray,
    worker: IntArray,
    label: IntArray,
    ability: FloatArray,
    ease: FloatArray,
    posterior: FloatArray,
    linear: FloatArray,
    quadratic: FloatArray,
) -> None:
    """The tasks ``first:last`` of `task_sums`."""
    for i in range(first, last):
        linear[i], quadratic[i] = 0.0, 0.0
        for j in range(task_start[i], task_start[i + 1]):
            a = ability[worker[j]]
            size = abs(a * ease[i])
            linear[i] += a * (posterior[i, label[j]] - 0.5)
            quadratic[i] += _curvature(size, math.exp(-size)) * a * a


_SUMMIT_STEPS = 2  # Newton steps on each task's one-dimensional bound per iteration
_SMALLEST_SHARE = 1e-12
_FEW = 5  # labels per worker that an ability should rest on


class _State(NamedTuple):
    """α (n_workers,), log β (n_tasks,), log ρ (C,)."""

    ability: FloatArray
    log_ease: FloatArray
    log_prior: FloatArray


class GLAD(EMAggregator):
    """Generative model of labels, abilities and difficulties.

    ``P(y_i^r = z_i) = σ(α_r β_i)`` with β_i > 0, the other classes share the rest evenly; ``α_r ~ N(m_α, s_α²)``,
    ``log β_i ~ N(m_β, s_β²)``.

    E-step: ``log q_i(c) = log ρ_c + Σ_{r: y_i^r = c} (α_r β_i + log(C - 1)) + const``. M-step: with
    ``p = q_i(y_i^r)`` and ``x = α_r β_i``, ``log σ(x) ≥ log σ(ξ) + (x - ξ)/2 - λ(ξ)(x² - ξ²)`` with
    ``λ(ξ) = tanh(ξ/2)/4ξ`` (Jaakkola & Jordan) turns the expected log-likelihood into a quadratic that it touches at
    the present parameters: ``α_r = (m_α/s_α² + Σ_i β_i (p - ½)) / (1/s_α² + 2 Σ_i λ β_i²)``, and β_i is the summit of
    ``β Σ_r α_r (p - ½) - β² Σ_r λ α_r² - (log β - m_β)²/2s_β²``. So no step size is needed, and the recorded value,
    log-likelihood plus log prior density, never falls.

    ``worker_weight`` is α, ``difficulty`` is 1/β. The start is α = m_α, β = exp m_β for everyone.
    """

    name: ClassVar[str] = "glad"
    title: ClassVar[str] = "GLAD"
    paper: ClassVar[str] = "Whitehill, Ruvolo, Wu, Bergsma & Movellan, NeurIPS 2009; bound: doi:10.1023/A:1008932416310"
    of_tasks: ClassVar[str] = "Difficulty: 1/β of the model; the larger, the harder the task."

    max_iterations: int = setting(200, "Iterations at most", "Maximum number of iterations.", ge=1)
    ability_mean: float = setting(1.0, "Ability: prior mean", "Prior mean m_α of the abilities.")
    ability_deviation: float = setting(
        1.0, "Ability: prior standard deviation", "Prior standard deviation s_α of the abilities.", gt=0
    )
    log_ease_mean: float = setting(1.0, "Log ease: prior mean", "Prior mean m_β of the log of β, the ease of a task.")
    log_ease_deviation: float = setting(
        1.0, "Log ease: prior standard deviation", "Prior standard deviation s_β of the log of β.", gt=0
    )
    class_prior: Literal["uniform", "estimated"] = setting("uniform", "Class shares", "Class shares ρ.")

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes < 2:
            raise DataError(f"{dataset.name} has one class only", "At least two classes are needed.")
        no_class: IntArray = np.full(dataset.n_tasks, -1, np.int32)
        clamped = no_class if known is None else known
        crowd = Crowd(dataset.task_start, dataset.task, dataset.worker, dataset.label, clamped, dataset.n_workers)
        state, posterior = self._start(dataset, start), np.empty((dataset.n_tasks, dataset.n_classes))

        def step() -> float:
            nonlocal state
            ease = np.exp(state.log_ease)
            likelihood, pull, weight = e_step(crowd, state.ability, ease, state.log_prior, posterior)
            value = likelihood + self._log_density(dataset, state)
            precision = self.ability_deviation**-2
            ability = (precision * self.ability_mean + pull) / (precision + weight)
            log_ease = self._summit(state.log_ease, *task_sums(crowd, ability, ease, posterior))
            state = _State(ability, log_ease, self._class_shares(state, posterior))
            return value

        trace = self.iterate(step, dataset.n_annotations)
        ease = np.where(dataset.annotated, np.exp(state.log_ease), np.nan)
        return self.result(
            dataset,
            posterior,
            known=known,
            prior=np.exp(state.log_prior),
            worker_weight=np.where(dataset.labels_per_worker > 0, state.ability, np.nan),
            difficulty=1 / ease,
            notes=too_few_labels(dataset, _FEW),
            **trace._asdict(),
        )

    def _start(self, dataset: CrowdDataset, start: AggregationResult | None) -> _State:
        ability = np.full(dataset.n_workers, self.ability_mean)
        log_ease = np.full(dataset.n_tasks, self.log_ease_mean)
        log_prior = np.full(dataset.n_classes, -np.log(dataset.n_classes))
        if start is not None and start.method == self.name:
            assert start.worker_weight is not None and start.difficulty is not None and start.prior is not None
            ability = np.where(np.isnan(start.worker_weight), ability, start.worker_weight)
            log_ease = np.where(np.isnan(start.difficulty), log_ease, -np.log(start.difficulty))
            log_prior = np.log(np.maximum(start.prior, _SMALLEST_SHARE))
        return _State(ability, log_ease, log_prior)

    def _log_density(self, dataset: CrowdDataset, state: _State) -> float:
        ability = (state.ability - self.ability_mean)[dataset.labels_per_worker > 0] / self.ability_deviation
        log_ease = (state.log_ease - self.log_ease_mean)[dataset.annotated] / self.log_ease_deviation
        return float(-0.5 * (ability @ ability + log_ease @ log_ease))

    def _class_shares(self, state: _State, posterior: FloatArray) -> FloatArray:
        if self.class_prior == "uniform":
            return state.log_prior
        tasks = posterior.sum(0)
        return np.asarray(np.log(np.maximum(tasks / tasks.sum(), _SMALLEST_SHARE)))

    def _summit(self, log_ease: FloatArray, linear: FloatArray, quadratic: FloatArray) -> FloatArray:
        """Climb ``β linear - β² quadratic - (log β - m)²/2s²`` in log β, never down."""
        precision, mean = self.log_ease_deviation**-2, self.log_ease_mean

        def height(b: FloatArray) -> FloatArray:
            ease = np.exp(b)
            return np.asarray(ease * linear - ease**2 * quadratic - precision * (b - mean) ** 2 / 2)

        now = height(log_ease)
        for _ in range(_SUMMIT_STEPS):
            ease = np.exp(log_ease)
            slope = ease * linear - 2 * ease**2 * quadratic - precision * (log_ease - mean)
            bend = np.maximum(4 * ease**2 * quadratic - ease * linear, 0) + precision
            trial = log_ease + np.clip(slope / bend, -1, 1)
            then = height(trial)
            for _ in range(_SUMMIT_STEPS):
                down = then < now
                if not down.any():
                    break
                trial = np.where(down, (trial + log_ease) / 2, trial)
                then = height(trial)
            better = then >= now
            log_ease, now = np.where(better, trial, log_ease), np.where(better, then, now)
        return log_ease
