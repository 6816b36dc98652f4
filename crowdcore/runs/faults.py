"""Faults of the record of runs and of its disk: one sentence each, and a retry of transient ones."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from crowdcore.core.errors import CrowdError
from crowdcore.runs.workspace import Workspace

_T = TypeVar("_T")
_IN_ADDRESS = re.compile(r"(\w+://)[^/\s@]+@")
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE_KEY", re.IGNORECASE)
_SHORTEST = 6  # shorter values would hide ordinary words
_OF_OTHERS = ("mlflow", "sqlalchemy", "sqlite3", "requests", "urllib3")  # packages whose errors are explained
_DAMAGE = ("malformed", "not a database", "no such table", "no such column", "corrupt")
_TECHNICAL = re.compile(r"\s*(\[SQL:|\(Background on this error|Response body:).*", re.DOTALL)
_CLASS = re.compile(r"^(\([\w.]+\)|[\w.]+(Error|Exception):)\s*")  # "(sqlite3.OperationalError) …"
_ROOM = 1 << 19  # bytes below which a disk is full: a record of SQLite grows by less at once
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_PAUSE = 0.5  # seconds between two attempts
_LOCKED = 2.0  # seconds after which a locked record is reported
_DAY = 86_400.0


class RecordError(CrowdError):
    """The record of runs refused a request.

    Args:
        sentence: the problem and its remedy.
        passes: True for a transient fault: a lock, a full disk, a server out of reach.
        error_code: MLflow's, such as RESOURCE_DOES_NOT_EXIST; "" without.
    """

    def __init__(self, sentence: str, passes: bool = False, error_code: str = "") -> None:
        self.passes, self.error_code = passes, error_code
        super().__init__(sentence)


class LostRecordError(RecordError):
    """The record of a workspace is damaged, empty or missing.

    Args:
        database: its file.
        how: the fault, as the end of a sentence.
    """

    def __init__(self, database: Path, how: str) -> None:
        remedy = "`crowdcore workspace check --repair` rebuilds it from the results, and keeps the file that is there."
        self.statement = f"The record of runs ({database}) {how}."
        super().__init__(f"{self.statement} {remedy}")


def redact(text: str) -> str:
    """Remove passwords in addresses, and the values of environment variables such as ``…_TOKEN``."""
    text = _IN_ADDRESS.sub(r"\1…@", text)
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name):
            text = text.replace(value, f"<{name}>")
    return text


def explain(error: Exception, workspace: Workspace) -> RecordError | None:
    """Explain an error of MLflow or SQLite in one sentence; None if it does not come from the record."""
    if isinstance(error, RecordError):
        return error
    if type(error).__module__.partition(".")[0] not in _OF_OTHERS:
        return None
    code = str(getattr(error, "error_code", ""))
    text = str(error)
    if workspace.database is not None:
        if any(sign in text.casefold() for sign in _DAMAGE):
            return LostRecordError(workspace.database, "is damaged")
        sentence, passes = _of_file(text.casefold(), workspace, workspace.database)
    else:
        sentence, passes = _of_server(text.casefold(), code, workspace)
    return RecordError(sentence or f"The record of runs refuses this: {_plain(text)}", passes, code)


def _of_file(text: str, workspace: Workspace, database: Path) -> tuple[str, bool]:
    """Problem of a SQLite record, and whether it is transient; "" for other errors."""
    where = f"The record of runs ({database})"
    if "is locked" in text or "database is busy" in text:
        return f"{where} is locked by another program: nothing was changed. Try again when that has finished.", True
    if "readonly" in text or "read-only" in text:
        return workspace.read_only or f"{where} may only be read: make it writable to start or change runs.", False
    if "disk is full" in text or "no space left" in text:
        return f"The disk of {workspace.folder} is full: nothing was changed. Make room and try again.", True
    if "disk i/o" in text:
        return f"The disk of {workspace.folder} does not answer properly. Check it and try again.", True
    if "unable to open" in text:
        return f"{where} cannot be opened: check that its folder is there and may be read and written.", True
    if "out-of-date" in text or "can't locate revision" in text:
        upgrade = f"mlflow db upgrade sqlite:///{database}"
        return f"{where} was made by another version of MLflow. Back it up, then run: {upgrade}", False
    return "", False


def _of_server(text: str, code: str, workspace: Workspace) -> tuple[str, bool]:
    server = f"The tracking server {redact(workspace.tracking_uri)}"
    if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"} or "error code 401" in text or "error code 403" in text:
        remedy = "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN."
        return f"{server} does not let you in. {remedy}", False
    if code in {"TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED"} or any(
        sign in text for sign in ("max retries", "failed with exception", "timed out", "connection", "error code 50")
    ):
        return f"{server} does not answer. Start it, or unset MLFLOW_TRACKING_URI to use the workspace's own.", True
    return "", False


def _plain(text: str) -> str:
    """The first sentence of a foreign message, without SQL, class names and secrets."""
    line = next(iter(_TECHNICAL.sub("", text).strip().splitlines()), "no reason was given")
    return redact(_CLASS.sub("", line))[:300]


def disk_problem(folder: Path) -> str:
    """Problem with writing to a folder and its remedy, one sentence; "" without any. Takes microseconds."""
    try:
        disk = os.statvfs(folder)
    except OSError:  # it is created when needed
        return ""
    if disk.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK):
        return f"The workspace {folder} is read-only: make it writable; waiting runs then continue by themselves."
    if disk.f_bavail * disk.f_frsize < _ROOM:
        return f"The disk of {folder} is full: make room; waiting runs then continue by themselves."
    return ""


def lock_problem(workspace: Workspace) -> str:
    """One sentence if another program locks the workspace's own record, else ""; waits two seconds for it."""
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


@contextmanager
def check_disk(workspace: Workspace) -> Iterator[None]:
    """Refuse at once if nothing can be written to the disk of a workspace."""
    if problem := disk_problem(workspace.folder):
        raise CrowdError(problem)
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        full = f"The disk of {workspace.folder} is full: make room."
        raise CrowdError(disk_problem(workspace.folder) or full) from error


def may_pass(error: BaseException) -> bool:
    """Return True for a transient error: a full or read-only disk, a record that is locked or out of reach."""
    if getattr(error, "errno", None) in _DISK or any(f"(os error {number})" in str(error) for number in _DISK):
        return True  # the latter from safetensors
    return bool(getattr(error, "passes", False))  # of a `RecordError`


def _print(error: Exception) -> None:
    print(f"Trying again: {error}", flush=True)


def retry(
    action: Callable[[], _T],
    stopped: Callable[[], bool] = lambda: False,
    patience: float = _DAY,
    report: Callable[[Exception], None] = _print,
) -> _T:
    """Call ``action`` and return what it returns; retry transient disk and lock errors (see `may_pass`).

    It gives up after ``patience`` seconds, or when ``stopped``, called before every retry, returns True; ``report``
    receives the first error that is retried.
    """
    deadline, reported = time.monotonic() + patience, False
    while True:
        try:
            return action()
        except Exception as error:
            if not may_pass(error) or stopped() or time.monotonic() > deadline:
                raise
            if not reported:
                report(error)
                reported = True
            time.sleep(_PAUSE)
