"""Dawid & Skene's model: one confusion matrix per worker."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.aggregation._em import ConfusionEM


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
