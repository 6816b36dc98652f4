"""Imported objects are no garbage: the collector that runs after every rerun need not scan them."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator

import pytest

from dashboard.components import guard


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_only_what_many_new_modules_brought_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_known", 0)
    guard.spare()
    frozen = gc.get_freeze_count()
    assert frozen > 1000
    kept = [[] for _ in range(100)]
    guard.spare()
    assert gc.get_freeze_count() <= frozen  # nothing was imported since
    for n in range(20):
        monkeypatch.setitem(sys.modules, f"brought_{n}", types.ModuleType(f"brought_{n}"))
    guard.spare()
    assert gc.get_freeze_count() >= frozen + len(kept)
