"""Softmax regression."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from torch import Tensor

from crowdcore.learning.backbones.base import Backbone
from crowdcore.learning.networks.layers import Linear


class LinearBackbone(Backbone):
    """One linear layer on the flattened input."""

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "Linear (softmax regression)"

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        self.output = Linear(math.prod(input_shape), n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> (B, n_outputs)."""
        logits: Tensor = self.output(x.flatten(1))
        return logits
