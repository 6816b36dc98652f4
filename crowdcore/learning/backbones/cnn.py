"""Convolutional networks: the crowd-layer paper's, VGG-16 and residual networks for small images."""

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


class _Averaged(Backbone):
    """Convolutions, the average over the image, and one linear layer."""

    images: ClassVar[bool] = True
    fills_device: ClassVar[bool] = True
    features: nn.Sequential
    output: nn.Linear

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)."""
        logits: Tensor = self.output(self.features(x).mean((-2, -1)))
        return logits


_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512)


class Vgg16(_Averaged):
    """Thirteen 3×3 convolutions with batch norm, four poolings, global average, one linear layer.

    As CoNAL and Max-MIG use it for CIFAR-10 (32×32), with the fifth pooling and the three large layers of the
    ImageNet network replaced by a global average; 28×28 works as well.
    """

    name: ClassVar[str] = "vgg16"
    title: ClassVar[str] = "VGG-16 for 32×32 and 28×28"

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        channels = image_channels(self.name, input_shape, 16)
        layers: list[nn.Module] = []
        for width in _WIDTHS:
            if width == 0:
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        self.features = nn.Sequential(*layers)
        self.output = nn.Linear(channels, n_outputs)


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
        self.shortcut: nn.Module = nn.Identity()
        if n_in != n_out or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.path(x) + self.shortcut(x))


class Residual(_Averaged):
    """ResNet (He et al. 2016) with a 3×3 stem and no first pooling, as is usual for 32×32 and 28×28."""

    depths: ClassVar[tuple[int, int, int, int]]

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__(input_shape, n_outputs, settings)
        channels = image_channels(self.name, input_shape, 8)
        layers: list[nn.Module] = [nn.Conv2d(channels, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        width = 64
        for stage, depth in enumerate(self.depths):
            for k in range(depth):
                out = 64 * 2**stage
                layers.append(_Block(width, out, 2 if stage > 0 and k == 0 else 1))
                width = out
        self.features = nn.Sequential(*layers)
        self.output = nn.Linear(width, n_outputs)


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
