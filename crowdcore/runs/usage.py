"""What this process has used so far: memory at its peak, time since it was started."""

from __future__ import annotations

import resource
import sys
import time

__all__ = ["peak_bytes", "process_age"]


def peak_bytes(device: str) -> int:
    """Peak of the GPU's memory where this process has trained on one, else of its own."""
    import torch

    if device != "cpu" and torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return int(torch.cuda.max_memory_reserved())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def process_age() -> float:
    """Seconds since the process was started, its imports included."""
    import psutil  # type: ignore[import-untyped]

    return float(time.time() - psutil.Process().create_time())
