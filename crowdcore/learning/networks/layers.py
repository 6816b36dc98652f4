"""Layers that give the same numbers alone and in a stack of replicas."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from crowdcore.learning.training.inputs import BUCKETS

_SPREAD = 0.1  # standard deviation at the start: a word that training never showed has hardly any weight

# A 32-bit finaliser (xor-shift-multiply); constants as signed 32-bit integers.
_STRIDE, _STEP = -1640531527, -2048144777
_ROUNDS = ((16, 0xFFFF, 0x7FEB352D), (15, 0x1FFFF, -2073254261))


class Linear(nn.Module):
    """``x W + b`` with W stored (n_in, n_out), so that stacked gradients have the layout of W.

    Initialised as `torch.nn.Linear` is: uniform in ±1/√n_in.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in) -> (B, n_out)."""
        return x @ self.weight + self.bias


class _Bytes(Function):
    """The bytes of 32-bit integers; torch 2.11 has no rule to map `Tensor.view` as another type over a stack."""

    @staticmethod
    def forward(h: Tensor) -> Tensor:
        return h.view(torch.uint8)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], h: Tensor) -> tuple[Tensor, int]:
        return _Bytes.apply(h.movedim(in_dims[0], 0).contiguous()), 0


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

    def draw(self, n: int) -> Tensor:
        """(n,) fresh bytes, uniform."""
        self.calls.add_(1)
        h = torch.arange(-(-n // 4), dtype=torch.int32, device=self.key.device)
        h = h * _STRIDE + (self.key ^ (self.calls * _STEP))
        for shift, mask, factor in _ROUNDS:  # the masks make the shifts logical, as the mixing needs
            h = h.bitwise_xor_(torch.bitwise_right_shift(h, shift).bitwise_and_(mask)).mul_(factor)
        h = h.bitwise_xor_(torch.bitwise_right_shift(h, 16).bitwise_and_(0xFFFF))
        drawn: Tensor = _Bytes.apply(h)
        return drawn[:n]

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Fresh float32 of this shape, uniform on multiples of 2⁻²⁴ in [0, 1)."""
        n = math.prod(shape)
        high, mid, low = self.draw(3 * n).to(torch.float32).view(3, n)
        u: Tensor = ((low / 256 + mid) / 256 + high) / 256
        return u.view(shape)

    def uniform_rows(self, n: int, k: int) -> Tensor:
        """(n, k) as `uniform`; the first rows are the same whatever n is, for rows followed by padding."""
        high, mid, low = self.draw(3 * n * k).to(torch.float32).view(n, k, 3).unbind(-1)
        return ((low / 256 + mid) / 256 + high) / 256


class Dropout(Random):
    """Inverted dropout with masks of the replica's own.

    Args:
        p: share of elements set to zero, rounded to multiples of 1/256.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape; the identity outside training."""
        dropped = round(self.p * 256)
        if not self.training or dropped == 0:
            return x
        scale = 256 / (256 - dropped)
        byte = self.draw(x.numel()).to(x.dtype).view(x.shape)
        return x * byte.sub_(dropped - 1).mul_(scale).clamp(0, scale)  # 0 below ``dropped``, else ``scale``


def own_dropout(module: nn.Module) -> nn.Module:
    """Replace every `torch.nn.Dropout` inside ``module`` by ours; returns the module."""
    if type(module) is nn.Dropout:
        return Dropout(module.p)
    for name, child in module.named_children():
        setattr(module, name, own_dropout(child))
    return module


class KMeans(Random):
    """K-means from k-means++ (Arthur and Vassilvitskii 2007): Lloyd's rounds from centres drawn far from each other.

    Args:
        n_clusters: G.
        rounds: of Lloyd's algorithm.
    """

    def __init__(self, n_clusters: int, rounds: int = 10) -> None:
        super().__init__()
        self.n_clusters, self.rounds = n_clusters, rounds

    def forward(self, x: Tensor) -> Tensor:
        """(K, n, d), K sets of points -> (K, n) cluster of each; clusters may be empty where points coincide."""
        centres, numbers = self._draw(x), torch.arange(self.n_clusters, device=x.device)
        for _ in range(self.rounds):
            member = (_nearest(x, centres).unsqueeze(1) == numbers.unsqueeze(1)).to(x.dtype)
            size = member.sum(-1, keepdim=True)
            centres = torch.where(size > 0, member @ x / size.clamp_min(1), centres)
        return _nearest(x, centres)

    def _draw(self, x: Tensor) -> Tensor:
        """(K, G, d) points, each drawn with a probability that grows with the squared distance to those before it."""
        u = self.uniform((self.n_clusters, len(x), 1)).to(x.dtype)
        distance, centres = torch.ones_like(x[..., 0]), []
        for k in range(self.n_clusters):
            below = distance.cumsum(-1)
            at = (below <= u[k] * below[:, -1:]).sum(-1).clamp_max(x.shape[1] - 1)
            centres.append(x.gather(1, at.reshape(-1, 1, 1).expand(-1, 1, x.shape[2])))
            to_new = (x - centres[-1]).square().sum(-1)
            distance = to_new if k == 0 else torch.minimum(distance, to_new)
        return torch.cat(centres, 1)


def _nearest(x: Tensor, centres: Tensor) -> Tensor:
    """(K, n) number of the nearest centre; ``‖x‖²`` is the same for all."""
    return (centres.square().sum(-1).unsqueeze(1) - 2 * x @ centres.mT).argmin(-1)


def word_embedding(n: int, size: int) -> nn.Embedding:
    """(n, size) vectors of hashed words, small at the start."""
    embedding = nn.Embedding(n, size)
    with torch.no_grad():
        embedding.weight.mul_(_SPREAD)
    return embedding


class WordSum(nn.Module):
    """``W x + b`` where x has a 1 for the word and each of its parts: a sum of looked-up vectors.

    Args:
        size: length of the sum.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(word_embedding(n, size) for n in BUCKETS.values())
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """(B, 5) tokens as `word_rows` makes them -> (B, size)."""
        rows = x.to(torch.int64)
        total: Tensor = torch.stack([embed(rows[:, k]) for k, embed in enumerate(self.embeddings)]).sum(0) + self.bias
        return total
