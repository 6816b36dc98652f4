"""Logistic stack by the gold of some tasks: on the order that all judges give, and on each judge's residuals."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, ndtri

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_BORDERS = 0.1, 0.3, 1.0, 2.0  # prior standard deviations: of the border around that of the order alone
_SLOPES = 0.3, 1.0  # … of the order's slope around 1
_JUDGES = 0.03, 0.1, 0.2, 0.4, 0.8, 1.6  # … of all judges' weights together
_MOST = 10_000  # gold tasks that are fitted, evenly spaced
_BLOCK = 20_000  # tasks at once
_STEPS, _CLOSE = 50, 1e-5  # Newton's
_RARE = 1e-3  # evidence beside the best prior's below which one is left out


class Order(NamedTuple):
    """Tasks in one order, and the labels' residuals beside it.

    Attributes:
        place: (n_tasks,) place of each task; NaN without labels.
        weight: (n_workers,) weight of each judge in the order.
        left: (n_tasks, n_workers) standardised residuals of each label; 0 = none.
    """

    place: FloatArray
    weight: FloatArray
    left: csr_array


def residuals(dataset: CrowdDataset, off: FloatArray, spread: FloatArray) -> csr_array:
    """(n_tasks, n_workers) of each label's residual ``off`` over the root of its judge's mean of ``spread``."""
    n = np.maximum(dataset.labels_per_worker, 1)
    scale = np.sqrt(np.maximum(np.bincount(dataset.worker, spread, dataset.n_workers) / n, 1e-6))
    shape = dataset.n_tasks, dataset.n_workers
    return csr_array(((off / scale[dataset.worker]).astype(np.float32), dataset.worker, dataset.task_start), shape)


def stacked(order: Order, border: float, known: IntArray, belief: float = 1.0) -> FloatArray:
    """(n_tasks,) probability of the second class; NaN of tasks without a place.

    ``logit P(z_i = 1) = α + β (place_i - border) + w·left_i`` with ``α ~ N(0, A²)``, ``β ~ N(1, B²)`` and
    ``w ~ N(0, T²/m)``. Each (A, B, T) of a grid counts by its evidence (Laplace's) times ``A^-belief T^-½``: few gold
    labels hardly move the order, and many weigh each judge on its own. Probabilities are means over priors and over the
    posterior of the weights (MacKay's probit approximation).

    Args:
        order: of all tasks.
        border: place at which both classes are equally likely without gold.
        known: (n_tasks,) true classes, -1 = unknown.
        belief: in the border, before any gold.
    """

    m = len(order.weight)
    judged = np.flatnonzero(~np.isnan(order.place))
    gold = judged[known[judged] >= 0]
    gold = gold[:: -(-len(gold) // _MOST)]

    def design(tasks: IntArray) -> FloatArray:
        return np.column_stack([np.ones(len(tasks)), order.place[tasks] - border, order.left[tasks].toarray()])

    some, y = design(gold), known[gold].astype(np.float64)
    approximations, centre = [], np.r_[0.0, 1.0, np.zeros(m)]
    for a, b, t in product(_BORDERS, _SLOPES, _JUDGES):
        precision = np.r_[1 / a**2, 1 / b**2, np.full(m, m / t**2)]
        evidence, w, bend = _laplace(some, y, centre, precision)
        approximations.append((evidence - belief * np.log(a) - 0.5 * np.log(t), w, bend))
    share = np.exp([evidence - max(one[0] for one in approximations) for evidence, *_ in approximations])
    share[share < _RARE] = 0
    share /= share.sum()
    probability = np.full(len(order.place), np.nan)
    for at in range(0, len(judged), _BLOCK):
        tasks = judged[at : at + _BLOCK]
        rows = design(tasks)
        probability[tasks] = sum(
            weight * expit(rows @ w / np.sqrt(1 + np.pi / 8 * (rows * np.linalg.solve(bend, rows.T).T).sum(1)))
            for weight, (_, w, bend) in zip(share, approximations, strict=True)
            if weight
        )
    return probability


def _laplace(
    rows: FloatArray, y: FloatArray, centre: FloatArray, precision: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Log evidence of logistic weights with the prior ``N(centre, 1 / precision)``, their mode, and its Hessian."""
    w = centre
    for _ in range(_STEPS):
        p = expit(rows @ w)
        bend = (rows.T * (p * (1 - p))) @ rows + np.diag(precision)
        step = np.linalg.solve(bend, rows.T @ (y - p) - precision * (w - centre))
        w = w + min(1, 3 / max(float(np.abs(step).max()), 1e-9)) * step
        if np.abs(step).max() < _CLOSE:
            break
    line = rows @ w
    fit = float((y * line - np.logaddexp(0, line)).sum() - 0.5 * (precision * (w - centre) ** 2).sum())
    return fit + 0.5 * float(np.log(precision).sum() - np.linalg.slogdet(bend)[1]), w, bend


def normal_scores(worker: IntArray, score: FloatArray, n_workers: int) -> FloatArray:
    """(A,) normal scores of each judge's ranks; 0 for a judge with a single score."""
    z = np.zeros(len(score))
    by_worker = np.argsort(worker, kind="stable")
    for rows in np.split(by_worker, np.searchsorted(worker[by_worker], np.arange(1, n_workers))):
        if len(rows) > 1:
            _, place, count = np.unique(score[rows], return_inverse=True, return_counts=True)
            normal = ndtri((count.cumsum() - count / 2)[place] / len(rows))  # mean ranks of ties
            z[rows] = (normal - normal.mean()) / max(float(normal.std()), 1e-6)
    return z


class Factor:
    """One factor of scores: ``z_ir = l_r f_i + e``, ``f ~ N(0, 1)``, ``e ~ N(0, ψ_r)``, by EM; scores may be missing.

    Args:
        task, worker: (A,) of each score, tasks ascending.
        z: (A,) standardised scores.
        shape: tasks and workers.
    """

    def __init__(self, task: IntArray, worker: IntArray, z: FloatArray, shape: tuple[int, int]) -> None:
        self.task, self.worker, self.z, (self.n, self.m) = task, worker, z, shape
        self.given = np.maximum(np.bincount(worker, minlength=self.m), 1)
        self.square = np.bincount(worker, z**2, self.m)
        self.loading, self.psi = np.full(self.m, 0.7), np.full(self.m, 0.5)

    def places(self) -> tuple[FloatArray, FloatArray]:
        """(n,) mean and variance of each task's factor."""
        h = self.loading / self.psi
        spread = 1 / (1 + np.bincount(self.task, (self.loading * h)[self.worker], self.n))
        return spread * np.bincount(self.task, self.z * h[self.worker], self.n), spread

    def step(self) -> float:
        """Do a round of EM; return the log-likelihood before it, up to a constant."""
        f, spread = self.places()
        value = -0.5 * float((self.given * np.log(self.psi) + self.square / self.psi).sum())
        value += 0.5 * float((np.log(spread) + f**2 / spread).sum())
        both = np.bincount(self.worker, self.z * f[self.task], self.m)
        self.loading = both / np.maximum(np.bincount(self.worker, (spread + f**2)[self.task], self.m), 1e-9)
        self.psi = np.maximum((self.square - self.loading * both) / self.given, 0.02)
        return value
