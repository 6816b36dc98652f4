"""The backbone with augmentation and reduced precision, as used in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.core.errors import SettingError
from crowdcore.learning import backbones
from crowdcore.learning.base import Network
from crowdcore.learning.networks.layers import Random
from crowdcore.learning.settings import TrainSettings

__all__ = ["Augment", "Reduced", "make_network"]

_SHIFT, _SHEAR, _SCALE = 0.125, 0.1, 0.1


class Augment(Random):
    """Random affine maps of images on the device: shift by up to 1/8, shear and scale by up to a tenth, flip.

    Args:
        flip: also mirror half of the images.
    """

    def __init__(self, flip: bool) -> None:
        super().__init__()
        self.flip = flip

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) of the same shape; the identity outside training."""
        if not self.training:
            return x
        u = self.uniform((len(x), 6)).to(x.dtype) * 2 - 1
        mirror = torch.where(u[:, 5] < 0, -1.0, 1.0) if self.flip else torch.ones_like(u[:, 5])
        first = torch.stack([mirror * (1 + _SCALE * u[:, 0]), _SHEAR * u[:, 1], 2 * _SHIFT * u[:, 2]], -1)
        second = torch.stack([torch.zeros_like(u[:, 3]), 1 + _SCALE * u[:, 3], 2 * _SHIFT * u[:, 4]], -1)
        grid = functional.affine_grid(torch.stack([first, second], 1), list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, align_corners=False)


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
    """What makes backbones under these settings.

    Raises:
        SettingError: augmentation of inputs that are no images.
    """
    if training.augment != "no" and len(input_shape) != 3:
        raise SettingError("augment", "be 'no' for inputs that are no images", training.augment)

    def network(n_outputs: int) -> nn.Module:
        module = backbones.build(training.backbone, input_shape, n_outputs, training.backbone_settings)
        if training.precision == "bfloat16":
            module = Reduced(module)
        if training.augment != "no":
            module = nn.Sequential(Augment(training.augment == "affine+flip"), module)
        return module

    return network
