"""Locks between processes. The system releases them when the last process that holds the open file is gone.

They are `fcntl.flock` rather than filelock's: a child inherits the lock of its run, so that it outlives its supervisor;
filelock unlocks the file itself when one of its holders lets go, and keeps the descriptor private.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICK = 0.05  # seconds


@contextmanager
def locked(path: Path, wait: float = math.inf) -> Iterator[int]:
    """Within: no other process holds the lock. Yields the file descriptor, which a child may inherit.

    Args:
        path: a file, which is created and left there; its folder, too, but not the one around that.
        wait: seconds for its holder to let go.

    Raises:
        BlockingIOError: another process still holds it.
    """
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise
                time.sleep(_TICK)
        yield handle
    finally:
        os.close(handle)  # not LOCK_UN, which would take it from a child too


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock now."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # it may lie where nothing can be written
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def is_in_place(path: Path, handle: int) -> bool:
    """Whether a held lock's file is still the one at its path: its folder was not deleted, moved or replaced."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False
