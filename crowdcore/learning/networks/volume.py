"""The volume of predictions or confusions, which regularises towards identifiable ones."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["log_volume"]

_RIDGE = 1e-4  # keeps the volume of fewer rows than classes, and its gradient, finite


def log_volume(gram: Tensor) -> Tensor:
    """``log det(G + ε I)`` of a mean of outer products, (C, C) -> scalar; ε = 1e-4."""
    return torch.logdet(gram + _RIDGE * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
