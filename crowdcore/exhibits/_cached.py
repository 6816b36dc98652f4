"""Results that are computed once; the memory of them is bounded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import RLock
from typing import Any, ParamSpec, TypeVar

__all__ = ["cached"]

_MOST = 128  # results, of all functions together; those asked for last stay

P = ParamSpec("P")
T = TypeVar("T")


class _Slot:
    """The place of one result, and the lock that lets one thread compute it while others wait."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.found: list[Any] = []


_slot: Callable[..., _Slot] = functools.lru_cache(maxsize=_MOST)(lambda *_, **__: _Slot())


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Compute once per arguments; datasets, references and results count as the object that they are.

    Nobody may change what it returns. What a function refuses (raises) is not kept.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        slot = _slot(function, *arguments, **named)
        with slot.lock:
            if not slot.found:
                slot.found.append(function(*arguments, **named))
            return slot.found[0]  # type: ignore[no-any-return]

    return call
