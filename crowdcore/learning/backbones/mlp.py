"""One hidden layer, as the papers use it on LabelMe's and Music's features, and none."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.backbones.base import Backbone
from crowdcore.learning.networks.layers import Dropout, Linear
from crowdcore.learning.settings import MlpSettings


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


class Mlp(Backbone):
    """128 ReLU units with 50 % dropout (CoNAL, crowd layer)."""

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "One hidden layer (128 ReLU, dropout)"
    Settings: ClassVar[type[Settings]] = MlpSettings

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        n_in, hidden = math.prod(input_shape), settings.hidden
        self.input_norm = nn.BatchNorm1d(n_in, affine=False) if settings.batch_norm else nn.Identity()
        self.hidden = Linear(n_in, hidden)
        self.dropout = Dropout(settings.dropout)
        self.hidden_norm = nn.BatchNorm1d(hidden, affine=False) if settings.batch_norm else nn.Identity()
        self.output = Linear(hidden, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> (B, n_outputs)."""
        hidden = self.dropout(torch.relu(self.hidden(self.input_norm(x.flatten(1)))))
        logits: Tensor = self.output(self.hidden_norm(hidden))
        return logits
