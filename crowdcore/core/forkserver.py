"""A fork server: a process that has imported the modules its children need, and forks one for each call.

A fork takes milliseconds where importing PyTorch and MLflow takes seconds of a core. `multiprocessing`'s fork server
would import the caller's main module in every child, which scripts that use a library are not written for, and there
is only one per process.

Two streams lead from a caller to each child: on one the server sends the child's process id and exit code, on the
other the caller sends the call and the child its answer. A process that has ended has closed its ends of them.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from crowdcore.core.errors import CrowdError
from crowdcore.core.processes import import_path

_CODE = "import sys; from crowdcore.core.forkserver import _serve; _serve(*sys.argv[1:])"
_WORD = 4  # bytes of a process id and of an exit code
_START = 600.0  # seconds that a server may take to import its modules
_caller: socket.socket | None = None  # in a child: the stream from its caller


class Child:
    """A process that a `ForkServer` has forked.

    Attributes:
        pid: its process id.
        code: exit code, or minus the signal that ended it; None while it lives, or when its server was lost.

    Raises:
        OSError: there is no server.
    """

    def __init__(self, channel: socket.socket, stream: socket.socket) -> None:
        self._channel, self._stream, self._ended = channel, stream, False
        self.code: int | None = None
        pid = self._read(_START)
        if pid is None:
            raise OSError("The fork server has ended.")
        self.pid = pid

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the process to end; return whether it has."""
        if not self._ended:
            try:
                self.code = self._read(seconds)
            except (BlockingIOError, TimeoutError):
                return False
            self._ended = True
        return True

    def send(self, part: object) -> None:
        """Send a part of the call."""
        self._stream.settimeout(_START)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # killed already, which `wait` reports
            self._stream.sendall(pickle.dumps(part, protocol=5))

    def answer(self, seconds: float) -> tuple[bool, Any]:
        """(True, what the call returned), or (False, the error that it raised), None for a `MemoryError`.

        Raises:
            TimeoutError: there was none within that time.
            OSError, EOFError, pickle.UnpicklingError: the process ended without an answer.
        """
        self._stream.settimeout(seconds)
        with self._stream.makefile("rb") as file:
            answer: tuple[bool, Any] = pickle.load(file)
        return answer

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the streams; the process goes on."""
        self._channel.close()
        self._stream.close()

    def kill(self) -> None:
        """Kill it, but not its children."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _read(self, seconds: float) -> int | None:
        self._channel.settimeout(seconds)
        word = b""
        with contextlib.suppress(ConnectionResetError):
            word = self._channel.recv(_WORD)
        return int.from_bytes(word, signed=True) if word else None


class ForkServer:
    """Start the server process on first use, and again if it died.

    Args:
        modules: those to import; modules that are not installed are skipped.
        environment: returns the environment of the server. Children have that of their caller at the time of the call.
        idle: seconds without children after which the server ends.

    Attributes:
        log: file that receives the output of server and children; None: they write to ours.
    """

    def __init__(
        self,
        modules: Sequence[str],
        environment: Callable[[], dict[str, str]] = os.environ.copy,
        idle: float = math.inf,
    ) -> None:
        self._modules, self._environment, self._idle = modules, environment, idle
        self.log: Path | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start the server if it is not running; it imports its modules in the background."""
        with self._lock:
            self._running()

    def stop(self) -> None:
        """End the server; its children go on."""
        with self._lock:
            self._end()

    def fork(self, work: Callable[..., object], *arguments: object, handles: Sequence[int] = ()) -> Child:
        """Call a function of an importable module in a new process, which inherits ``handles``, and return at once.

        `SystemExit` ends the process with its code and without an answer.
        """
        try:
            child = self._fork(handles)
        except OSError:  # the server is about to end, having had nothing to do for long, or was killed
            self.stop()
            child = self._fork(handles)
        child.send((dict(os.environ), sys.path))
        child.send((work, arguments))
        return child

    def _fork(self, handles: Sequence[int]) -> Child:
        (channel, its_channel), (stream, its_stream) = socket.socketpair(), socket.socketpair()
        try:
            with its_channel, its_stream, self._lock:
                socket.send_fds(self._running(), [b"c"], [its_channel.fileno(), its_stream.fileno(), *handles])
            return Child(channel, stream)
        except OSError:
            channel.close()
            stream.close()
            raise

    def _running(self) -> socket.socket:
        """The socket by which the server takes calls."""
        if self._process is None or self._control is None or self._process.poll() is not None:
            self._end()
            self._control, its = socket.socketpair()
            with its, contextlib.ExitStack() as opened:
                output = None if self.log is None else opened.enter_context(self.log.open("ab"))
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CODE, str(its.fileno()), str(self._idle), *self._modules],
                    env={**self._environment(), "PYTHONPATH": import_path()},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[its.fileno()],
                    start_new_session=True,  # no signal of our terminal reaches it
                )
        return self._control

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.terminate()  # it may be importing
            self._process.wait()
        self._process = self._control = None


def is_forked() -> bool:
    """Return whether a `ForkServer` has forked this process."""
    return _caller is not None


def caller_is_gone() -> bool:
    """Return whether the process that asked for this fork has ended."""
    return _caller is not None and bool(select.select([_caller], [], [], 0)[0])  # readable: its end is closed


def _serve(handle: str, idle: str, *modules: str) -> None:
    """Serve one caller; ends with it, or when it has had no children for a while. It starts no threads."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    control, (woken, wake) = socket.socket(fileno=int(handle)), os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    children: dict[int, socket.socket] = {}
    while True:
        patience = None if children or idle == "inf" else float(idle)
        ready, _, _ = select.select([control.fileno(), woken], [], [], patience)
        if not ready:
            return
        if woken in ready:
            os.read(woken, 4096)
            _report_ended(children)
        if control.fileno() in ready:
            _, handles, _, _ = socket.recv_fds(control, 1, 16)
            if not handles:
                return
            channel = socket.socket(fileno=handles[0])
            pid = _fork()
            if pid == 0:  # `channel` stays open here: if the server is killed, it closes when this process ends
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (control, *children.values()):
                    other.close()
                _work(socket.socket(fileno=handles[1]))
            children[pid] = channel
            _send_number(channel, pid)
            for one in handles[1:]:
                os.close(one)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that a library has a thread while we fork
        return os.fork()


def _report_ended(children: dict[int, socket.socket]) -> None:
    """Send the exit codes of children that have ended to their callers."""
    for pid, channel in list(children.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _send_number(children.pop(pid), os.waitstatus_to_exitcode(status))
            channel.close()


def _send_number(channel: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # the caller is gone, or does not listen
        channel.send(number.to_bytes(_WORD, signed=True), socket.MSG_DONTWAIT)


def _work(stream: socket.socket) -> NoReturn:
    """Answer one call, and end."""
    global _caller
    _caller, code = stream, 0
    try:
        with stream.makefile("rwb") as file:
            environment, sys.path[:] = pickle.load(file)
            os.environ.clear()
            os.environ.update(environment)
            answer: tuple[bool, Any]
            try:
                work, arguments = pickle.load(file)
                answer = True, work(*arguments)
            except MemoryError:
                answer = False, None
            except CrowdError as refusal:
                answer = False, refusal
            except Exception:
                answer = False, RuntimeError(traceback.format_exc())
            pickle.dump(answer, file, protocol=5)
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    except BaseException:
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
