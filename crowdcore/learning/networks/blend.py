"""The mean of several classifiers' probabilities, each as sure as it may be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from crowdcore.learning.networks.rows import log_softmax


class Blend(nn.Module):
    """``log Σ_k w_k softmax(β_k f_k(x))``, each classifier's classes in an order of its own.

    Args:
        parts: classifiers f, from inputs to (B, C) logits.
        weights: w, sum 1.
        powers: β.
        n_classes: C.
    """

    order: Tensor

    def __init__(
        self, parts: Sequence[nn.Module], weights: Sequence[float], powers: Sequence[float], n_classes: int
    ) -> None:
        super().__init__()
        self.parts, self.weights, self.powers = nn.ModuleList(parts), tuple(weights), tuple(powers)
        self.register_buffer("order", torch.arange(n_classes).repeat(len(parts), 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> (B, C)."""
        each = [
            math.log(weight) + log_softmax(power * part(x)).index_select(-1, order)
            for part, weight, power, order in zip(self.parts, self.weights, self.powers, self.order, strict=True)
        ]
        return torch.logsumexp(torch.stack(each), 0)
