"""Processes forked from a server: exit codes, inheritance, and the ends of caller and server."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crowdcore.core import forkserver
from crowdcore.core.forkserver import ForkServer


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    started = ForkServer(["json", "no_such_module"])
    yield started
    started.stop()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def ended(child: forkserver.Child) -> int | None:
    with child:
        assert child.wait(60)
    return child.code


@pytest.mark.parametrize(("work", "argument", "code"), [(sys.exit, 3, 3), (os._exit, 4, 4), (sys.exit, "said", 1)])
def test_an_exit_code_comes_back(server: ForkServer, work, argument: object, code: int) -> None:
    assert ended(server.fork(work, argument)) == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_comes_back(server: ForkServer, number: int) -> None:
    child = server.fork(time.sleep, 60)
    assert not child.wait(0) and not child.wait(0.1)
    os.kill(child.pid, number)
    assert ended(child) == -number


def test_many_children_at_once_end_each_with_its_own_code(server: ForkServer) -> None:
    children = [server.fork(sys.exit, code) for code in range(20)]
    assert [ended(child) for child in children] == list(range(20))


def test_a_child_has_its_caller_s_environment_and_import_path(server: ForkServer, monkeypatch) -> None:
    server.start()
    monkeypatch.setenv("MADE_LATER", "yes")
    with server.fork(os.getenv, "MADE_LATER") as child:
        assert child.answer(60) == (True, "yes")
        assert child.wait(60) and child.code == 0
        with pytest.raises(EOFError):
            child.answer(60)


def test_an_inherited_lock_is_held_until_the_child_ends(server: ForkServer, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        child = server.fork(time.sleep, 60, handles=[file.fileno()])
    with path.open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.kill()
        assert ended(child) == -signal.SIGKILL
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_child_outlives_its_server(server: ForkServer) -> None:
    child = server.fork(time.sleep, 1)
    assert server._process is not None
    server._process.kill()
    assert not child.wait(0.2)
    assert ended(child) is None  # nobody knows how
    assert ended(server.fork(sys.exit, 5)) == 5


_CALLER = """
import sys, time
from crowdcore.core.forkserver import ForkServer
from tests.core.test_forkserver import wait_for_caller
child = ForkServer([]).fork(wait_for_caller, sys.argv[1])
print(child.pid, flush=True)
time.sleep(60)
"""


def wait_for_caller(path: str) -> None:
    """Create a file at the start, and another one when the caller is gone."""
    assert forkserver.is_forked() and not forkserver.caller_is_gone()
    Path(path).with_name("begun").touch()
    while not forkserver.caller_is_gone():
        time.sleep(0.05)
    Path(path).touch()


def test_a_child_notices_that_its_caller_is_gone(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER, str(tmp_path / "gone")], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert caller.stdout is not None and int(caller.stdout.readline())
    until((tmp_path / "begun").exists)
    assert not (tmp_path / "gone").exists()
    caller.kill()
    caller.wait()
    caller.stdout.close()
    until((tmp_path / "gone").exists)


def test_an_idle_server_ends(tmp_path: Path) -> None:
    server = ForkServer([], idle=0.2)
    server.log = tmp_path / "log"
    child = server.fork(print, "hello")
    assert ended(child) == 0
    assert server._process is not None
    assert server._process.wait(60) == 0
    assert (tmp_path / "log").read_text() == "hello\n"
    assert ended(server.fork(sys.exit, 6)) == 6
    server.stop()
