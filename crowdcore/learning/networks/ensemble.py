"""Several networks that predict together."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from crowdcore.learning.base import Network
from crowdcore.learning.networks.rows import log_softmax


class Ensemble(nn.Module):
    """K networks; what is used at test time is the mean of their probabilities.

    Args:
        network: makes them.
        n_classes: C.
        size: K.
    """

    def __init__(self, network: Network, n_classes: int, size: int) -> None:
        super().__init__()
        self.networks = nn.ModuleList([network(n_classes) for _ in range(size)])

    def each(self, features: Tensor) -> Tensor:
        """log p of every network, (B, *input shape) -> (B, K, C)."""
        return torch.stack([log_softmax(network(features)) for network in self.networks], -2)

    def forward(self, features: Tensor) -> Tensor:
        """log of the mean probability, (B, *input shape) -> (B, C)."""
        return torch.logsumexp(self.each(features), -2) - math.log(len(self.networks))
