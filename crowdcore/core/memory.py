"""Memory limit of this process; return freed memory to the system."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from crowdcore.core.errors import CrowdError, Remedy

_USUAL = pa.default_memory_pool()
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory() -> int:
    """Return the bytes of the machine, or fewer where its control group or its own limits say so."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [resource.getrlimit(which)[0] for which in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    for name in _GROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max"
            limits.append(int(Path(name).read_text()))
    return min(limit for limit in limits if limit > 0)


def need_room(name: str, n_tasks: int, n_classes: int, n_workers: int = 0) -> None:
    """Refuse tables of numbers that take more than a quarter of the memory, before they are made.

    Of tasks by classes (0 tasks: one of classes by classes alone), and of ``n_workers`` (0: nobody) whose confusions
    are counted, smoothed, divided and their logarithms taken.
    """
    rows, what = max(
        (n_tasks, f"a table of {n_tasks:,} tasks by classes needs"),
        (n_classes, f"a table of {n_classes:,} classes by classes needs"),
        (4 * n_workers * n_classes, f"confusions of {n_workers:,} workers need"),
    )
    needed, there = 8 * n_classes * rows / 2**30, available_memory() / 2**30
    if needed > there / 4:
        remedies = Remedy("label", when="another column holds the labels"), Remedy("merge_classes", when="some are one")
        raise CrowdError(
            f"{name!r} has {n_classes:,} classes: {what} {needed:.3g} GiB, more than a quarter of {there:.3g} GiB.",
            [*([Remedy.take_reference("majority-vote", "count votes alone")] if n_workers else []), *remedies],
        )


@contextlib.contextmanager
def frugal_memory() -> Iterator[None]:
    """Let Arrow take memory from the C library, which returns it once it is free; its own pool keeps much.

    The pool belongs to the process: a thread that leaves also resets it for threads that are still inside.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(_USUAL)


def release_memory() -> None:
    """Return freed memory to the system, which Arrow's pool and the C library would keep for later."""
    for pool in (pa.default_memory_pool(), _USUAL):  # inside Arrow some work takes the usual one at all times
        pool.release_unused()
    with contextlib.suppress(AttributeError, OSError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)
