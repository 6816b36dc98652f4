"""Split loops over threads; results do not depend on the number of cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_MOST = 16


def n_ranges(work: int, accumulator: int) -> int:
    """How many ranges to split a loop into: a power of two that keeps private accumulators below the work.

    Args:
        work: steps of the loop (annotations).
        accumulator: numbers that each range sums into.
    """
    fitting = max(1, min(work // max(4 * accumulator, 1), work // 100_000, _MOST))
    return int(2 ** int(np.log2(fitting)))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_ranges(n: int, parts: int, call: Callable[[int, int, int], T]) -> list[T]:
    """Call ``call(part, first, last)`` for ``parts`` equal ranges of ``range(n)`` on threads; results in order."""
    edges = [n * k // parts for k in range(parts + 1)]
    ranges = [(k, first, last) for k, (first, last) in enumerate(pairwise(edges))]
    if min(cores(), parts) == 1:
        return [call(*r) for r in ranges]
    with ThreadPoolExecutor(min(cores(), parts)) as pool:
        return list(pool.map(lambda r: call(*r), ranges))
