"""One epoch of gradient steps, eager or recorded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crowdcore.learning.data import Batch, Feed, Index
from crowdcore.learning.optimiser import Optimiser
from crowdcore.learning.recording import CudaGraph, Program
from crowdcore.learning.replicas import Replicas

__all__ = ["Steps"]


class Steps:
    """Gradient steps of one stack of replicas.

    Args:
        replicas: what is trained.
        optimiser: of their parameters.
        feed: their batches; of fixed width when steps are recorded.
        record: record a step of each shape once and replay it.

    Attributes:
        terms: names of the loss's terms, known after the first step.
    """

    def __init__(self, replicas: Replicas, optimiser: Optimiser, feed: Feed, record: bool) -> None:
        self.replicas, self.optimiser, self.feed, self.record = replicas, optimiser, feed, record
        self.terms: tuple[str, ...] = ()
        self._whole = feed.data.stretch(slice(0, feed.n)) if feed.shared else None
        self._graphs: dict[tuple[int, ...], CudaGraph] = {}
        self._programs: dict[tuple[int, ...], Program] = {}

    def epoch(self, number: int) -> Tensor:
        """Train one epoch; (n_terms, S) mean terms of the loss, still on the device."""
        self.replicas.train(True)
        if self._whole is not None:
            return self._run((), self.feed.n).clone()
        parts = []
        for index in self.feed.epoch(number):
            n = index.task.shape[1]
            parts.append(self._run(tuple(index), n) * (n / self.feed.n))
        return torch.stack(parts).sum(0)

    def _run(self, index: tuple[Tensor, ...], n: int) -> Tensor:
        """One step on the batch that ``index`` names; (n_terms, S) terms of the loss."""
        if not self.record or self.feed.data.device.type != "cuda":
            return self._step(index)
        key = (n, *(i.shape[-1] for i in index))
        if key not in self._graphs:
            static = tuple(i.clone() for i in index)
            state = [*self.replicas.tensors().values(), *self.optimiser.tensors().values()]
            self.optimiser.clear()
            self._graphs[key] = CudaGraph(lambda: self._step(static), static, state)
        return self._graphs[key](index)

    def _step(self, index: tuple[Tensor, ...]) -> Tensor:
        batch = self._whole if self._whole is not None else self.feed.data.batch(Index(*index))
        values, gradients = self._gradients(batch)
        for parameter, gradient in zip(self.optimiser.parameters, gradients, strict=True):
            parameter.grad = gradient
        self.optimiser.step()
        return values

    def _gradients(self, batch: Batch) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """(n_terms, S) terms of the loss, and the gradient of their sum for every parameter."""
        fields = [f for f in batch if f is not None]
        parameters, buffers = list(self.replicas.parameters.values()), list(self.replicas.buffers.values())
        if not self.record or fields[0].is_cuda:
            return self._compute(parameters, buffers, fields)
        key = tuple(f.shape[-1] for f in fields[1:4])
        if key not in self._programs:
            self._programs[key] = Program(self._compute, [parameters, buffers, fields])
        values, gradients = self._programs[key](parameters, buffers, fields)
        return values, gradients

    def _compute(
        self, parameters: list[Tensor], buffers: list[Tensor], fields: list[Tensor]
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        names = [*self.replicas.parameters, *self.replicas.buffers]
        state = dict(zip(names, [*parameters, *buffers], strict=True))
        batch = Batch(*fields, *([None] if len(fields) < len(Batch._fields) else []))
        axes: Any = [None if field is None else 0 for field in batch]
        terms = self.replicas.call("loss", batch, in_dims=None if self.feed.shared else (Batch(*axes),), state=state)
        self.terms = tuple(terms)
        values = torch.stack(list(terms.values()))
        trained = [p for p in parameters if p.requires_grad]
        gradients = torch.autograd.grad(values.sum(), trained, allow_unused=True)
        # Fused optimisers walk parameter and gradient in memory order, so both must have the same layout.
        return values.detach(), tuple(None if g is None else g.contiguous() for g in gradients)
