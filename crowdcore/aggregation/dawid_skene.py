"""Dawid & Skene's model of workers by EM, and its kin: hard, one coin, pooled, ordinal."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from crowdcore.aggregation._em import ENOUGH, FLOOR, ConfusionEM, ConfusionParameters, class_shares, too_few_labels
from crowdcore.core.em import Sums
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

_RIGHT, _WRONG = 0.6, 0.1  # pseudo-labels of the whole crowd per class: no row of its confusion is empty or certain
_OF_WORKER = 2.0  # labels by which a worker's accuracy is drawn to the crowd's


class DawidSkene(ConfusionEM):
    """Dawid–Skene by EM.

    E-step: ``q_i(c) ∝ ρ_c Π_r π^r[c, y_i^r]``; M-step: ``ρ = mean q``, ``π^r[c, l] ∝ α + Σ_i q_i(c)·1[y_i^r = l]``
    (the paper's equations 2.3–2.5, with α = 0). With α = 0, counts of labels that the worker gave are kept above
    1e-10, as crowd-kit does: the same start, the same iterations and the same posterior as its ``DawidSkene``.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.aggregation.DawidSkene(smoothing=0.1).fit(cc.load_dataset("demo"))
        >>> result.posterior.shape, result.confusion.shape
        ((1797, 10), (40, 10, 10))
        >>> result.converged
        True
    """

    name: ClassVar[str] = "dawid-skene"
    title: ClassVar[str] = "Dawid–Skene"
    paper: ClassVar[str] = "Dawid & Skene, Applied Statistics 28(1), 1979, doi:10.2307/2346806"


class FastDawidSkene(ConfusionEM):
    """Dawid–Skene whose E-step puts all mass on the most probable class.

    ``z_i = argmax_c ρ_c Π_r π^r[c, y_i^r]`` (ties to the lowest class), then counts as if z were the truth. The
    objective is the log-likelihood of the completed data, which neither step lowers.
    """

    name: ClassVar[str] = "fast-dawid-skene"
    title: ClassVar[str] = "Fast Dawid–Skene"
    paper: ClassVar[str] = "Sinha, Rao & Balasubramanian, Fast Dawid-Skene, 2018, arXiv:1803.02781"

    hard: ClassVar[bool] = True


class OneCoin(ConfusionEM):
    """One-coin Dawid–Skene by EM.

    ``π^r[c, c] = s_r`` and ``π^r[c, l] = (1 − s_r)/(C − 1)`` otherwise. M-step:
    ``s_r = (α + Σ_i q_i(y_i^r)) / (C·α + n_r)``: smoothing pulls towards guessing. With α = 0, s is kept 1e-10
    away from 0 and 1, as in crowd-kit's ``OneCoinDawidSkene``.
    """

    name: ClassVar[str] = "one-coin"
    title: ClassVar[str] = "One-coin Dawid–Skene"
    paper: ClassVar[str] = "Zhang, Chen, Zhou & Jordan, JMLR 17, 2016, section 3.1 (one-coin), arXiv:1406.3824"

    def m_step(self, sums: Sums, n_workers: int, before: object = None) -> ConfusionParameters:
        """One accuracy per worker, spelt out as a confusion."""
        prior, density = class_shares(sums, self.prior_smoothing)
        n_classes = len(prior)
        counts = sums.counts.reshape(n_workers, n_classes, n_classes)
        right = counts.trace(axis1=1, axis2=2) + self.smoothing
        total = counts.sum((1, 2)) + n_classes * self.smoothing
        skill = np.clip(right / np.maximum(total, FLOOR), FLOOR, 1 - FLOOR)
        error = (1 - skill) / max(n_classes - 1, 1)
        confusion = np.repeat(error, n_classes**2).reshape(counts.shape)
        each = np.arange(n_classes)
        confusion[:, each, each] = skill[:, None]
        density += self.smoothing * float((np.log(skill) + (n_classes - 1) * np.log(error)).sum())
        return ConfusionParameters(confusion, prior, density)

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warn if most workers' accuracies rest on few labels."""
        return too_few_labels(dataset, ENOUGH)

    def parts(self, parameters: ConfusionParameters, sums: Sums) -> dict[str, Any]:
        """The confusion is known for every class as soon as the worker labelled anything; weight = accuracy."""
        parts = super().parts(parameters, sums)
        counts: FloatArray = parts["counts"]
        confusion = parameters.confusion.transpose(0, 2, 1).copy()
        confusion[counts.sum((1, 2)) == 0] = np.nan
        return {**parts, "confusion": confusion, "worker_weight": confusion[:, 0, 0].copy()}


class PooledDawidSkene(ConfusionEM):
    """Dawid–Skene whose confusions are drawn to the crowd's, at each worker's level of accuracy.

    E-step: ``q_i(c) ∝ ρ_c Π_r π^r[c, y_i^r]``; M-step: ``ρ_c ∝ 1 + Σ_i q_i(c)``, ``π^r[c, l] ∝ κ m^r[c, l] +
    Σ_i q_i(c)·1[y_i^r = l]``. The mean m^r is estimated from the same counts (empirical Bayes): with a and a_c the
    crowd's accuracy, overall and on class c, and a_r the worker's, ``logit m^r[c, c] = logit a_c + logit a_r -
    logit a``; mistakes on class c are spread as the crowd's.

    ``log_likelihood`` is without the prior; as that moves with the counts, it need not grow to the end, and EM stops
    when it does not.
    """

    name: ClassVar[str] = "pooled-dawid-skene"
    title: ClassVar[str] = "Dawid–Skene, partly pooled"
    paper: ClassVar[str] = "After Paun et al., TACL 6, 2018, doi:10.1162/tacl_a_00040 (hierarchical Dawid–Skene)"

    smoothing: float = setting(
        15.0,
        "Strength of pooling (labels)",
        "Labels κ per class by which a worker's confusion is shrunk towards the crowd's.",
        gt=0,
    )
    prior_smoothing: float = setting(
        1.0, "Smoothing of class shares (tasks)", "Added to the expected number of tasks of each class.", ge=0
    )

    def m_step(self, sums: Sums, n_workers: int, before: object = None) -> ConfusionParameters:
        """Counts and their pooled mean."""
        used = sums.classes > 0
        prior, _ = class_shares(sums._replace(classes=sums.classes + self.prior_smoothing * used), 0.0)
        n_classes = len(prior)
        confusion = pooled_confusion(sums.counts.reshape(n_workers, n_classes, n_classes), self.smoothing)
        return ConfusionParameters(np.asarray(confusion), prior, 0.0)


def pooled_confusion(counts: FloatArray, strength: float) -> FloatArray:
    """``π^r[c, l] ∝ n_rcl + κ m^r[c, l]``, row sums over the given label l.

    The mean ``m^r`` has the crowd's mistakes at the worker's level: with a and a_c the crowd's accuracy, overall and
    on class c, and a_r the worker's, ``logit m^r[c, c] = logit a_c + logit a_r - logit a``; the rest of the row
    follows the crowd's mistakes on class c.

    Args:
        counts: (n_workers, given, true) expected counts.
        strength: κ, labels.

    Returns:
        (n_workers, given, true), sums over ``given`` are 1.
    """
    n_classes = counts.shape[1]
    each = np.arange(n_classes)
    crowd = counts.sum(0) + _WRONG + (_RIGHT - _WRONG) * np.eye(n_classes)
    crowd /= crowd.sum(0)
    of_class = np.clip(crowd.diagonal(), 0.01, 0.99)
    right, total = counts.trace(axis1=1, axis2=2), counts.sum((1, 2))
    overall = np.clip(right.sum() / max(total.sum(), 1), 0.01, 0.99)
    of_worker = (right + _OF_WORKER * overall) / (total + _OF_WORKER)
    level = expit(logit(of_class) + logit(np.clip(of_worker, 0.01, 0.99))[:, None] - logit(overall))
    mistakes = crowd.copy()
    mistakes[each, each] = 0.0
    mistakes /= np.maximum(mistakes.sum(0), 1e-12)
    mean = (1 - level)[:, None, :] * mistakes
    mean[:, each, each] = level
    confusion = counts + strength * mean
    confusion /= confusion.sum(1, keepdims=True)
    return np.asarray(confusion)


NEWTON = 30
"""Most Newton steps of an M-step."""


class OrdinalDawidSkene(ConfusionEM):
    """Dawid–Skene for classes whose order means something: 1 to 5 stars, bad to good.

    Class c has the position ``x_c``, at steps of 1 around 0, and ``π^r[c, l] ∝ exp(-(x_l - b_r - s_r x_c)² / 2 σ_r²)``
    over l: a normal around the shifted (b) and scaled (s) position, at the classes only. This is an exponential family
    in ``(x_l, x_l², x_l x_c)`` with parameters ``(b/σ², -1/2σ², s/σ²)``, so the M-step is concave; Newton's method
    solves it for all workers at once. Each row c of a worker has ``smoothing`` labels of a worker with b = 0, s = 1,
    σ = 1 added. Three numbers a worker instead of C (C - 1): the model for few labels and many classes.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> crowd = {"ann": 1, "ben": 1, "cem": 2}
        >>> rows = [(i, w, str(min(i % 5 + step, 5))) for i in range(50) for w, step in crowd.items()]
        >>> votes = cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]))
        >>> result = cc.aggregation.OrdinalDawidSkene().fit(votes)
        >>> votes.classes[result.labels[3]]
        '4'
    """

    name: ClassVar[str] = "ordinal-dawid-skene"
    title: ClassVar[str] = "Ordinal Dawid–Skene"
    paper: ClassVar[str] = "Dawid & Skene 1979, with confusions as discretised normals"

    smoothing: float = setting(
        0.5,
        "Smoothing of confusions (labels)",
        "Labels of a worker without bias that are added to each row of a confusion.",
        gt=0,
    )

    def m_step(self, sums: Sums, n_workers: int, before: object = None) -> ConfusionParameters:
        """Discretised normals by Newton's method."""
        prior, density = class_shares(sums, self.prior_smoothing)
        n_classes = len(prior)
        counts = sums.counts.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)  # true, given
        x = np.arange(n_classes) - (n_classes - 1) / 2
        feature = np.stack(np.broadcast_arrays(x, x**2, x[:, None] * x), -1)  # true, given, 3
        start = np.array([0.0, -0.5, 1.0])
        added = self.smoothing * np.exp(_log_confusion(start[None], feature))
        log_confusion = np.asarray(_fitted(counts + added, feature, start))
        density += float((added * log_confusion).sum())
        return ConfusionParameters(np.exp(log_confusion).transpose(0, 2, 1), prior, density)

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Note on the order that was used as a scale."""
        first, last = dataset.classes[0], dataset.classes[-1]
        return (f"The order of the classes was taken for a scale, from {first!r} to {last!r}.",)


def _log_confusion(theta: FloatArray, feature: FloatArray) -> FloatArray:
    """(n_workers, C, C) log π[c, l] of parameters (n_workers, 3)."""
    score = np.einsum("clk,rk->rcl", feature, theta)
    score -= score.max(2, keepdims=True)
    return np.asarray(score - np.log(np.exp(score).sum(2, keepdims=True)))


def _fitted(counts: FloatArray, feature: FloatArray, start: FloatArray) -> FloatArray:
    """(n_workers, C, C) log confusions that maximise ``Σ counts log π``."""
    theta = np.tile(start, (len(counts), 1))
    log_confusion = _log_confusion(theta, feature)
    value = (counts * log_confusion).sum((1, 2))
    rows = counts.sum(2)
    scale = 1 + counts.sum((1, 2))
    for _ in range(NEWTON):
        confusion = np.exp(log_confusion)
        mean = np.einsum("rcl,clk->rck", confusion, feature)
        slope = np.einsum("rcl,clk->rk", counts, feature) - np.einsum("rc,rck->rk", rows, mean)
        weighted = rows[..., None] * confusion
        bend = np.einsum("rcl,clj,clk->rjk", weighted, feature, feature, optimize=True)
        bend -= np.einsum("rc,rcj,rck->rjk", rows, mean, mean, optimize=True)
        step = np.linalg.solve(bend + 1e-9 * scale[:, None, None] * np.eye(3), slope[..., None])[..., 0]
        if float((np.abs((step * slope).sum(1)) / scale).max(initial=0)) < 1e-14:
            break
        for _ in range(NEWTON):
            tried = _log_confusion(theta + step, feature)
            reached = (counts * tried).sum((1, 2))
            worse = reached < value
            if not worse.any():
                break
            step[worse] /= 2
        better = ~worse
        theta[better] += step[better]
        log_confusion[better], value[better] = tried[better], reached[better]
    return log_confusion
