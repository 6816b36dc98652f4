"""A network trained on a posterior of its tasks, out of fold if wished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.learning.base import CrowdMethod, Network
from crowdcore.learning.networks.ensemble import Ensemble
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem


class PosteriorTrained(CrowdMethod):
    """A posterior ``q`` (n_train, C), the vote shares at first, and a network, or one per fold, to train on it."""

    fold: Tensor
    q: Tensor

    def __init__(self, problem: Problem, settings: Any, network: Network) -> None:
        super().__init__(problem, settings, network)
        if settings.folds:
            self.state("fold", torch.randperm(problem.n_train) % settings.folds)
        self.state("q", torch.from_numpy(problem.votes()).float())

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """One network, or one per fold.

        Raises:
            SettingError: a single fold.
        """
        if settings.folds == 1:
            raise SettingError("folds", "be 0 (one network) or at least 2", 1)
        return Ensemble(network, n_classes, settings.folds) if settings.folds else network(n_classes)

    def train_log_probs(self, features: Tensor, task: Tensor) -> Tensor:
        """Of the network that has not seen the task, where there are folds."""
        if not isinstance(self.classifier, Ensemble):
            return self.log_probs(features)
        index = self.fold.index_select(0, task).reshape(-1, 1, 1).expand(-1, 1, self.n_classes)
        return self.classifier.each(features).gather(1, index).squeeze(1)

    def target_loss(self, batch: Batch, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """Mean over tasks of a loss per task, (B, C) log p -> (B,); every network learns from the folds not its own."""
        if not isinstance(self.classifier, Ensemble):
            return loss(self.log_probs(batch.features)).mean()
        fold = self.fold.index_select(0, batch.task)
        total = torch.zeros((), dtype=batch.features.dtype, device=batch.features.device)
        for k, log_p in enumerate(self.classifier.each(batch.features).unbind(-2)):
            seen = (fold != k).to(log_p.dtype)
            total = total + (seen * loss(log_p)).sum() / seen.sum().clamp_min(1)
        return total
