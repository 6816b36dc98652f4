"""Processes that end with the one that started them."""

from __future__ import annotations

import signal
import subprocess
import sys

from crowdcore.runs.processes import is_alive
from tests.runs.on_engine import until

CHILD = """
import os, sys, time
from crowdcore.runs.processes import end_with
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
