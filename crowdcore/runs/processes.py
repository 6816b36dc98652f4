"""Starting a process that outlives us, ending with the one that started us, and ending whole groups."""

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

_LOG = 1_000_000  # bytes after which a log begins anew
_PARENT = 0.5  # seconds between looks at whether it lives


def start_detached(module: str, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start ``python -m module`` in a session of its own, deaf to our terminal.

    Args:
        module: what to run.
        log: file for what it says.
        environment: added to ours.
    """
    if log.exists() and log.stat().st_size > _LOG:
        log.unlink()
    with log.open("ab") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(_path())},
            start_new_session=True,
            umask=0o077,  # what it writes is for its user alone
        )
    threading.Thread(target=process.wait, name=f"reaper of {module}", daemon=True).start()
    return process


def end_with(parent: int) -> None:
    """End this process soon after the one that started it, however that ends; what it has begun is lost."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def is_alive(pid: int) -> bool:
    """Whether a process of this machine lives; zombies do not count."""
    import psutil  # type: ignore[import-untyped]

    try:
        return pid > 0 and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill_group(leader: int) -> None:
    """End a process and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _path() -> list[str]:
    """Where Python finds this package, also when it is not installed."""
    import crowdcore

    here = str(Path(crowdcore.__file__).parent.parent)
    return [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
