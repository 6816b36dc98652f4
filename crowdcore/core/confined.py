"""Calls in a child process of bounded memory and time, so that a hostile file cannot take the caller down.

It guards memory and time, not the file system: results come back pickled, since the child runs our own code alone.
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.forkserver import ForkServer
from crowdcore.core.memory import available_memory

P = ParamSpec("P")
T = TypeVar("T")
MEMORY, SECONDS = "CROWDCORE_EXAMINE_MEMORY", "CROWDCORE_EXAMINE_SECONDS"
"""Environment variables: GiB (default: a quarter of the memory) and seconds (default: 300) of one call."""
_SHARE, _SECONDS = 4, 300.0
_AT_ONCE = 2  # calls; others wait, so that together they leave half of the memory
_GRACE = 10.0  # seconds after which a child that its own alarm has not ended is killed
_IDLE = 120.0  # seconds after which the server ends
_DAY = 86_400.0
_LOADED = ("pyarrow.csv", "pyarrow.json", "pyarrow.pandas_compat", "pyarrow.parquet", "crowdcore.data.catalogue")
_slots = threading.BoundedSemaphore(_AT_ONCE)


class ConfinedError(CrowdError):
    """A call took more memory or time than it may."""


def _environment() -> dict[str, str]:
    """This process's, without the variables of single calls, and without threads or arenas that forks would inherit."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("CROWDCORE_")}
    return ours | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


server = ForkServer(_LOADED, _environment, _IDLE)
"""Server that forks the children; `ForkServer.start` starts it ahead of the first call."""
atexit.register(server.stop)


def run_confined(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call ``work(*arguments, **named)`` in a child process; return or raise what it does.

    Args:
        work: a function of an importable module; it sees this process's environment variables.

    Raises:
        ConfinedError: it took more than `MEMORY` or `SECONDS`, or ended abruptly.

    Examples:
        >>> run_confined(max, 1, 2)
        2
    """
    memory, seconds = _limit(MEMORY, available_memory() / _SHARE / 2**30), _limit(SECONDS, _SECONDS)
    with _slots:
        began = time.monotonic()
        with server.fork(_bounded, work, arguments, named, int(memory * 2**30), seconds) as child:
            try:
                returned, value = child.answer(seconds + _GRACE)
            except TimeoutError:
                returned, value = False, None
                child.kill()
            except (OSError, EOFError, pickle.UnpicklingError):
                returned, value = False, None
        late = time.monotonic() - began >= seconds
    if returned:
        return value  # type: ignore[no-any-return]
    if value is None:
        limit = f"the limit of {seconds:g} s" if late else f"the limit of {memory:.1f} GiB of memory"
        raise ConfinedError(f"Reading this exceeded {limit}. The file is too large or malformed.")
    raise value


def run_in_child(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """`run_confined` without bounds, for work of our own that takes much memory or loads large packages."""
    with server.fork(partial(work, **named), *arguments) as child:
        try:
            returned, value = child.answer(_DAY)
        except (OSError, EOFError, pickle.UnpicklingError):
            returned, value = False, None
    if returned:
        return value  # type: ignore[no-any-return]
    raise value or CrowdError("The process that did this ended abruptly, probably for want of memory.")


def _bounded(
    work: Callable[..., T], arguments: tuple[Any, ...], named: Mapping[str, Any], memory: int, seconds: float
) -> T:
    signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends the process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    return work(*arguments, **named)


def _limit(name: str, default: float) -> float:
    given = os.environ.get(name) or default
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e9:
        raise SettingError(name, "be a number above 0", given)
    return limit
