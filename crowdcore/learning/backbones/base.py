"""`Backbone`: the network under every method, from inputs to one number per class."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from crowdcore.core.errors import DataError
from crowdcore.core.settings import Settings


class Backbone(nn.Module):
    """Base of every backbone: built from the shape of one input, the number of outputs and its settings."""

    name: ClassVar[str]
    title: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    images: ClassVar[bool] = False
    """True if it takes images (channels, H, W) rather than features."""
    sentences: ClassVar[bool] = False
    """True if it reads the words of whole sentences rather than features."""
    fills_device: ClassVar[bool] = False
    """True if one replica keeps the device busy, so that replicas run one after another."""

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, settings: Any) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """(B, *input shape) -> (B, n_outputs) logits."""
        raise NotImplementedError


def image_channels(name: str, input_shape: tuple[int, ...], smallest: int) -> int:
    """Return the channels of the images; refuse other inputs, and images that are too small.

    Raises:
        DataError: features instead of images, or images that are too small.
    """
    if len(input_shape) != 3:
        raise DataError(
            f"The backbone {name!r} takes images, but this dataset's inputs have the shape {input_shape}",
            "Use 'mlp' or 'linear' for features.",
        )
    if min(input_shape[1:]) < smallest:
        raise DataError(f"The backbone {name!r} takes images of {smallest}×{smallest} at least, not {input_shape[1:]}")
    return input_shape[0]
