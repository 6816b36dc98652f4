"""One epoch of gradient steps, eager or recorded once as CUDA graphs and replayed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from crowdcore.learning.data import Batch, Feed, Index
from crowdcore.learning.optimiser import Optimiser
from crowdcore.learning.replicas import Replicas

__all__ = ["Steps"]

_WARM_UP = 3  # runs before recording, as CUDA's libraries need


class Recorded:
    """A function of fixed shapes as a CUDA graph.

    Args:
        function: reads ``inputs``, returns a tensor.
        inputs: its static input tensors.
        state: everything it changes, put back after the warm-up.
    """

    def __init__(self, function: Callable[[], Tensor], inputs: tuple[Tensor, ...], state: list[Tensor]) -> None:
        self.inputs = inputs
        before = [t.detach().clone() for t in state]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                function()
        torch.cuda.current_stream().wait_stream(side)
        with torch.no_grad():
            for t, value in zip(state, before, strict=True):
                t.copy_(value)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = function()

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run on other inputs; the result is overwritten by the next run."""
        for static, value in zip(self.inputs, inputs, strict=True):
            static.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.output


class Steps:
    """Gradient steps of one stack of replicas.

    Args:
        replicas: what is trained.
        optimiser: of their parameters.
        feed: their batches.
        record: use CUDA graphs.
    """

    def __init__(self, replicas: Replicas, optimiser: Optimiser, feed: Feed, record: bool) -> None:
        self.replicas, self.optimiser, self.feed, self.record = replicas, optimiser, feed, record
        self.terms: tuple[str, ...] = ()
        data = feed.data
        self._whole = data.stretch(slice(0, feed.n)) if feed.shared else None
        self._recorded: dict[tuple[int, ...], Recorded] = {}

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
        if not self.record:
            return self._step(index)
        key = (n, *(i.shape[-1] for i in index))
        if key not in self._recorded:
            static = tuple(i.clone() for i in index)
            state = [*self.replicas.tensors().values(), *self.optimiser.tensors().values()]
            self.optimiser.clear()
            self._recorded[key] = Recorded(lambda: self._step(static), static, state)
        return self._recorded[key](index)

    def _step(self, index: tuple[Tensor, ...]) -> Tensor:
        if self._whole is not None:
            batch, dims = self._whole, None
        else:
            batch = self.feed.data.batch(Index(*index))
            dims = (Batch(*(None if field is None else 0 for field in batch)),)
        terms = self.replicas.call("loss", batch, in_dims=dims)
        self.terms = tuple(terms)
        values = torch.stack(list(terms.values()))
        self.optimiser.clear()
        values.sum().backward()
        self.optimiser.step()
        return values.detach()
