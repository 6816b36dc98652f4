"""CoNAL's auxiliary network: the probability that an annotation used the common confusion."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from crowdcore.learning.data import Batch
from crowdcore.learning.layers import Linear
from crowdcore.learning.likelihood import take
from crowdcore.learning.problem import Problem

__all__ = ["OmegaNetwork"]

_HIDDEN = 128  # of the authors' two linear layers


class OmegaNetwork(nn.Module):
    """``ω_i^r = σ(u_r · v_i)`` (CoNAL eq. 3).

    Args:
        problem: its input shape, number of workers, worker features.
        size: dimension of both embeddings.
        source: "features": ``v_i = W^v x_i + b^v``; "two-layer": two linear maps without activation; "task": a free
            vector per training task.
        normalise: "both" embeddings to length 1, or only the "worker" side.
    """

    def __init__(self, problem: Problem, size: int, source: str, normalise: str) -> None:
        super().__init__()
        n_in, self.source, self.normalise = math.prod(problem.input_shape), source, normalise
        self.n_train = problem.n_train
        if source == "task":
            self.task = nn.Parameter(torch.randn(problem.n_train, size) / math.sqrt(size))
        elif source == "two-layer":
            self.inner, self.outer = Linear(n_in, _HIDDEN), Linear(_HIDDEN, size)
        else:
            self.outer = Linear(n_in, size)
        known = problem.worker_features
        self.register_buffer("known", None if known is None else torch.from_numpy(known), persistent=False)
        self.worker = Linear(problem.n_workers if known is None else known.shape[1], size)

    def task_embedding(self, batch: Batch) -> Tensor:
        """v, (B, size); NaN for tasks without a free vector."""
        if self.source == "task":
            (v,) = take(batch.task.clamp_max(self.n_train - 1), self.task)
            v = torch.where((batch.task < self.n_train).unsqueeze(-1), v, torch.nan)
        else:
            x = batch.features.flatten(1)
            if self.source == "two-layer":  # the product of both maps is one map: same values, far less work
                weight = self.inner.weight @ self.outer.weight
                v = x @ weight + (self.inner.bias @ self.outer.weight + self.outer.bias)
            else:
                v = self.outer(x)
        return functional.normalize(v, dim=-1) if self.normalise == "both" else v

    def worker_embedding(self) -> Tensor:
        """u, (R, size)."""
        known = self.known
        u = self.worker.weight + self.worker.bias if known is None else self.worker(known)
        return functional.normalize(u, dim=-1)

    def forward(self, v: Tensor, worker: Tensor) -> Tensor:
        """Logit of ω: v of each annotation's task (A, size), workers (A,) -> (A,)."""
        (u,) = take(worker, self.worker_embedding())
        return (u * v).sum(-1)
