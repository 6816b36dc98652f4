"""A step recorded on CUDA, as a CUDA graph; on a CPU, see `program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_WARM_UP = 3  # runs before a CUDA graph is recorded, as CUDA's libraries need


def put_back(state: Sequence[Tensor], before: Sequence[Tensor]) -> None:
    """Undo what happened to some tensors."""
    with torch.no_grad():
        for tensor, value in zip(state, before, strict=True):
            tensor.copy_(value)


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
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                function()
        torch.cuda.current_stream().wait_stream(side)
        put_back(state, before)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = function()

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run on other inputs; the result is overwritten by the next run."""
        for static, value in zip(self.inputs, inputs, strict=True):
            static.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.output
