"""Calls in a child process of bounded memory and time, so that a hostile file cannot take the caller down.

The child is forked from a helper that has loaded what reading needs (`confined_process`), in some ten milliseconds.
It guards memory and time, not the file system: results come back pickled, since the child runs our own code alone.
"""

from __future__ import annotations

import atexit
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.memory import available_memory

P = ParamSpec("P")
T = TypeVar("T")
MEMORY, SECONDS = "CROWDCORE_EXAMINE_MEMORY", "CROWDCORE_EXAMINE_SECONDS"
"""Environment variables: GiB (default: a quarter of the memory) and seconds (default: 300) of one call."""
_SHARE, _SECONDS = 4, 300.0
_AT_ONCE = 2  # calls; others wait, so that together they leave half of the memory
_QUIET = "ignore::DeprecationWarning"  # that jemalloc has a thread while we fork
_GRACE = 10.0  # seconds after which a child that its own alarm has not ended is given up
_slots = threading.BoundedSemaphore(_AT_ONCE)
_one = threading.Lock()
_helper: tuple[subprocess.Popen[bytes], socket.socket] | None = None


class ConfinedError(CrowdError):
    """A call took more memory or time than it may."""


def run_confined(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What ``work(*arguments, **named)`` returns or raises, called in a child process.

    Args:
        work: a function of an importable module; it sees this process's environment variables.

    Raises:
        ConfinedError: it took more than `MEMORY` or `SECONDS`, or ended abruptly.

    Examples:
        >>> run_confined(max, 1, 2)
        2
    """
    memory, seconds = _limit(MEMORY, available_memory() / _SHARE / 2**30), _limit(SECONDS, _SECONDS)
    request = pickle.dumps((work, arguments, named, dict(os.environ), int(memory * 2**30), seconds))
    with _slots, _connect() as channel, channel.makefile("rb") as answered:
        began = time.monotonic()
        channel.settimeout(seconds + _GRACE)
        try:
            channel.sendall(request)
            returned, value = pickle.load(answered)
        except (OSError, EOFError, pickle.UnpicklingError):
            returned, value = False, None
        late = time.monotonic() - began >= seconds
    if returned:
        return value  # type: ignore[no-any-return]
    if value is None:
        what = f"takes longer than {seconds:g} s" if late else f"needs more than {memory:.1f} GiB of memory"
        raise ConfinedError(f"Reading this {what}, which is what it may take: it is too large, or made to do harm.")
    raise value


def start_helper() -> None:
    """Start the helper, if it is not running, so that it has loaded its modules when it is needed."""
    with _one:
        _running()


def stop_helper() -> None:
    """End the helper; calls under way go on."""
    with _one:
        _end()


def _end() -> None:
    global _helper
    if _helper is not None:
        process, control = _helper
        control.close()
        process.wait()
        _helper = None


def _connect() -> socket.socket:
    """A socket to a new child."""
    ours, its = socket.socketpair()
    with _one, its:
        try:
            socket.send_fds(_running(), [b"c"], [its.fileno()])
        except OSError:  # it is about to end, having had nothing to do for long
            _end()
            socket.send_fds(_running(), [b"c"], [its.fileno()])
    return ours


def _running() -> socket.socket:
    """The socket that the helper takes work from."""
    global _helper
    if _helper is None or _helper[0].poll() is not None:
        _end()
        ours, its = socket.socketpair()
        with its:
            process = subprocess.Popen(
                [sys.executable, "-P", "-W", _QUIET, "-m", "crowdcore.core.confined_process", str(its.fileno())],
                env={**_environment(), "PYTHONPATH": os.pathsep.join(_path())},
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # deaf to our terminal; it ends when our end of the socket is closed
            )
        _helper = process, ours
    return _helper[1]


def _environment() -> dict[str, str]:
    """Ours without what belongs to one call; and no threads or arenas of memory that forks would inherit."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("CROWDCORE_")}
    return ours | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def _path() -> list[str]:
    here = str(Path(__file__).parents[2])
    return [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def _limit(name: str, usual: float) -> float:
    given = os.environ.get(name) or usual
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e9:
        raise SettingError(name, "be a number above 0", given)
    return limit


atexit.register(stop_helper)
