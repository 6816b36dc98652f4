from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore.runs.usage import Processors

_SHARE = """
import time
from crowdcore.runs.usage import Processors
processors = Processors()
processors.share()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    pass
print(processors.share())
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
    monkeypatch.setattr("crowdcore.runs.usage._ran_and_waited", lambda: (0, 0))
    assert Processors().share() == 1.0


def test_a_share_is_of_the_time_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([(100, 100), (400, 200)])
    monkeypatch.setattr("crowdcore.runs.usage._ran_and_waited", lambda: next(looks))
    processors = Processors()
    assert processors.share() == 0.5
    assert processors.share() == 0.75
