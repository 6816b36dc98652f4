"""ResNet-34 for small images."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.learning.backbones._residual import Residual


class Resnet34(Residual):
    """ResNet-34 with a 3×3 stem and no first pooling."""

    name: ClassVar[str] = "resnet34"
    title: ClassVar[str] = "ResNet-34 for 32×32 and 28×28"
    images: ClassVar[bool] = True
    depths: ClassVar[tuple[int, int, int, int]] = (3, 4, 6, 3)
