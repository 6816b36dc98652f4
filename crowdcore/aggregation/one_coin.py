"""The one-coin model: a worker is right with one probability, and errs evenly."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.aggregation._em import ENOUGH, FLOOR, ConfusionEM, ConfusionParameters, class_shares
from crowdcore.aggregation._statistics import too_few_labels
from crowdcore.core.em import Sums
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset


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
