"""Choice of the device, and detection of out-of-memory errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from crowdcore.core.errors import SettingError


def resolve_device(name: str) -> torch.device:
    """``"auto"`` (CUDA where there is one), ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

    Raises:
        SettingError: no such device here.
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
    """Whether an error says that memory, the device's or the host's, is full."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


@contextmanager
def numeric_kernels(deterministic: bool) -> Iterator[None]:
    """Within: float32 is float32, without TF32 in convolutions; if wanted, every run gives the same result."""
    cudnn: Any = torch.backends.cudnn
    layers = cudnn.conv, cudnn.rnn
    precisions = [layer.fp32_precision for layer in layers]
    before = torch.are_deterministic_algorithms_enabled(), cudnn.benchmark
    for layer in layers:
        layer.fp32_precision = "ieee"
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs to repeat itself
        torch.use_deterministic_algorithms(True)
        cudnn.benchmark = False
    try:
        yield
    finally:
        for layer, precision in zip(layers, precisions, strict=True):
            layer.fp32_precision = precision
        torch.use_deterministic_algorithms(before[0])
        cudnn.benchmark = before[1]
