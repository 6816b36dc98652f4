"""Soft bootstrapping: the vote, softened by the network's own opinion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.method_settings import SoftBootstrapSettings
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class SoftBootstrap(CrowdMethod):
    """``-mean_i Σ_c [β t_i(c) + (1 - β) p_i(c)] log p_i(c)`` with t the vote shares (Reed et al., eq. 6)."""

    name: ClassVar[str] = "soft-bootstrap"
    title: ClassVar[str] = "Soft bootstrapping"
    paper: ClassVar[str] = "Reed et al.: Training Deep Neural Networks on Noisy Labels with Bootstrapping, ICLR 2015"
    Settings: ClassVar[type[Settings]] = SoftBootstrapSettings

    trust: Tensor

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """Vote shares."""
        return problem.votes().astype(np.float32)

    def __init__(self, problem: Problem, settings: SoftBootstrapSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        self.keep("trust", settings.trust)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the mixture of vote and prediction."""
        assert batch.target is not None
        log_p = self.log_probs(batch.features)
        target = self.trust * batch.target + (1 - self.trust) * log_p.exp()
        return {"cross_entropy": -(target * log_p).sum(-1).mean()}
