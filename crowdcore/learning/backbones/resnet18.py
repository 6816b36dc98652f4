"""ResNet-18 for small images."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.backbones._residual import Residual


class Resnet18(Residual):
    """ResNet-18 with a 3×3 stem and no first pooling."""

    name: ClassVar[str] = "resnet18"
    title: ClassVar[str] = "ResNet-18 for 32×32 and 28×28"
    images: ClassVar[bool] = True
    depths: ClassVar[tuple[int, int, int, int]] = (2, 2, 2, 2)
