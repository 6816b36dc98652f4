"""Layers that train alike alone and in a stack of replicas: a product without copies, dropout without shared state."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["Dropout", "Linear", "Random", "own_dropout"]

# A 32-bit finaliser (xor-shift-multiply); constants as signed 32-bit integers.
_STRIDE, _STEP, _MIX1, _MIX2 = -1640531527, -2048144777, 0x7FEB352D, -2073254261


class Linear(nn.Module):
    """``x W + b`` with W stored (n_in, n_out), so that stacked gradients are born in the layout of W.

    Initialised as `torch.nn.Linear` is: uniform in ±1/√n_in.
    """

    def __init__(self, n_in: int, n_out: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in) -> (B, n_out)."""
        product = x @ self.weight
        return product if self.bias is None else product + self.bias


class Random(nn.Module):
    """Random numbers that are a hash of (own key, number of the call, element).

    A replica's numbers depend on nothing else, so they are the same alone and in a stack, on CPU and GPU, inside a
    CUDA graph and after a resume; key and number are buffers and travel with the state.
    """

    key: Tensor
    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("key", torch.randint(2**31, (), dtype=torch.int32))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int32))

    def draw(self, shape: tuple[int, ...]) -> Tensor:
        """Fresh int32 of this shape, uniform over all 2³² values."""
        self.calls.add_(1)
        element = torch.arange(math.prod(shape), dtype=torch.int32, device=self.key.device).view(shape)
        h = element * _STRIDE + (self.key ^ (self.calls * _STEP))
        h = (h ^ (h >> 16)) * _MIX1
        h = (h ^ (h >> 15)) * _MIX2
        return h ^ (h >> 16)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Fresh float32 of this shape in [0, 1)."""
        return (self.draw(shape) >> 8).to(torch.float32) * 2.0**-24 + 0.5


class Dropout(Random):
    """Inverted dropout with masks of the replica's own.

    Args:
        p: share of elements set to zero.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape; the identity outside training."""
        if not self.training or self.p == 0:
            return x
        keep = (self.draw(tuple(x.shape)) >= round((self.p - 0.5) * 2**32)).to(x.dtype)
        return x * (keep * (1 / (1 - self.p)))


def own_dropout(module: nn.Module) -> nn.Module:
    """Replace every `torch.nn.Dropout` inside ``module`` by ours; returns the module."""
    if type(module) is nn.Dropout:
        return Dropout(module.p)
    for name, child in module.named_children():
        setattr(module, name, own_dropout(child))
    return module
