"""Results that are computed once; the memory of them is bounded in bytes."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from threading import RLock
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from crowdcore.core.memory import available_memory
from crowdcore.data.dataset import CrowdDataset

_MOST = 512  # results, of all functions together; those asked for last stay
_SHARE = 8  # of the memory that this process may take: one part in so many

P = ParamSpec("P")
T = TypeVar("T")


class _Slot:
    """The place of one result, and the lock that lets one thread compute it while others wait."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.found: list[Any] = []
        self.size = 0


_lock = RLock()
_slots: OrderedDict[Hashable, _Slot] = OrderedDict()


def held() -> tuple[int, int]:
    """Bytes of all results that are kept, and the most there may be."""
    with _lock:
        return sum(slot.size for slot in _slots.values()), available_memory() // _SHARE


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Compute once per arguments; datasets, references and results count as the object that they are.

    Nobody may change what it returns. What a function refuses (raises) is not kept.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        key = (function, arguments, tuple(sorted(named.items())))
        with _lock:
            if key not in _slots:
                _slots[key] = _Slot()
                if len(_slots) > _MOST:
                    _slots.popitem(last=False)
            slot = _slots[key]
            _slots.move_to_end(key)
        with slot.lock:
            if not slot.found:
                slot.found.append(function(*arguments, **named))
                slot.size = size_of(slot.found[0])
                with _lock:
                    _fit_into_memory()
            return slot.found[0]  # type: ignore[no-any-return]

    return call


def _fit_into_memory() -> None:
    """Drop the results that were asked for longest ago, until the rest fits; the last one stays, however large."""
    size, most = held()
    while len(_slots) > 1 and size > most:
        size -= _slots.popitem(last=False)[1].size


def size_of(result: object) -> int:
    """Bytes of the arrays, tables and texts in a result; a dataset within it counts where it is kept itself."""
    size, seen, left = 0, set[int](), [result]
    while left:
        one = left.pop()
        if id(one) in seen or (isinstance(one, CrowdDataset) and one is not result):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            size += 0 if isinstance(one, np.memmap) else one.nbytes
        elif isinstance(one, pd.DataFrame):
            size += int(one.memory_usage(deep=True).sum())
        elif isinstance(one, pd.Series | pd.Index):
            size += int(one.memory_usage(deep=True))
        elif isinstance(one, str | bytes):
            size += len(one)
        elif isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            size += 8 * len(one)
            left += [part for part in one if not isinstance(part, float | int)]
        elif is_dataclass(one):
            left += [getattr(one, part.name, None) for part in fields(one)]
        elif hasattr(one, "to_plotly_json"):
            left.append(one.to_plotly_json())
    return size
