"""Dawid–Skene with partial pooling: few labels of a worker are completed by the crowd's."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation._em import ConfusionEM, ConfusionParameters, class_shares
from crowdcore.aggregation._statistics import pooled_confusion
from crowdcore.core.em import Sums
from crowdcore.core.settings import setting


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
