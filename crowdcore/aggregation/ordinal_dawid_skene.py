"""Dawid–Skene for classes in order: a worker's confusion is a discretised normal with three parameters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._em import ConfusionEM, ConfusionParameters, class_shares
from crowdcore.core.em import Sums
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset

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
