"""The device: its choice, exact and deterministic kernels, steps as CUDA graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from crowdcore.core.errors import SettingError

_WARM_UP = 3  # runs that CUDA's libraries need before a graph is recorded


def resolve_device(name: str) -> torch.device:
    """Device for ``"auto"`` (CUDA if available), ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

    Raises:
        SettingError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingError("device", "be 'auto', 'cpu' or 'cuda'", name) from None
    if device.type == "cuda":
        n = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= n:
            here = f"This machine has {n} CUDA device{'s' if n != 1 else ''}"
            raise SettingError("device", "be an available device", name, f"{here}; 'auto' chooses one.")
    elif device.type != "cpu":
        raise SettingError("device", "be 'auto', 'cpu' or 'cuda'", name)
    return device


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that the device or the host is out of memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


@contextmanager
def numeric_kernels(deterministic: bool) -> Iterator[None]:
    """Context without TF32 in convolutions; with ``deterministic``, every run gives the same result."""
    cudnn: Any = torch.backends.cudnn
    layers = cudnn.conv, cudnn.rnn
    precisions = [layer.fp32_precision for layer in layers]
    before = torch.are_deterministic_algorithms_enabled(), cudnn.benchmark
    for layer in layers:
        layer.fp32_precision = "ieee"
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # makes cuBLAS repeatable
        torch.use_deterministic_algorithms(True)
        cudnn.benchmark = False
    try:
        yield
    finally:
        for layer, precision in zip(layers, precisions, strict=True):
            layer.fp32_precision = precision
        torch.use_deterministic_algorithms(before[0])
        cudnn.benchmark = before[1]


class UnrecordableError(RuntimeError):
    """A step cannot be recorded on a CPU; it must run eagerly."""


def restore(state: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Copy values back into tensors."""
    with torch.no_grad():
        for tensor, value in zip(state, values, strict=True):
            tensor.copy_(value)


class CudaGraph:
    """A function of fixed shapes as a CUDA graph.

    Args:
        function: reads ``inputs``, returns a tensor.
        inputs: its static input tensors.
        state: all tensors that it changes, restored after the warm-up.
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
        restore(state, before)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = function()

    def __call__(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run on other inputs; the next run overwrites the result."""
        for static, value in zip(self.inputs, inputs, strict=True):
            static.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.output
