"""Backbones as used in training (augmentation, reduced precision), and several that predict together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.errors import SettingError
from crowdcore.learning import backbones
from crowdcore.learning.base import Network
from crowdcore.learning.networks.layers import Random
from crowdcore.learning.networks.ops import log_softmax
from crowdcore.learning.settings import TrainSettings

_SHIFT, _SHEAR, _SCALE = 0.125, 0.1, 0.1


class Augmentation(Random, ABC):
    """Images as training sees them, moved at random on the device.

    Args:
        flip: also mirror half of the images.
    """

    def __init__(self, flip: bool) -> None:
        super().__init__()
        self.flip = flip

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) of the same shape; the identity outside training."""
        return self.moved(x) if self.training else x

    @abstractmethod
    def moved(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) of the same shape."""


class Augment(Augmentation):
    """Random affine maps of images on the device: shift by up to 1/8, shear and scale by up to a tenth, flip."""

    def moved(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) of the same shape."""
        u = self.uniform((len(x), 6)).to(x.dtype) * 2 - 1
        mirror = torch.where(u[:, 5] < 0, -1.0, 1.0) if self.flip else torch.ones_like(u[:, 5])
        first = torch.stack([mirror * (1 + _SCALE * u[:, 0]), _SHEAR * u[:, 1], 2 * _SHIFT * u[:, 2]], -1)
        second = torch.stack([torch.zeros_like(u[:, 3]), 1 + _SCALE * u[:, 3], 2 * _SHIFT * u[:, 4]], -1)
        grid = functional.affine_grid(torch.stack([first, second], 1), list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, align_corners=False)


class Crop(Augmentation):
    """Random crops of images with a margin of 0, the mean colour, of an eighth of their side; a place for every image.

    As torchvision's `RandomCrop` and `RandomHorizontalFlip`, which draw one place for a whole batch.
    """

    def moved(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) of the same shape."""
        n, channels, height, width = x.shape
        margin = (max(1, round(_SHIFT * height)), max(1, round(_SHIFT * width)))
        u = self.uniform_rows(n, 3)
        rows, columns = (
            torch.arange(side, device=x.device) + (u[:, i, None] * (2 * most + 1)).long()
            for i, (side, most) in enumerate(zip((height, width), margin, strict=True))
        )
        if self.flip:
            columns = torch.where(u[:, 2, None] < 0.5, columns.flip(1), columns)
        padded = functional.pad(x, (margin[1], margin[1], margin[0], margin[0]))
        tall = padded.gather(2, rows[:, None, :, None].expand(n, channels, height, width + 2 * margin[1]))
        return tall.gather(3, columns[:, None, None, :].expand(n, channels, height, width))


class Reduced(nn.Module):
    """A network under autocast, float32 at both ends."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> float32 (B, n_outputs)."""
        with torch.autocast(x.device.type, torch.bfloat16):
            logits: Tensor = self.network(x)
        return logits.float()


def make_network(training: TrainSettings, input_shape: tuple[int, ...]) -> Network:
    """Factory of backbones with these settings.

    Raises:
        SettingError: augmentation of inputs that are no images.
    """
    if training.augment != "no" and len(input_shape) != 3:
        raise SettingError("augment", "be 'no' for inputs that are not images", training.augment)

    def network(n_outputs: int) -> nn.Module:
        module = backbones.build(training.backbone, input_shape, n_outputs, training.backbone_settings)
        if training.precision == "bfloat16":
            module = Reduced(module)
        if training.augment != "no":
            kind = Crop if training.augment.startswith("crop") else Augment
            module = nn.Sequential(kind(flip=training.augment.endswith("flip")), module)
        return module

    return network


class Ensemble(nn.Module):
    """K networks; the prediction is the mean of their probabilities.

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
