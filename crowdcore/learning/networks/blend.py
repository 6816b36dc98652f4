"""The mean of several classifiers' probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from crowdcore.learning.networks.likelihood import log_softmax

__all__ = ["Blend"]


class Blend(nn.Module):
    """``log Σ_k w_k softmax(f_k(x))``, each classifier's classes in an order of its own.

    Args:
        parts: classifiers f, from inputs to (B, C) logits.
        weights: w, sum 1.
        n_classes: C.
    """

    order: Tensor

    def __init__(self, parts: Sequence[nn.Module], weights: Sequence[float], n_classes: int) -> None:
        super().__init__()
        self.parts, self.weights = nn.ModuleList(parts), tuple(weights)
        self.register_buffer("order", torch.arange(n_classes).repeat(len(parts), 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> (B, C)."""
        weights = self.order.new_tensor(self.weights, dtype=torch.float32).log()
        each = [
            weight + log_softmax(part(x)).index_select(-1, order)
            for part, weight, order in zip(self.parts, weights, self.order, strict=True)
        ]
        return torch.logsumexp(torch.stack(each), 0)
