"""What goes wrong between us and the record of runs, MLflow's or SQLite's words turned into one sentence each."""

from __future__ import annotations

import re
from pathlib import Path

from crowdcore.core.errors import CrowdError
from crowdcore.runs.redaction import redact
from crowdcore.runs.workspace import Workspace

_OF_OTHERS = ("mlflow", "sqlalchemy", "sqlite3", "requests", "urllib3")  # packages whose errors are explained
_DAMAGE = ("malformed", "not a database", "no such table", "no such column", "corrupt")
_TECHNICAL = re.compile(r"\s*(\[SQL:|\(Background on this error|Response body:).*", re.DOTALL)
_CLASS = re.compile(r"^(\([\w.]+\)|[\w.]+(Error|Exception):)\s*")  # "(sqlite3.OperationalError) …"


class RecordError(CrowdError):
    """The record of runs cannot do what was asked.

    Args:
        sentence: what is wrong, and what helps.
        passes: whether the same may work later: a lock, a full disk, a server out of reach.
        error_code: MLflow's, such as RESOURCE_DOES_NOT_EXIST; "" where it gave none.
    """

    def __init__(self, sentence: str, passes: bool = False, error_code: str = "") -> None:
        self.passes, self.error_code = passes, error_code
        super().__init__(sentence)


class LostRecordError(RecordError):
    """The record of a workspace is damaged, empty or missing.

    Args:
        database: its file.
        how: which of these.
    """

    def __init__(self, database: Path, how: str) -> None:
        remedy = "`crowdcore workspace check --repair` rebuilds it from the results, and keeps the file that is there."
        self.statement = f"The record of runs ({database}) {how}."
        super().__init__(f"{self.statement} {remedy}")


def explained(error: Exception, workspace: Workspace) -> RecordError | None:
    """The error in one sentence; None when it does not come from the record."""
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
    """What is wrong with a SQLite record, and whether it passes; "" for what SQLite knows nothing of."""
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
    """The first sentence of somebody else's message, without SQL, class names and secrets."""
    line = next(iter(_TECHNICAL.sub("", text).strip().splitlines()), "no reason was given")
    return redact(_CLASS.sub("", line))[:300]
