"""Residual networks for small images."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from crowdcore.learning.backbones.base import Backbone, image_channels


class _Block(nn.Module):
    """Two 3×3 convolutions around a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
        )
        same = n_in == n_out and stride == 1
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.path(x) + self.shortcut(x))


class Residual(Backbone):
    """ResNet (He et al. 2016) with a 3×3 stem and no first pooling, as is usual for 32×32 and 28×28."""

    images: ClassVar[bool] = True
    fills_device: ClassVar[bool] = True
    depths: ClassVar[tuple[int, int, int, int]]

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        channels = image_channels(self.name, input_shape, 8)
        layers: list[nn.Module] = [
            nn.Conv2d(channels, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        ]
        width = 64
        for stage, depth in enumerate(self.depths):
            for k in range(depth):
                out = 64 * 2**stage
                layers.append(_Block(width, out, 2 if stage > 0 and k == 0 else 1))
                width = out
        self.features = nn.Sequential(*layers)
        self.output = nn.Linear(width, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)."""
        return cast(Tensor, self.output(self.features(x).mean((-2, -1))))


class Resnet18(Residual):
    """ResNet-18 with a 3×3 stem and no first pooling."""

    name: ClassVar[str] = "resnet18"
    title: ClassVar[str] = "ResNet-18 for 32×32 and 28×28"
    depths: ClassVar[tuple[int, int, int, int]] = (2, 2, 2, 2)


class Resnet34(Residual):
    """ResNet-34 with a 3×3 stem and no first pooling."""

    name: ClassVar[str] = "resnet34"
    title: ClassVar[str] = "ResNet-34 for 32×32 and 28×28"
    depths: ClassVar[tuple[int, int, int, int]] = (3, 4, 6, 3)
