"""The helper of `confined`: ``python -m crowdcore.core.confined_process HANDLE`` forks a child for every call.

It starts no threads, and ends when its caller does or has asked for nothing for a while.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import resource
import signal
import socket
import sys
import traceback

from crowdcore.core.errors import CrowdError

_LOADED = ("pyarrow.csv", "pyarrow.json", "pyarrow.pandas_compat", "pyarrow.parquet", "crowdcore.data.catalogue")
_IDLE = 120.0  # seconds


def main(handle: int) -> None:
    """Serve one caller."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the children
    for name in _LOADED:
        importlib.import_module(name)
    with socket.socket(fileno=handle) as control:
        control.settimeout(_IDLE)
        with contextlib.suppress(OSError):
            while handles := socket.recv_fds(control, 1, 1)[1]:
                if os.fork() == 0:
                    control.close()
                    _work(handles[0])
                os.close(handles[0])


def _work(handle: int) -> None:
    """Answer one request, and end."""
    try:
        with socket.socket(fileno=handle) as channel, channel.makefile("rwb") as file:
            try:
                work, arguments, named, environment, memory, seconds = pickle.load(file)
                os.environ.clear()
                os.environ.update(environment)
                signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends the process
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
                answer = True, work(*arguments, **named)
            except MemoryError:
                answer = False, None
            except CrowdError as refusal:
                answer = False, refusal
            except Exception:
                answer = False, RuntimeError(traceback.format_exc())
            pickle.dump(answer, file, protocol=5)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
