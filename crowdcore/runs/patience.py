"""Trouble that may pass by itself (a full or read-only disk, a locked record): saying so, and trying again."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from crowdcore.core.errors import CrowdError
from crowdcore.runs.workspace import Workspace

_T = TypeVar("_T")
_ROOM = 1 << 19  # bytes below which a disk is full: a record of SQLite grows by less at once
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_PAUSE = 0.5  # seconds between two attempts
_LOCKED = 2.0  # seconds of a locked record that are worth a word
_DAY = 86_400.0


def disk_problem(folder: Path) -> str:
    """Why nothing can be written in a folder and what helps, one sentence; "" when it can. Takes microseconds."""
    try:
        disk = os.statvfs(folder)
    except OSError:  # it is made when it is needed
        return ""
    if disk.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK):
        return f"The workspace {folder} is read-only: make it writable; waiting runs then continue by themselves."
    if disk.f_bavail * disk.f_frsize < _ROOM:
        return f"The disk of {folder} is full: make room; waiting runs then continue by themselves."
    return ""


def lock_problem(workspace: Workspace) -> str:
    """Whether another program keeps the workspace's own record locked, in one sentence; waits two seconds for it."""
    if workspace.database is None or not workspace.database.exists():
        return ""
    connection = sqlite3.connect(f"{workspace.database.as_uri()}?mode=rw", uri=True, timeout=_LOCKED)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.rollback()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return "Another program has locked the record of runs: runs wait until it has finished; nothing is lost."
    finally:
        connection.close()
    return ""


def may_pass(error: BaseException) -> bool:
    """Whether the same may work later: a full or read-only disk, a record that is locked or out of reach."""
    if getattr(error, "errno", None) in _DISK or any(f"(os error {number})" in str(error) for number in _DISK):
        return True  # the latter from safetensors
    return bool(getattr(error, "passes", False))  # of a `RecordError`


def _say(error: Exception) -> None:
    print(f"Trying again: {error}", flush=True)


def insist(
    action: Callable[[], _T],
    stopped: Callable[[], bool] = lambda: False,
    patience: float = _DAY,
    say: Callable[[Exception], None] = _say,
) -> _T:
    """What ``action`` returns, tried again while what it raises `may_pass`.

    Args:
        action: what to do.
        stopped: asked before every other attempt; True gives up.
        patience: seconds after which to give up, too.
        say: told the first error that is not given up for.
    """
    deadline, told = time.monotonic() + patience, False
    while True:
        try:
            return action()
        except Exception as error:
            if not may_pass(error) or stopped() or time.monotonic() > deadline:
                raise
            if not told:
                say(error)
                told = True
            time.sleep(_PAUSE)


@contextmanager
def one_sentence(workspace: Workspace) -> Iterator[None]:
    """Refuse at once where the disk of a workspace takes nothing.

    Raises:
        CrowdError: it is full or read-only, now or within.
    """
    if problem := disk_problem(workspace.folder):
        raise CrowdError(problem)
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        raise CrowdError(
            disk_problem(workspace.folder) or f"The disk of {workspace.folder} is full: make room."
        ) from error
