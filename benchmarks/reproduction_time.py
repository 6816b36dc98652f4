"""Processor time of `crowdcore reproduce`: of the command, the engine and its runs, one id after the other.

    python -m benchmarks.reproduction_time FOLDER [ID …]

It writes the tables to FOLDER, and the seconds to FOLDER/small/seconds.csv. Take a new workspace, as finished runs cost
nothing. Ids share runs, so the order counts. A run's processes leave the command's tree; this process adopts them
(`PR_SET_CHILD_SUBREAPER`, Linux), so that none is missed.
"""

from __future__ import annotations

import csv
import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from crowdcore.reproduce import ENTRIES

_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    folder, ids = Path(sys.argv[1]), sys.argv[2:] or list(ENTRIES)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    (folder / "small").mkdir(parents=True, exist_ok=True)
    for id in ids:
        before = _spent()
        command = [sys.executable, "-m", "crowdcore", "reproduce", id, "--scale", "small", "--out", str(folder)]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while running.poll() is None:
            _reap(keep=running.pid)
            time.sleep(1)
        _reap()
        with (folder / "small" / "seconds.csv").open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow([id, f"{_spent() - before:.0f}", running.returncode])


def _spent() -> float:
    """Processor time of all descendants so far in s, ended and running."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_alive(os.getpid()))


def _alive(parent: int) -> Iterator[float]:
    """Processor time of every running descendant, with its ended children."""
    for child in _children(parent):
        try:
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it has just ended
            continue
        yield sum(map(int, fields[11:15])) / _TICKS
        yield from _alive(child)


def _reap(keep: int = 0) -> None:
    """Wait for ended adopted processes, so that their time is counted; the command is waited for elsewhere."""
    for child in _children(os.getpid()):
        if child != keep:
            os.waitpid(child, os.WNOHANG)


def _children(process: int) -> list[int]:
    """Processes started by any thread of a process."""
    return [int(child) for task in Path(f"/proc/{process}/task").glob("*/children") for child in _words(task)]


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:  # its thread has just ended
        return []


if __name__ == "__main__":
    main()
