"""What this process has used so far: memory at its peak, time since it was started, its share of the processors."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from pathlib import Path


class Processors:
    """How much of the processors this process gets; Linux tells, elsewhere it seems to get all."""

    def __init__(self) -> None:
        self._before = (0, 0)

    def share(self) -> float:
        """Of the time that its threads could have run since the last call, the part in which they did: 1.0 = alone."""
        now = _ran_and_waited()
        ran, waited = (max(0, new - old) for new, old in zip(now, self._before, strict=True))
        self._before = now
        return ran / (ran + waited) if ran else 1.0


def _ran_and_waited() -> tuple[int, int]:
    """Nanoseconds that the living threads of this process have run, and have waited for a processor."""
    ran = waited = 0
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError):  # the thread has just ended
            one, other, _ = path.read_text().split()
            ran, waited = ran + int(one), waited + int(other)
    return ran, waited


def peak_bytes(device: str) -> int:
    """Peak of the GPU's memory where this process has trained on one, else of its own."""
    import torch

    if device != "cpu" and torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_reserved())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def process_age() -> float:
    """Seconds since the process was started, its imports included."""
    import psutil  # type: ignore[import-untyped]

    return float(time.time() - psutil.Process().create_time())
