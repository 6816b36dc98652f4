"""A step recorded once and replayed: as a flat program of tensor operations on a CPU, as a CUDA graph on CUDA.

What a step costs beyond its kernels is the way there: Python, the mapping over replicas, the autograd engine. All of
that happens once, while recording; a replay computes the same numbers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

__all__ = ["CudaGraph", "Program"]

_WARM_UP = 3  # runs before a CUDA graph is recorded, as CUDA's libraries need


def _put_back(state: Sequence[Tensor], before: Sequence[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(state, before, strict=True):
            tensor.copy_(value)


class Program:
    """The operations that ``function`` runs on tensors, without anything around them.

    Args:
        function: of tensors (nested in lists), returning tensors; may change its arguments in place. What else it
            reads is fixed by the recording.
        arguments: to record with; left as they were.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[list[Tensor]]) -> None:
        tensors = [t for group in arguments for t in group]
        before = [t.detach().clone() for t in tensors]

        def plain(*values: list[Tensor]) -> Any:  # the tracer miscounts the arguments of a bound method
            return function(*values)

        self._program = make_fx(plain)(*arguments)
        _put_back(tensors, before)

    def __call__(self, *arguments: list[Tensor]) -> Any:
        """Run on other tensors of the same shapes."""
        with torch.no_grad():
            return self._program(*arguments)


class CudaGraph:
    """A function of fixed shapes as a CUDA graph.

    Args:
        function: reads ``inputs``, returns a tensor.
        inputs: its static input tensors.
        state: everything it changes, put back after the warm-up.
    """

    def __init__(self, function: Callable[[], Tensor], inputs: tuple[Tensor, ...], state: Sequence[Tensor]) -> None:
        self.inputs = inputs
        before = [t.detach().clone() for t in state]
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                function()
        torch.cuda.current_stream().wait_stream(side)
        _put_back(state, before)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = function()

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run on other inputs; the result is overwritten by the next run."""
        for static, value in zip(self.inputs, inputs, strict=True):
            static.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.output
