"""Where pretrained weights are kept, found without loading torch."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["VGG16", "weights_file"]

VGG16 = "vgg16-397923af.pth"


def weights_file(name: str = VGG16) -> Path:
    """Where torchvision keeps weights of that name, there or not: below ``TORCH_HOME``, else in the user's cache."""
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "torch"
    return Path(home).expanduser() / "hub" / "checkpoints" / name
