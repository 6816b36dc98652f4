"""Starting processes that outlive us, and ending whole groups of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["end", "is_alive", "kill_group", "start_detached"]


def start_detached(module: str, *arguments: str, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start ``python -m module`` in a session of its own, deaf to our terminal; what it says goes to a file."""
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    threading.Thread(target=process.wait, name=f"reaper of {module}", daemon=True).start()
    return process


def is_alive(pid: int) -> bool:
    """Whether a process of this machine lives; the dead that nobody has buried yet don't count."""
    import psutil

    try:
        return pid > 0 and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill_group(leader: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def end(pids: list[int], patience: float) -> None:
    """Ask group leaders to end, wait, and kill the groups of those that did not."""
    for pid in pids:
        kill_group(pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in pids:
        kill_group(pid)
