"""GLAD: able workers and hard tasks."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np

from crowdcore.aggregation._em import EMAggregator
from crowdcore.aggregation._statistics import too_few_labels
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.errors import DataError
from crowdcore.core.glad import Crowd, e_step, task_sums
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

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
