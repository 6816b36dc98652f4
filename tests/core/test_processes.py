"""Processes are started, bounded and ended; readers of files are confined."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core import confined, processes
from crowdcore.core.confined import MEMORY, SECONDS, ConfinedError, run_confined
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.core.memory import available_memory
from crowdcore.core.processes import ProcessorShare, RefusedError, is_alive, run_module
from crowdcore.data import examine, load_dataset
from crowdcore.data.columns import MappingError
from testkit.on_engine import until


def test_a_module_s_output_comes_back_and_its_refusal_is_raised(tmp_path: Path) -> None:
    assert run_module("platform").strip()
    with pytest.raises(RefusedError, match="nowhere"):
        run_module("crowdcore", "info", str(tmp_path / "nowhere.csv"))
    with pytest.raises(CrowdError, match="no_such_module") as failed:
        run_module("no_such_module")
    assert not isinstance(failed.value, RefusedError)
    with pytest.raises(subprocess.TimeoutExpired):
        run_module("http.server", "0", timeout=0.5)
    assert run_module("base64", input="crowd", environment={"PYTHONUTF8": "1"}).strip() == "Y3Jvd2Q="


CHILD = """
import os, sys, time
from crowdcore.core.processes import end_with
end_with(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
PARENT = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}, str(os.getpid())])"


def test_a_process_ends_with_the_one_that_started_it_however_that_ends() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until(lambda: not is_alive(child), 60, "the child ends")


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="the system gives sessions no share")
def test_giving_way_slows_nobody_else_in_the_session() -> None:
    """Linux shares its processors between sessions first: a trial of the app's would slow the terminal it runs in."""
    give = "from pathlib import Path; from crowdcore.core.processes import give_way; give_way(); import os; "
    look = "print(os.nice(0), Path('/proc/self/autogroup').read_text())"
    done = subprocess.run(
        [sys.executable, "-c", give + look], capture_output=True, text=True, check=True, start_new_session=True
    )
    nice, _, *session = done.stdout.split()
    assert int(nice) >= processes.NICE and session == ["nice", "0"]


_SHARE = """
import time
from crowdcore.core.processes import ProcessorShare
share = ProcessorShare()
share.measure()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    pass
print(share.measure())
"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux tells how long threads wait")
def test_beside_three_busy_programs_a_process_knows_that_it_waits() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # which processes inherit
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        found = subprocess.run([sys.executable, "-c", _SHARE], capture_output=True, check=True)
    finally:
        os.sched_setaffinity(0, allowed)
        for process in busy:
            process.kill()
            process.wait()
    assert 0 < float(found.stdout) < 0.5


def test_a_share_is_one_where_nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.core.processes._ran_and_waited", lambda: (0, 0))
    assert ProcessorShare().measure() == 1.0


def test_a_share_is_of_the_time_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([(100, 100), (400, 200)])
    monkeypatch.setattr("crowdcore.core.processes._ran_and_waited", lambda: next(looks))
    share = ProcessorShare()
    assert share.measure() == 0.5
    assert share.measure() == 0.75


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    yield
    confined.server.stop()


def test_a_dataset_comes_back_as_it_is() -> None:
    there, here = run_confined(load_dataset, "demo"), load_dataset("demo")
    assert there.fingerprint == here.fingerprint
    assert not there.label.flags.writeable
    assert there.annotations.equals(here.annotations)


def test_a_refusal_comes_back_as_it_was_phrased(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("foo,who,says\n1,ann,cat\n2,bob,dog\n")
    with pytest.raises(MappingError) as there:
        run_confined(examine, tmp_path / "odd.csv")
    with pytest.raises(MappingError) as here:
        examine(tmp_path / "odd.csv")
    assert (str(there.value), there.value.columns) == (str(here.value), ("foo", "who", "says"))
    with pytest.raises(DataError, match=r"does not exist\.$"):
        run_confined(examine, tmp_path / "nowhere.csv")
    with pytest.raises(SettingError, match="`name`"):
        run_confined(load_dataset, "x")


def test_a_fault_of_ours_comes_back_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_confined(divmod, 1, 0)


def test_too_much_memory_is_refused_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "0.5")
    sentence = r"exceeded the limit of 0.5 GiB of memory"
    for work, argument in ((np.ones, 1 << 28), (bytes, 1 << 30)):
        with pytest.raises(ConfinedError, match=sentence):
            run_confined(work, argument)
    assert run_confined(max, 1, 2) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_an_abrupt_end_is_refused(number: int) -> None:
    with pytest.raises(ConfinedError, match="malformed"):
        run_confined(signal.raise_signal, number)
    assert run_confined(max, 1, 2) == 2


def test_too_much_time_is_refused_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "1")
    ended: list[CrowdError] = []

    def endless() -> None:
        with pytest.raises(ConfinedError, match="limit of 1 s") as refused:
            run_confined(time.sleep, 60)
        ended.append(refused.value)

    thread = threading.Thread(target=endless)
    thread.start()
    assert run_confined(max, 1, 2) == 2
    assert not ended
    thread.join(30)
    assert ended


def test_the_child_sees_our_environment_and_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", "/made/for/this/test")
    monkeypatch.setenv(MEMORY, "0.25")
    assert run_confined(os.getenv, "CROWDCORE_DATA") == "/made/for/this/test"
    assert run_confined(available_memory) == 1 << 28


def test_a_server_that_has_ended_is_started_again() -> None:
    assert run_confined(max, 1, 2) == 2
    process = confined.server._process
    assert process is not None
    process.kill()
    process.wait()
    assert run_confined(max, 1, 2) == 2
    assert confined.server._process is not process


def test_a_server_that_is_about_to_end_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)"])  # its end of the socket is closed
    ours, its = socket.socketpair()
    its.close()
    confined.server.stop()
    monkeypatch.setattr(confined.server, "_process", ending)
    monkeypatch.setattr(confined.server, "_control", ours)
    assert run_confined(max, 1, 2) == 2
    assert ending.poll() is not None
    confined.server.stop()


@pytest.mark.parametrize("given", ["0", "-1", "nan", "much"])
def test_limits_that_cannot_be(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(MEMORY, given)
    with pytest.raises(SettingError, match="`CROWDCORE_EXAMINE_MEMORY`"):
        run_confined(max, 1, 2)
