"""File locks between processes; the system lets go of them when their holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["is_locked", "locked"]


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Within: no other process holds the lock.

    Args:
        path: a file in an existing folder; made, and left there.
        wait: until the holder lets go.

    Raises:
        BlockingIOError: another process holds it, and we don't wait.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock now."""
    if not path.exists():
        return False
    try:
        with locked(path, wait=False):
            return False
    except BlockingIOError:
        return True
