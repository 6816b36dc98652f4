"""Trace regularisation: stochastic confusions, pushed to be as unreliable as the labels allow."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.core.settings import Settings
from crowdcore.learning.method_settings import TraceSettings
from crowdcore.learning.networks.noise_layers import WorkerModel


class Trace(WorkerModel):
    """``-mean_i Σ_r log (p_i π^r)[y_i^r] + λ Σ_r tr(π^r)`` with stochastic π^r; the mean is over a batch's tasks.

    ``π^r ∝ softplus(V^r)`` along rows, V = 6 I - 5 at the start (0.966 on the diagonal for ten classes); the paper's
    A^r is the transpose of π^r.
    """

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "Trace regularisation"
    paper: ClassVar[str] = "Tanno et al.: Learning from Noisy Labels by Regularized Estimation, CVPR 2019"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion",)
    Settings: ClassVar[type[Settings]] = TraceSettings
