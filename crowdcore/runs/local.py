"""The scheduler and the workers that the keeper starts on this machine, and starts again when they end."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import time

from crowdcore.runs.files import EngineFiles, read_json
from crowdcore.runs.processes import end, start_detached
from crowdcore.runs.workspace import Workspace

__all__ = ["LocalNodes", "devices"]

_PATIENCE = 8.0  # seconds that workers have to end their runs
_LONGEST = 30.0  # seconds between two attempts to start what keeps ending
_STEADY = 60.0  # seconds after which a process counts as well


def devices() -> tuple[str, ...]:
    """One per GPU that may be used, else the CPU; asked of the driver, which costs no memory on the device."""
    count = ctypes.c_int(0)
    with contextlib.suppress(OSError, AttributeError):
        cuda = ctypes.CDLL("libcuda.so.1")
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
            count.value = 0
    return tuple(f"cuda:{k}" for k in range(count.value)) or ("cpu",)


class LocalNodes:
    """One scheduler, one worker per device.

    Args:
        workspace: whose engine this is.
        slots: runs at once on each device.
    """

    def __init__(self, workspace: Workspace, slots: int) -> None:
        self._files, self._environment, self._slots = EngineFiles(workspace.folder), workspace.environment, slots
        self._devices = devices()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        self._delay: dict[str, float] = {}

    @property
    def pids(self) -> list[int]:
        """The processes that live."""
        return [p.pid for p in self._processes.values() if p.poll() is None]

    def look_after(self) -> None:
        """Start what is not there; without its scheduler, a worker is of no use."""
        scheduler = self._processes.get("scheduler")
        if scheduler is None or scheduler.poll() is not None:
            self._end([name for name in self._processes if name != "scheduler"])
            if not self._start("scheduler", "scheduler", new_key=True):
                return
        for device in self._devices:
            worker = self._processes.get(device)
            if worker is None or worker.poll() is not None:
                self._start(device, "worker", device, str(self._slots))

    def address(self) -> str | None:
        """The scheduler's, once it is up."""
        found = read_json(self._files.scheduler).get("address")
        return str(found) if found else None

    def stop(self) -> None:
        """End the workers, then the scheduler."""
        self._end([name for name in self._processes if name != "scheduler"])
        self._end(list(self._processes))
        self._files.scheduler.unlink(missing_ok=True)

    def _start(self, name: str, role: str, *arguments: str, new_key: bool = False) -> bool:
        """Start a process, less and less often when it keeps ending; False: not yet."""
        now = time.monotonic()
        lasted = now - self._started.get(name, -_LONGEST)
        delay = 0.0 if lasted > _STEADY else self._delay.get(name, 0.0)
        if lasted < delay:
            return False
        if new_key:
            self._files.scheduler.unlink(missing_ok=True)
            self._files.make_key()
        self._delay[name] = min(_LONGEST, max(0.5, 2 * delay)) if name in self._started else 0.0
        self._started[name] = now
        self._processes[name] = start_detached(
            "crowdcore.runs.nodes",
            role,
            *arguments,
            log=self._files.log(name.replace(":", "-")),
            environment=self._environment,
        )
        return True

    def _end(self, names: list[str]) -> None:
        ending = [self._processes.pop(name) for name in names]
        end([p.pid for p in ending if p.poll() is None], _PATIENCE)
        for process in ending:
            process.wait()
