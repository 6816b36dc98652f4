"""One epoch of gradient steps, eager or recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.training.data import Batch, Feed, Index
from crowdcore.learning.training.optimiser import Optimiser
from crowdcore.learning.training.program import Program
from crowdcore.learning.training.recording import CudaGraph
from crowdcore.learning.training.replicas import Replicas


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
        self._recorded: dict[tuple[int, ...], CudaGraph | Program] = {}
        self._record = CudaGraph if feed.data.device.type == "cuda" else partial(Program, memory=[])

    def epoch(self, number: int) -> Tensor:
        """Train one epoch; (n_terms, S) mean terms of the loss, still on the device."""
        extra = self._extra(number)
        self.replicas.train(True)
        if self._whole is not None:
            return self._run((), self.feed.n, *(e[:, 0] for e in extra)).clone()
        parts = []
        for k, index in enumerate(self.feed.epoch(number)):
            n = index.task.shape[1]
            parts.append(self._run(tuple(index), n, *(e[:, k] for e in extra)) * (n / self.feed.n))
        return torch.stack(parts).sum(0)

    def _extra(self, number: int) -> tuple[Tensor, ...]:
        """What an epoch's steps get besides their batches, (S, n_steps, ...) tasks and labels; () for nothing."""
        if self.replicas.method.extra is CrowdMethod.extra:
            return ()
        with torch.no_grad():
            found = self.replicas.call("extra", number, self.feed.n_batches)
        if not found:
            return ()
        task, label = found
        return (task if self.feed.data.resident else task.cpu(), label)

    def _run(self, index: tuple[Tensor, ...], n: int, *extra: Tensor) -> Tensor:
        """One step on the batch that ``index`` names; (n_terms, S) terms of the loss."""
        index = (*extra, *index)
        if not self.record:
            return self._step(index)
        key = (n, *(i.shape[-1] for i in index))
        if key not in self._recorded:
            static = tuple(i.clone() for i in index)
            state = [*self.replicas.tensors().values(), *self.optimiser.tensors().values()]
            self.optimiser.clear()
            self._recorded[key] = self._record(lambda: self._step(static), static, state)
        return self._recorded[key](index)

    def _step(self, index: tuple[Tensor, ...]) -> Tensor:
        extra = index[: len(index) % 3]
        batch = self._whole if self._whole is not None else self.feed.data.batch(Index(*index[len(extra) :]))
        if extra:
            batch = batch._replace(extra=self.feed.data.inputs(extra[0]), extra_label=extra[1])
        own = batch._fields if self._whole is None else ("extra", "extra_label")
        axes: Any = [0 if name in own and field is not None else None for name, field in batch._asdict().items()]
        terms = self.replicas.call("loss", batch, in_dims=(Batch(*axes),))
        self.terms = tuple(terms)
        losses = list(terms.values())
        ones = [torch.ones_like(loss) for loss in losses]
        gradients = torch.autograd.grad(losses, self.optimiser.parameters, ones, allow_unused=True)
        for parameter, gradient in zip(self.optimiser.parameters, gradients, strict=True):
            # Fused optimisers walk parameter and gradient in memory order, so both must have the same layout.
            parameter.grad = None if gradient is None else gradient.contiguous()
        self.optimiser.step()
        return torch.stack(losses).detach()
