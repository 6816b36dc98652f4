"""Loops: compiled by Numba at their first call, and split over threads.

Importing Numba takes 0.3 s, which small data do not pay. Results do not depend on the number of cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import update_wrapper
from itertools import pairwise
from threading import RLock
from typing import Any, Generic, Literal, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

LARGE = 5_000_000
"""Annotations x classes from which a compiled loop repays loading Numba (half a second, measured)."""

_lock = RLock()


def is_large(work: int) -> bool:
    """Return whether ``work`` (annotations x classes) is large enough to repay loading Numba."""
    return work >= LARGE


class compiled(Generic[P, R]):  # noqa: N801  # a decorator
    """Compile a function with Numba when it is first called; it runs without the interpreter lock, cached on disk.

    The first call also replaces all compiled functions of the module by Numba's, so that they can call each other.

    Args:
        function: a loop in the part of Python that Numba knows.
    """

    _error_model: Literal["python", "numpy"] = "python"

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        self._loop: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, which the first call compiles."""
        return self.load()(*args, **kwargs)

    def load(self) -> Callable[P, R]:
        """Return Numba's function, and replace the module's other compiled functions by theirs."""
        with _lock:
            if self._loop is None:
                import numba

                compiler = numba.njit(nogil=True, cache=True, boundscheck=False, error_model=self._error_model)
                self._loop = compiler(self._function)
                names: dict[str, Any] = self._function.__globals__
                names.update({name: other.load() for name, other in names.items() if isinstance(other, compiled)})
            return self._loop


class compiled_unchecked(compiled[P, R]):  # noqa: N801
    """As `compiled`, but division by zero gives infinity or NaN; which one is faster depends on the loop."""

    _error_model = "numpy"


T = TypeVar("T")
_MOST = 16


def n_ranges(work: int, accumulator: int) -> int:
    """Number of ranges to split ``work`` steps into: a power of two that keeps accumulators below the work."""
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
