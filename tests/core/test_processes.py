"""Child processes: their output and refusals, their end, and their share of the processors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore.core import processes
from crowdcore.core.errors import CrowdError
from crowdcore.core.processes import ProcessorShare, RefusedError, is_alive, run_module
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
