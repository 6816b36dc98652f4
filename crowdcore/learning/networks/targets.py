"""Aggregate, then train: cross-entropy with fixed targets that an aggregator makes once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray
from crowdcore.learning.base import CrowdMethod, Network, Recovered
from crowdcore.learning.method_settings import AggregateSettings
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


def cross_entropy(log_probs: Tensor, target: Tensor) -> Tensor:
    """Mean of ``-Σ_c t_c log p_c``; targets (B, C), or (B,) classes of which those below 0 do not count."""
    if target.dim() == log_probs.dim():
        return -(target * log_probs).sum(-1).mean()
    known = (target >= 0).to(log_probs.dtype)
    picked = log_probs.gather(-1, target.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return -(known * picked).sum() / known.sum().clamp_min(1)


class AggregateThenTrain(CrowdMethod):
    """``-mean_i Σ_c q_i(c) log p_i(c)`` with q from the aggregator named ``aggregator``, fitted on train alone."""

    Settings: ClassVar[type[Settings]] = AggregateSettings
    learns_confusions: ClassVar[bool] = False
    aggregator: ClassVar[str]

    @classmethod
    def aggregator_of(cls, settings: Any) -> tuple[str, dict[str, Any]]:
        """Name and settings of the aggregator."""
        return cls.aggregator, {}

    @classmethod
    def targets(cls, problem: Problem, settings: Any) -> AnyArray:
        """The aggregator's posterior, or its most probable class."""
        name, options = cls.aggregator_of(settings)
        q = problem.votes(name, **options)
        return q.argmax(1) if settings.targets == "hard" else q.astype(np.float32)

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        name, options = self.aggregator_of(settings)
        result = problem.aggregate(name, **options)
        train = problem.order[: problem.n_train]
        parts = {
            "worker_confusion": result.confusion,
            "common_confusion": result.common_confusion,
            "worker_weight": result.worker_weight,
            "group": result.group,
            "difficulty": None if result.difficulty is None else result.difficulty[train],
        }
        self._found = tuple(part for part, value in parts.items() if value is not None)
        for part in self._found:
            value = torch.from_numpy(np.array(parts[part]))
            self.register_buffer(part, value, persistent=False)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}

    def recovered(self) -> Recovered:
        """Worker and task parameters of the aggregator."""
        return {part: self.get_buffer(part) for part in self._found}
