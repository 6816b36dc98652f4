"""Ratings: a bias that all workers share over the range of the truth, and each worker's own line and noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import SimulatedTruth
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.rows import Rows
from crowdcore.data.simulate.base import Simulation, TaskSource, assign, numbered


class Ratings(Simulation):
    """Worker r rates a task of truth t ``t + f(t) + b_r + (s_r − 1)(t − m) + N(0, σ_r²)``, m the middle of the range.

    f, the shared bias, goes along a line from one end of the range to the other. ``b_r`` and ``s_r`` are normal, and
    ``σ_r`` lies between half and one and a half times the noise. Ratings beyond the range become its end. Spammers
    answer at random; a copier rates the tasks of worker 1, mostly as worker 1 does. ``truth.worker_bias`` and
    ``worker_scale`` are of a worker's whole line, with what all share: ``f(m) + b_r`` and ``s_r`` + slope of f.
    """

    name: ClassVar[str] = "ratings"
    title: ClassVar[str] = "Ratings (shared bias, lines of workers)"
    paper: ClassVar[str] = "Raykar et al., Learning From Crowds, JMLR 11, 2010, with a shared bias"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = setting(500, "Tasks", "Tasks in all, N.", ge=2)
    n_valid: int = setting(50, "Validation tasks", "Of these, for validation; nobody rates them.", ge=0)
    n_test: int = setting(100, "Test tasks", "Of these, for testing; nobody rates them.", ge=0)
    n_features: int = setting(10, "Features", "Features of a task, which tell its truth apart from noise.", ge=1)
    low: float = setting(0.0, "Lowest rating", "Lower end of the range.", ge=-1e9)
    high: float = setting(10.0, "Highest rating", "Upper end of the range.", ge=-1e9)
    shared_low: float = setting(
        1.5, "Shared bias at the lowest truth", "By how much all overrate a task of the lowest truth.", ge=-1e9
    )
    shared_high: float = setting(
        -0.5, "Shared bias at the highest truth", "By how much all overrate a task of the highest truth.", ge=-1e9
    )
    n_workers: int = setting(20, "Workers", "Workers, R.", ge=1)
    per_task: float = setting(5.0, "Ratings per task (mean)", "Ratings per task on average.", gt=0)
    bias_sd: float = setting(0.8, "Spread of biases", "Standard deviation of the workers' own biases b_r.", ge=0)
    scale_sd: float = setting(0.15, "Spread of scales", "Standard deviation of their slopes s_r around 1.", ge=0)
    noise: float = setting(0.8, "Noise", "Mean of their standard deviations σ_r.", ge=0)
    spammers: int = setting(1, "Spammers", "Workers who answer at random.", ge=0)
    copiers: int = setting(1, "Copiers", "Workers who rate the tasks of worker 1 and take on the ratings.", ge=0)
    copied: Share = setting(0.9, "Share copied", "Share of a copier's ratings that are worker 1's.")

    def run(self, source: TaskSource | None = None) -> RatingDataset:
        """Simulate the crowd."""
        self._check_source(source)
        if self.high <= self.low:
            raise SettingError("high", f"exceed the lowest rating, {self.low:g}", self.high)
        if self.n_valid + self.n_test >= self.n_tasks:
            raise SettingError("n_tasks", f"exceed n_valid + n_test = {self.n_valid + self.n_test}", self.n_tasks)
        if 1 + self.copiers + self.spammers > self.n_workers:
            raise SettingError("n_workers", "exceed the number of spammers and copiers", self.n_workers)
        rng = np.random.default_rng(self.seed)
        gold = self.low + (self.high - self.low) * rng.beta(1.5, 1.5, self.n_tasks)
        n_train = self.n_tasks - self.n_valid - self.n_test
        truth = self._workers(rng)
        roles = np.array(truth.worker_role)
        task, worker = assign(np.arange(n_train), self.n_workers, self.per_task, "even", rng)
        led, copiers = task[worker == 0], np.flatnonzero(np.char.startswith(roles, "copier"))
        own = ~np.isin(worker, copiers)
        task = np.concatenate([task[own], np.tile(led, len(copiers))])
        worker = np.concatenate([worker[own], np.repeat(copiers, len(led))]).astype(np.int32)
        rating = self._rated(gold[task], worker, truth, rng)
        copied = (np.arange(len(task)) >= own.sum()) & (rng.random(len(task)) < self.copied)
        rating[copied] = np.tile(rating[worker == 0], len(copiers))[copied[own.sum() :]]
        beyond = float(np.mean((rating < self.low) | (rating > self.high)))
        order = np.lexsort((worker, task))
        direction = rng.standard_normal(self.n_features)
        known = (gold - gold.mean())[:, None] / max(float(gold.std()), 1e-12) * direction
        features = (known + rng.standard_normal(known.shape)).astype(np.float32)
        return RatingDataset(
            self.name,
            self.low,
            self.high,
            numbered("t", self.n_tasks),
            numbered("w", self.n_workers),
            task[order],
            worker[order],
            np.clip(rating, self.low, self.high)[order],
            gold=gold,
            split=np.repeat([0, 1, 2], [n_train, self.n_valid, self.n_test]),
            features=Rows.from_array(features),
            notes=(f"{100 * beyond:.1f} % of the ratings would lie beyond the range and became its end.",),
            truth=truth,
        )

    def _workers(self, rng: np.random.Generator) -> SimulatedTruth:
        """Lines of all workers, the shared bias in them; spammers and copiers come last."""
        n, span = self.n_workers, self.high - self.low
        roles = np.full(n, "", object)
        roles[n - self.copiers - self.spammers :] = "spammer"
        roles[n - self.copiers :] = f"copier of {numbered('w', n)[0]}"
        bias = rng.normal((self.shared_low + self.shared_high) / 2, self.bias_sd, n)
        scale = rng.normal(1 + (self.shared_high - self.shared_low) / span, self.scale_sd, n)
        noise = self.noise * rng.uniform(0.5, 1.5, n)
        for line, at_random in ((bias, 0.0), (scale, 0.0), (noise, span / np.sqrt(12))):
            line[roles == "spammer"] = at_random
            line[n - self.copiers :] = line[0]
        settings = {"simulation": self.name, **self.model_dump(mode="json")}
        return SimulatedTruth(
            worker_bias=bias, worker_scale=scale, worker_noise=noise, worker_role=tuple(roles), settings=settings
        )

    def _rated(self, gold: FloatArray, worker: IntArray, truth: SimulatedTruth, rng: np.random.Generator) -> FloatArray:
        assert truth.worker_bias is not None and truth.worker_scale is not None and truth.worker_noise is not None
        middle = (self.low + self.high) / 2
        line = middle + truth.worker_bias[worker] + truth.worker_scale[worker] * (gold - middle)
        rating = line + truth.worker_noise[worker] * rng.standard_normal(len(gold))
        at_random = np.array(truth.worker_role)[worker] == "spammer"
        rating[at_random] = rng.uniform(self.low, self.high, int(at_random.sum()))
        return np.asarray(rating)


def ratings(**settings: Any) -> RatingDataset:
    """Ratings by a simulated crowd; settings are the fields of `Ratings`."""
    return Ratings(**settings).run()
