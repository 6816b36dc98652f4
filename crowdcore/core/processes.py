"""Child processes: start and end them, watch whether they live, and measure the share of the processors they get.

Children that need what takes long to load are forked instead; see `crowdcore.core.forkserver`.
"""

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

from crowdcore.core.errors import CrowdError

REFUSED = 2
"""Exit code of commands that refuse their arguments; standard error says why."""
NICE = 2
"""Niceness of training: beside two programs that never rest, it gets 0.3 of two cores."""
_OUT_OF_MEMORY = 500  # added to the score by which the system chooses what to kill when memory runs out
_LOG = 1_000_000  # bytes after which a log begins anew
_PARENT = 0.5  # seconds between checks that the parent lives


class RefusedError(CrowdError):
    """A command refused its arguments."""


def run_module(
    module: str,
    *arguments: str,
    input: str = "",
    environment: Mapping[str, str] = {},
    timeout: float = 3600.0,
) -> str:
    """Run ``python -m module arguments`` and return its standard output; after ``timeout`` seconds it is ended.

    Where it fails, the last line of its standard error is raised: as a `RefusedError` if its exit code was `REFUSED`.
    """
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=input,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=timeout,
        check=False,
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or [f"{module} ended with exit code {process.returncode}."])[-1]
        raise (RefusedError if process.returncode == REFUSED else CrowdError)(last.removeprefix("crowdcore: "))
    return process.stdout


def start_detached(module: str, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start ``python -m module``, its output in ``log``, in a session that no signal of our terminal reaches."""
    if log.exists() and log.stat().st_size > _LOG:
        log.unlink()
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as output:
        os.fchmod(output.fileno(), 0o600)  # names of data are private
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment, "PYTHONPATH": import_path()},
            start_new_session=True,
            umask=0o077,  # its files are private
        )
    threading.Thread(target=process.wait, name=f"reaper of {module}", daemon=True).start()
    return process


def import_path() -> str:
    """``PYTHONPATH`` of a child, with the folder of this package, which need not be installed."""
    here = str(Path(__file__).parents[2])
    return os.pathsep.join([here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


def can_import(name: str) -> bool:
    """Return whether a child process can find the module of ``package.module:Class``."""
    module = name.partition(":")[0].partition(".")[0] if ":" in name else ""
    code = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"
    if module in ("", "__main__"):
        return False
    child = {**os.environ, "PYTHONPATH": import_path()}
    return not subprocess.run([sys.executable, "-c", code, module], env=child, check=False).returncode


def end_with(parent: int) -> None:
    """End this process soon after the process that started it has ended, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine lives; zombies do not count."""
    import psutil  # type: ignore[import-untyped]

    try:
        return pid > 0 and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill_group(leader: int) -> None:
    """Kill a process and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def give_way() -> None:
    """Let other programs go first, and be the first to be killed when memory runs out."""
    os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OUT_OF_MEMORY))


def age() -> float:
    """Seconds since this process was started, its imports included."""
    import psutil

    return float(time.time() - psutil.Process().create_time())


class ProcessorShare:
    """Share of the CPU time that this process gets; measured on Linux, 1 elsewhere."""

    def __init__(self) -> None:
        self._before = (0, 0)

    def measure(self) -> float:
        """Share of the time since the last call in which the threads could run and did."""
        now = _ran_and_waited()
        ran, waited = (max(0, new - old) for new, old in zip(now, self._before, strict=True))
        self._before = now
        return ran / (ran + waited) if ran else 1.0


def _ran_and_waited() -> tuple[int, int]:
    """Nanoseconds that the living threads of this process have run, and have waited for a processor."""
    ran = waited = 0
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError):  # the thread has just ended
            one, other, _ = path.read_text().split()
            ran, waited = ran + int(one), waited + int(other)
    return ran, waited
