"""Shared parts of CoNAL and its extension to groups: settings, learning rate of ω's network, and ω."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.networks.likelihood import gather_rows
from crowdcore.learning.networks.omega import OmegaNetwork
from crowdcore.learning.training.data import Batch


class CommonNoise(CrowdMethod):
    """A label comes from a common confusion with probability ω, else from the worker's own."""

    regularisation: Tensor
    omega_network: OmegaNetwork

    @classmethod
    def rate(cls, settings: Any, parameter: str) -> float:
        """ω's network has a learning rate of its own."""
        return settings.omega_lr if parameter.startswith("omega_network.") else super().rate(settings, parameter)

    def omega(self, batch: Batch) -> Tensor:
        """(A,) ω of every annotation."""
        (v,) = gather_rows(batch.row, self.omega_network.task_embedding(batch))
        return torch.sigmoid(self.omega_network(v, batch.worker))
