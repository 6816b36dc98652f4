"""CoNAL's noise: every annotation comes from a confusion all workers share, or from the worker's own."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.rows import Rows
from crowdcore.data.simulate import _draw as confusions
from crowdcore.data.simulate._draw import assign, draw_labels
from crowdcore.data.simulate.base import ClassSimulation, Crowd

_BLOCK = 4096  # tasks whose features are projected at once


class CommonNoise(ClassSimulation):
    """Settings and equations of CoNAL's noise (Chu et al. 2021, "Synthesizing annotations").

    ``s_i^r ~ Bernoulli(ω_i^r)``; with s = 1 the label is drawn from row ``z_i`` of the common confusion π^g, with
    s = 0 from that of the worker's own π^r. ``ω_i^r = σ(u_r · v_i + bias)``, where ``v_i = W^v x_i`` (a random
    embedding for tasks without features) and ``u_r`` are hidden; they are scaled so that ``u · v`` has the
    standard deviation ``omega_spread`` over the annotations, and the bias is solved so that the mean of ω is
    ``proportion``. Strength is the off-diagonal mass of every confused row; individual confusions are asymmetric.
    """

    n_workers: int = setting(30, "Workers", "Workers, R.", ge=1)
    per_task: float = setting(3.0, "Labels per task (mean)", "Labels per task on average.", gt=0)
    spread: Literal["even", "binomial"] = setting(
        "even",
        "Spread of labels over tasks",
        "The same number of labels for each task, or binomial around the average.",
    )
    workload: Literal["equal", "beta"] = setting(
        "equal",
        "Spread of labels over workers",
        "Workers label equally often, or ∝ Beta(1.5, 3) as in CCC, so that some label little.",
    )
    pattern: Literal["asymmetric", "symmetric"] = setting(
        "asymmetric",
        "Common confusion",
        "Common confusion: each class to another one, or random pairs into each other.",
    )
    targets: tuple[int, ...] | None = setting(
        None,
        "Class that each class is confused with",
        "The class that each class is confused with (itself: never confused), instead of a random pattern.",
    )
    common_strength: Share = setting(
        0.4, "Common strength (share of wrong labels)", "Off-diagonal mass of a row of the common confusion."
    )
    individual_strength: Share = setting(
        0.7, "Individual strength (share of wrong labels)", "Off-diagonal mass of a row of each worker's own confusion."
    )
    strength_spread: Share = setting(
        0.0,
        "Spread of individual strength",
        "Standard deviation of the workers' individual strengths, cut off at 0 and 1.",
    )
    proportion: Share = setting(
        0.5, "Proportion of common confusion (mean ω)", "Mean probability ω of using the common confusion."
    )
    omega_spread: float = setting(
        1.0, "Spread of ω (logits)", "Standard deviation of u·v, i.e. how much ω varies.", ge=0
    )
    embedding: int = setting(20, "Embedding size", "Dimension of the hidden embeddings u and v.", ge=1)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        common = confusions.flip(self._targets(tasks.n_classes, rng), self.common_strength)
        strengths = np.clip(rng.normal(self.individual_strength, self.strength_spread, self.n_workers), 0, 1)
        individual = np.stack([confusions.flip(confusions.other_class(tasks.n_classes, rng), s) for s in strengths])
        weights = rng.beta(1.5, 3.0, self.n_workers) if self.workload == "beta" else None
        task, worker = assign(labelled, self.n_workers, self.per_task, self.spread, rng, weights)
        affinity = self._affinity(tasks, labelled, task, worker, rng)
        bias = omega_bias(affinity, self.proportion)
        omega = expit(affinity + bias)
        used_common = rng.random(len(task)) < omega
        which = np.where(used_common, self.n_workers, worker)
        label = draw_labels(np.concatenate([individual, common[None]]), which, tasks.gold[task], rng)
        truth = SimulatedTruth(
            worker_confusion=individual,
            common_confusion=common,
            omega=omega,
            used_common=used_common,
            settings={"bias": bias if np.isfinite(bias) else None},
        )
        return Crowd(task, worker, label, truth, self.n_workers)

    def _targets(self, n_classes: int, rng: np.random.Generator) -> IntArray:
        if self.targets is None:
            choose = confusions.other_class if self.pattern == "asymmetric" else confusions.paired_class
            return choose(n_classes, rng)
        target = np.asarray(self.targets)
        if len(target) != n_classes or target.min() < 0 or target.max() >= n_classes:
            raise SettingError("targets", f"hold {n_classes} class numbers below {n_classes}", self.targets)
        return target

    def _affinity(
        self, tasks: CrowdDataset, labelled: IntArray, task: IntArray, worker: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """(n_annotations,) u_r · v_i, mean 0 and standard deviation ``omega_spread`` over the annotations."""
        rows = tasks.features or (tasks.media.images if tasks.media else None)
        if rows is None:
            v: FloatArray = rng.standard_normal((len(labelled), self.embedding))
        else:
            v = _project(rows, labelled, rng.standard_normal((int(np.prod(rows.shape[1:])), self.embedding)))
        u = rng.standard_normal((self.n_workers, self.embedding))
        at = np.searchsorted(labelled, task)
        affinity = np.zeros(len(task))
        for k in range(self.embedding):
            affinity += u[worker, k] * v[at, k]
        deviation = float(affinity.std())
        scale = self.omega_spread / deviation if deviation > 0 else 0.0
        return np.asarray(scale * (affinity - affinity.mean()))


def omega_bias(affinity: FloatArray, proportion: float) -> float:
    """The bias b at which the mean of σ(affinity + b) is ``proportion`` (-∞ at 0, ∞ at 1)."""
    if proportion in (0.0, 1.0):
        return float(np.inf if proportion else -np.inf)
    reach = float(np.abs(affinity).max(initial=0.0)) + abs(float(np.log(proportion / (1 - proportion)))) + 1.0
    return float(brentq(lambda b: float(expit(affinity + b).mean()) - proportion, -reach, reach, xtol=1e-12))


def _project(rows: Rows, tasks: IntArray, weights: FloatArray) -> FloatArray:
    """(len(tasks), d): flattened rows times ``weights``, each column standardised; never all rows at once."""
    out = np.empty((len(tasks), weights.shape[1]))
    for begin in range(0, len(tasks), _BLOCK):
        block = rows[tasks[begin : begin + _BLOCK]]
        out[begin : begin + _BLOCK] = block.reshape(len(block), -1).astype(np.float64) @ weights
    deviation = out.std(0)
    return np.asarray((out - out.mean(0)) / np.where(deviation > 0, deviation, 1.0))
