from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crowdcore.runs import forkserver

_STREAMS = """
import multiprocessing.forkserver, os, pathlib, sys
from crowdcore.runs import forkserver
forkserver._PACKAGES = ()
forkserver.preload(pathlib.Path(sys.argv[1]))
server = multiprocessing.forkserver._forkserver._forkserver_pid
print(*(os.readlink(f"/proc/{process}/fd/{stream}") for process in (server, "self") for stream in (1, 2)))
"""


def test_nobody_who_reads_a_worker_s_output_waits_for_its_forkserver(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STREAMS, str(tmp_path / "log")], capture_output=True, text=True, check=True
    )
    theirs, ours = done.stdout.split()[:2], done.stdout.split()[2:]
    assert theirs == [str(tmp_path / "log")] * 2
    assert all(stream.startswith("pipe:") for stream in ours) and not done.stderr


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="the system gives sessions no share")
def test_giving_way_slows_nobody_else_in_the_session() -> None:
    """Linux shares its processors between sessions first: a trial of the app's would slow the terminal it runs in."""
    give = "from pathlib import Path; from crowdcore.runs.forkserver import give_way; give_way(); import os; "
    look = "print(os.nice(0), Path('/proc/self/autogroup').read_text())"
    done = subprocess.run(
        [sys.executable, "-c", give + look], capture_output=True, text=True, check=True, start_new_session=True
    )
    nice, _, *session = done.stdout.split()
    assert int(nice) >= forkserver.NICE and session == ["nice", "0"]
