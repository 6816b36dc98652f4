"""The four-convolution network of the crowd-layer paper."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from crowdcore.core.settings import Settings
from crowdcore.learning.backbones.base import Backbone, image_channels
from crowdcore.learning.networks.layers import Dropout
from crowdcore.learning.settings import CnnSettings


class Cnn(Backbone):
    """Four 3×3 convolutions with 2×2 pooling over ReLU, a fully connected ReLU layer, dropout (Rodrigues 2018)."""

    name: ClassVar[str] = "cnn"
    title: ClassVar[str] = "Four convolutions (crowd layer)"
    Settings: ClassVar[type[Settings]] = CnnSettings
    images: ClassVar[bool] = True
    fills_device: ClassVar[bool] = True

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        channels = image_channels(self.name, input_shape, 16)
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(channels, settings.width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            channels = settings.width
        size = channels * (input_shape[1] // 16) * (input_shape[2] // 16)
        layers += [nn.Flatten(), nn.Linear(size, settings.hidden), nn.ReLU(), Dropout(settings.dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(settings.hidden, n_outputs))

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)."""
        logits: Tensor = self.layers(x.contiguous(memory_format=torch.channels_last))  # faster to pool on a CPU
        return logits
