"""Where children come from: a process that has loaded the packages a run needs, and forks one child per run.

Loading PyTorch and MLflow takes seconds of a core, a fork takes milliseconds. The nursery loads nothing of our own
(a child runs the code as it is then), never trains, opens no database and touches no GPU, so that children start clean.
It ends with its worker, and its children with it.
``python -m crowdcore.runs.nursery HANDLE`` is its own entry point; `Nursery` is the worker's side.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdcore.runs.processes import kill_group, start_detached

__all__ = ["Child", "Nursery"]

_MODULES = {"child": "crowdcore.runs.child", "coordinator": "crowdcore.runs.coordinator"}
_LOADED = (
    "mlflow",
    "mlflow.artifacts",
    "mlflow.store.tracking.sqlalchemy_store",
    "numba",
    "optuna",
    "pyarrow.parquet",
    "scipy.sparse",
    "safetensors.torch",
    "torch._dynamo",  # which PyTorch's optimisers load
    "torch.func",
)
_MESSAGE = 1 << 20  # bytes
_TASTY = 500  # added to what the system thinks of killing a child when memory runs out
# How much a child gives way, so that apps and browsers stay quick while every core trains: within its container or
# session, and as a session beside others.
_NICE = 15


class Child:
    """A forked process.

    Args:
        pid: its number; it leads a process group of its own.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        """Exit code, or minus the signal that ended it; None while it lives, or when its nursery was lost."""
        self._gone = threading.Event()

    def wait(self, seconds: float) -> bool:
        """Whether it is gone within that time."""
        return self._gone.wait(seconds)

    def gone(self, code: int | None) -> None:
        """Note its end."""
        self.code = code
        self._gone.set()


class Nursery:
    """A worker's connection to its nursery, which is started on first use and again when it was lost."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._children: dict[int, Child] = {}
        self._born: list[Child] = []
        self._ready = threading.Event()
        self._answer = threading.Condition()

    def warm_up(self, log: Path) -> None:
        """Start it where there is none; what it says goes to the log."""
        with self._starting:
            if self._socket is not None:
                return
            self._ready.clear()
            ours, theirs = socket.socketpair()
            with theirs:
                handle = theirs.fileno()
                self._process = start_detached(
                    "crowdcore.runs.nursery", str(handle), log=log, environment={}, handles=[handle]
                )
            self._socket = ours
            threading.Thread(target=self._listen, args=(ours,), name="nursery", daemon=True).start()

    def is_ready(self, seconds: float) -> bool:
        """Whether it has loaded everything, at once or within that time."""
        return self._ready.wait(seconds)

    def close(self) -> None:
        """End it, and its children."""
        if self._process is not None:
            for child in list(self._children.values()):
                kill_group(child.pid)
            kill_group(self._process.pid)

    def start(self, what: str, run_id: str, environment: Mapping[str, str], log: Path, lease: int) -> Child:
        """Fork a child.

        Args:
            what: "child" or "coordinator".
            run_id: its run.
            environment: all of it.
            log: where its output goes.
            lease: file descriptor that it inherits.

        Raises:
            OSError: the nursery was lost.
        """
        asked = {"what": what, "run": run_id, "environment": dict(environment), "log": str(log)}
        with self._starting, self._answer:
            connection = self._socket
            if connection is None:
                raise ConnectionError("The process that starts runs was lost.")
            self._born.clear()
            socket.send_fds(connection, [json.dumps(asked).encode() + b"\n"], [lease])
            self._answer.wait_for(lambda: self._born or self._socket is not connection)
            if not self._born:
                raise ConnectionError("The process that starts runs was lost.")
            return self._born[0]

    def _listen(self, connection: socket.socket) -> None:
        """Take what the nursery says, one JSON document a line."""
        with contextlib.suppress(OSError, ValueError), connection.makefile("r") as lines:
            for line in lines:
                said: dict[str, Any] = json.loads(line)
                with self._answer:
                    if "ready" in said:
                        self._ready.set()
                    elif "born" in said:
                        self._children[said["born"]] = Child(said["born"])
                        self._born.append(self._children[said["born"]])
                    else:
                        self._children.pop(said["gone"]).gone(said["code"])
                    self._answer.notify_all()
        with self._answer:
            self._socket = None
            self._ready.clear()
            left = list(self._children.values())
            self._children.clear()
            self._answer.notify_all()
        connection.close()
        for child in left:
            kill_group(child.pid)
            child.gone(None)


def _serve(handle: int) -> None:
    """Fork what is asked for and tell who ended, until the worker is gone."""
    import select

    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asking whether there is a GPU must not touch it
    for name in _LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    worker = socket.socket(fileno=handle)
    wake, woken = socket.socketpair()
    wake.setblocking(False)
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno())
    children: set[int] = set()
    try:
        worker.sendall(b'{"ready": true}\n')
        while True:
            ready, _, _ = select.select([worker, wake], [], [])
            if wake in ready:
                with contextlib.suppress(BlockingIOError):
                    wake.recv(4096)
                for pid, code in _ended(children):
                    worker.sendall(json.dumps({"gone": pid, "code": code}).encode() + b"\n")
            if worker in ready:
                asked, handles = _read(worker)
                if not asked:
                    return
                pid = os.fork()
                if pid == 0:
                    _be_a_child(asked, (worker, wake, woken))
                for inherited in handles:
                    os.close(inherited)
                children.add(pid)
                worker.sendall(json.dumps({"born": pid}).encode() + b"\n")
    except OSError:  # the worker is gone
        return
    finally:
        for pid in children:
            kill_group(pid)


def _read(worker: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One request and the file descriptors that came with it; empty when the worker is gone."""
    data, handles, _, _ = socket.recv_fds(worker, _MESSAGE, 4)
    while data and not data.endswith(b"\n"):
        data += worker.recv(_MESSAGE)
    return (json.loads(data), handles) if data else ({}, [])


def _ended(children: set[int]) -> list[tuple[int, int]]:
    found = []
    for pid in list(children):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            children.discard(pid)
            kill_group(pid)  # and what it left behind
            found.append((pid, os.waitstatus_to_exitcode(status)))
    return found


def _be_a_child(asked: dict[str, Any], sockets: tuple[socket.socket, ...]) -> None:
    """Become a process of its own, run the module, and end."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        for one in sockets:
            one.close()
        os.nice(_NICE)
        for name, value in (("oom_score_adj", _TASTY), ("autogroup", _NICE)):
            with contextlib.suppress(OSError):
                Path("/proc/self", name).write_text(str(value))
        os.environ.clear()
        os.environ.update(asked["environment"], CROWDCORE_SUPERVISOR=str(os.getppid()))
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = importlib.import_module(_MODULES[asked["what"]]).main(asked["run"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
