"""How much memory this process may take, and giving back what it no longer needs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

_USUAL = pa.default_memory_pool()
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory() -> int:
    """Bytes: of the machine, or fewer where its control group or its own limits say so."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    found += [resource.getrlimit(which)[0] for which in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    for name in _GROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max"
            found.append(int(Path(name).read_text()))
    return min(bytes for bytes in found if bytes > 0)


@contextlib.contextmanager
def frugal_memory() -> Iterator[None]:
    """In here Arrow takes memory from the C library, which hands it back once it is free; its own pool keeps much.

    The pool is the process's: a thread that leaves while another one is still in here takes it along.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(_USUAL)


def release_memory() -> None:
    """Hand freed memory back to the system, which Arrow's pool and the C library else keep for later."""
    for pool in (pa.default_memory_pool(), _USUAL):  # inside Arrow some work takes the usual one at all times
        pool.release_unused()
    with contextlib.suppress(AttributeError, OSError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)
